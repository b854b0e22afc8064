"""Machines: their tables, and the well-known ones against definitions written here."""

import itertools

import numpy as np
import pytest
from games.arena.ipd3.cases import game_of, legal, machine, machines, policy
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.game import Ask
from tomeval.games.ipd3.machine import Row
from tomeval.games.ipd3.states import OPPONENTS, PAIRS, acts_of, sentence_of

C, D = "cooperate", "defect"


def move(history, seat, other, first, rule):
    """Return what a rule of two-player histories does toward one opponent."""
    pairs = [
        (moves[seat][OPPONENTS[seat].index(other)], moves[other][OPPONENTS[other].index(seat)])
        for moves in history
    ]
    return rule(pairs) if pairs else first


def retaliation(history, seat, other):
    return D if history and D in history[-1][other] else C


RULES = {
    "always_cooperate": lambda h, i, j: C,
    "always_defect": lambda h, i, j: D,
    "tit_for_tat": lambda h, i, j: move(h, i, j, C, lambda p: p[-1][1]),
    "grim": lambda h, i, j: move(h, i, j, C, lambda p: D if D in [y for _, y in p] else C),
    "win_stay_lose_shift": lambda h, i, j: move(
        h, i, j, C, lambda p: p[-1][0] if p[-1][1] == C else (D if p[-1][0] == C else C)
    ),
    "retaliator": retaliation,
}


@pytest.mark.parametrize("name", RULES)
@given(st.integers(0, 2), st.lists(st.tuples(*[st.sampled_from(PAIRS)] * 3), max_size=6))
def test_named_players_do_as_defined(name, seat, rounds):
    game = game_of(talk=0, rounds=10)
    player = policy(name)
    state = game.deal(np.random.default_rng(0))
    memory = player.start(game.view(state, seat))
    for number, moves in enumerate(rounds):
        expected = tuple(RULES[name](rounds[:number], seat, j) for j in OPPONENTS[seat])
        found = player.choices(game.view(state, seat), Ask(seat, "moves"), memory)
        assert found == ((1.0, expected),)
        _, state = game.after(state, dict(enumerate(moves)), np.random.default_rng(0))
        memory = player.observe(game.view(state, seat), memory)


def talk_round(player, seat, messages, moves, memory, game, state):
    """Play a round with talk, and return the player's moves of it and what follows."""
    said = None
    for speaker in range(3):
        if speaker == seat:
            [(_, said)] = player.choices(game.view(state, seat), Ask(seat, "talk"), memory)
        text = said if speaker == seat else messages[speaker]
        _, state = game.after(state, {speaker: text}, np.random.default_rng(0))
        memory = player.observe(game.view(state, seat), memory)
    [(_, own)] = player.choices(game.view(state, seat), Ask(seat, "moves"), memory)
    _, state = game.after(state, {**moves, seat: own}, np.random.default_rng(0))
    return said, own, player.observe(game.view(state, seat), memory), state


@pytest.mark.parametrize("seat", range(3))
@pytest.mark.parametrize("name", ["promise_keeper", "promise_breaker", "believer", "once_bitten"])
def test_players_that_talk(name, seat):
    """A script: who promised to whom, who then defected on the player, and what it should do."""
    game = game_of(rounds=4)
    first, second = OPPONENTS[seat]
    to = {s: sentence_of(("promise", "promise"), OPPONENTS[s]) for s in (first, second)}
    nothing = {first: "", second: ""}
    nice = {first: (C, C), second: (C, C)}
    bad = {first: (C, C), second: (D, D)}
    script = [({first: to[first], second: ""}, nice), (to, bad), (to, nice), (nothing, nice)]
    believed = {
        "believer": [(C, D), (C, C), (C, C), (D, D)],
        "once_bitten": [(C, D), (C, C), (C, D), (D, D)],
        "promise_keeper": [(C, C)] * 4,
        "promise_breaker": [(D, D)] * 4,
    }[name]
    promised = ("promise", "promise") if name.startswith("promise") else ("none", "none")
    player = policy(name)
    state = game.deal(np.random.default_rng(0))
    memory = player.start(game.view(state, seat))
    for (messages, moves), expected in zip(script, believed, strict=True):
        said, own, memory, state = talk_round(player, seat, messages, moves, memory, game, state)
        assert acts_of(said, OPPONENTS[seat]) == promised
        assert own == expected


def test_a_promise_to_the_other_is_not_believed():
    game = game_of()
    player = policy("believer")
    state = game.deal(np.random.default_rng(0))
    memory = player.start(game.view(state, 2))
    for speaker, text in enumerate(("I will cooperate with Player 1.", "I will cooperate.", "")):
        _, state = game.after(state, {speaker: text}, np.random.default_rng(0))
        memory = player.observe(game.view(state, 2), memory)
    assert player.choices(game.view(state, 2), Ask(2, "moves"), memory) == ((1.0, (D, C)),)


def test_noise_turns_each_move_by_itself():
    found = policy("always_cooperate", noise=0.1).choices(
        game_of(talk=0).view(game_of(talk=0).deal(None), 0), Ask(0, "moves"), ("C", "C")
    )
    chances = {action: p for p, action in found}
    assert chances == pytest.approx({(C, C): 0.81, (C, D): 0.09, (D, C): 0.09, (D, D): 0.01})


LETTERS = list(itertools.permutations(("me", "first", "second"), 2))
"""Who moves toward whom, letter by letter."""

OTHER = {"me": "me", "first": "second", "second": "first"}


@pytest.mark.parametrize("place", range(6))
def test_a_machine_sees_every_letter_from_its_opponent(place):
    """A copy defects after a defection at one letter, told with its own opponent as first."""
    pattern = "".join("D" if k == place else "?" for k in range(6))
    player = machine(C=Row("C", moves=((pattern, "D"),)), D=Row("D"))
    who, whom = LETTERS[place]
    for letters in itertools.product("CD", repeat=6):
        played = dict(zip(LETTERS, letters, strict=True))
        expected = played[who, whom] + played[OTHER[who], OTHER[whom]]
        after = player.after(player.initial, "".join(letters))
        assert player.plays(after) == expected


class Interpreter:
    """Reads the rows of a table as they are written, for one opponent."""

    def __init__(self, player, seat, first):
        self.rows, self.state = player.rows, next(iter(player.rows))
        self.names = {seat: "me", first: "first", 3 - seat - first: "second"}

    def follow(self, rows, shown):
        """Take the first row that fits what was shown."""
        for *patterns, state in rows:
            pattern = "".join(patterns)
            if all(x in ("?", y) for x, y in zip(pattern, shown, strict=True)):
                self.state = state
                return

    def hear(self, speaker, acts):
        """Acts by target seat."""
        who = self.names[speaker]
        shown = "".join(acts[seat][0] for seat in self.names if seat != speaker)
        heard = self.rows[self.state].hears
        self.follow([row[1:] for row in heard if row[0] == who], shown)

    def see(self, moves):
        """Moves by pair of seats, from whom to whom."""
        shown = "".join(moves[i, j][0].upper() for i in self.names for j in self.names if i != j)
        self.follow(self.rows[self.state].moves, shown)


def check_choices(player, interpreters, seat, game, state, memory, ask):
    """Compare a decision with what the interpreters of both opponents do, each by itself."""
    found = {a: p for p, a in player.choices(game.view(state, seat), ask, memory)}
    rows = [one.rows[one.state] for one in interpreters]
    if ask.kind == "talk":
        acts = tuple({"n": "none", "p": "promise", "t": "threaten"}[row.act] for row in rows)
        assert found == {sentence_of(acts, OPPONENTS[seat]): 1}
        return
    expected = {}
    for pair in itertools.product((C, D), repeat=2):
        meant = [move[0].upper() == row.move for move, row in zip(pair, rows, strict=True)]
        chances = [1 - player.noise if right else player.noise for right in meant]
        if p := chances[0] * chances[1]:
            expected[pair] = p
    assert found == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 2))
def test_tables_mean_what_their_rows_say(data, seat):
    player = data.draw(machines(talk=True))
    interpreters = [Interpreter(player, seat, other) for other in OPPONENTS[seat]]
    game = game_of(rounds=2)
    state = game.deal(None)
    memory = player.start(game.view(state, seat))
    while due := game.due(state):
        actions = {}
        for ask in due:
            if ask.seat == seat:
                check_choices(player, interpreters, seat, game, state, memory, ask)
            options = legal(game.view(state, ask.seat), ask)
            actions[ask.seat] = data.draw(st.sampled_from(options))
        _, state = game.after(state, actions, np.random.default_rng(0))
        memory = player.observe(game.view(state, seat), memory)
        for interpreter in interpreters:
            if due[0].kind == "talk":
                acts = acts_of(actions[due[0].seat], OPPONENTS[due[0].seat])
                interpreter.hear(due[0].seat, dict(zip(OPPONENTS[due[0].seat], acts, strict=True)))
            else:
                interpreter.see(
                    {
                        (i, j): move
                        for i in range(3)
                        for j, move in zip(OPPONENTS[i], actions[i], strict=True)
                    }
                )
