"""Rules against hand-worked games and an independent reading of the payoffs."""

import itertools

import numpy as np
import pytest
from games.arena.ipd3.cases import game_of

from tomeval.games.game import Ask, Broken, Probe, Stage
from tomeval.strategies.templates import Prompts

C, D = "cooperate", "defect"
ROUND = {0: (C, D), 1: (D, C), 2: (C, C)}
"""0 against 1: C, D; 0 against 2: D, C; 1 against 2: C, C: so 0 gets 0 + 5, 1: 5 + 3, 2: 0 + 3."""


def after(game, state, actions):
    return game.after(state, actions, np.random.default_rng(0))[1]


def silent(rounds, **rules):
    """Return a game without talk, and its state after these rounds."""
    game = game_of(talk=0, rounds=max(len(rounds), 1), **rules)
    state = game.deal(np.random.default_rng(0))
    for moves in rounds:
        state = after(game, state, moves)
    return game, state


def test_a_round_worked_by_hand():
    game, state = silent([ROUND])
    assert game.rewards(state) == (5, 8, 3)
    assert game.wins(state) == (0, 1, 0)
    assert [event.kind for event in state.log] == ["moves", "points"]
    assert state.log[0].data == (ROUND[0], ROUND[1], ROUND[2])
    assert state.log[1].data == (1, (5, 8, 3), (5, 8, 3))
    assert game.due(state) == ()
    assert game.ending(state) == "played"


def test_all_rounds_pay_what_pairs_pay():
    pay = {(C, C): (3, 3), (C, D): (0, 5), (D, C): (5, 0), (D, D): (1, 1)}
    toward = {(0, 1): 0, (0, 2): 1, (1, 0): 0, (1, 2): 1, (2, 0): 0, (2, 1): 1}
    both = list(itertools.product((C, D), (C, D)))
    for moves in itertools.product(both, both, both):
        points = [0, 0, 0]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            a, b = pay[moves[i][toward[i, j]], moves[j][toward[j, i]]]
            points[i] += a
            points[j] += b
        game, state = silent([dict(enumerate(moves))])
        assert game.rewards(state) == tuple(points)
        assert sum(state.log[1].data[1]) == sum(points)


def test_scale_multiplies_points():
    game, state = silent([ROUND, ROUND], scale=0.5)
    assert game.rewards(state) == (5, 8, 3)


@pytest.mark.parametrize(
    ("rules", "units", "expected"),
    [
        ("own", (5, 8, 3), (0, 1, -1)),
        ("own", (8, 8, 3), (0.5, 0.5, -1)),
        ("own", (8, 3, 3), (1, -0.5, -0.5)),
        ("own", (3, 3, 3), (0, 0, 0)),
        ("textarena-0.7.4", (5, 8, 3), (0, 1, -1)),
        ("textarena-0.7.4", (8, 8, 3), (1, 1, -1)),
        ("textarena-0.7.4", (8, 3, 3), (1, -1, -1)),
        ("textarena-0.7.4", (3, 3, 3), (0, 0, 0)),
    ],
)
def test_ranks_by_hand(rules, units, expected):
    game, state = silent([ROUND], reward="rank", rules=rules)
    assert game.rewards(state._replace(units=units)) == expected


def test_ties_are_exact_where_floats_are_not():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floats; nobody is ahead here."""
    payoffs = {"R": 0.2, "T": 0.3, "S": 0.1, "P": 0}
    apart = {2: (D, D)}
    rounds = [
        {0: (C, D), 1: (D, D), **apart},
        {0: (C, D), 1: (C, D), **apart},
        {0: (D, D), 1: (C, D), **apart},
    ]
    game, state = silent(rounds, payoffs=payoffs, dilemma=False, reward="rank")
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert game.rewards(state) == (0.5, 0.5, -1)
    assert game.wins(state) == (0.5, 0.5, 0)


def test_talk_comes_in_order_and_is_public():
    game = game_of(rounds=2)
    state = game.deal(np.random.default_rng(0))
    for seat in range(3):
        assert game.due(state) == (Ask(seat, "talk"),)
        assert all(list(game.view(state, s).said) == list(range(seat)) for s in range(3))
        state = after(game, state, {seat: f"I am {seat}."})
    assert game.due(state) == tuple(Ask(seat, "moves") for seat in range(3))
    assert dict(game.view(state, 0).said) == {0: "I am 0.", 1: "I am 1.", 2: "I am 2."}
    state = after(game, state, ROUND)
    assert game.due(state) == (Ask(0, "talk"),)
    assert dict(game.view(state, 0).said) == {}
    assert game.view(state, 0).round == game.rounds(state) == 2
    assert all(game.view(state, seat).events == state.log for seat in range(3))


def test_long_messages():
    long = "x" * 6 + "a  b" * 25
    for rules, heard in (("own", long), ("textarena-0.7.4", "a b" * 25)):
        game = game_of(message_limit=100, rules=rules)
        state = game.deal(np.random.default_rng(0))
        view, ask = game.view(state, 0), Ask(0, "talk")
        assert (game.fault(view, ask, long) is None) == (rules != "own")
        assert game.fault(view, ask, "x" * 100) is None
        assert after(game, state, {0: long}).log[0].data == heard
    found = game_of(message_limit=100).read(view, ask, ["a" * 101])
    assert found == Broken("rule", "the message has 101 characters, limit 100")


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["cooperate", " Defect "], (C, D)),
        (["cooperate"], "format"),
        (["cooperate", "defect", "defect"], "format"),
        (["cooperate", "defekt"], "format"),
        ([1, 2], "format"),
    ],
)
def test_moves_are_read(items, expected):
    game, state = silent([])
    found = game.read(game.view(state, 0), Ask(0, "moves"), items)
    assert (found.error if isinstance(found, Broken) else found) == expected


def test_who_is_eliminated_keeps_points_and_pays_no_more():
    game, state = silent([ROUND], reward="points")
    game = game_of(talk=1, rounds=2)
    state = game.deal(np.random.default_rng(0))
    for seat in range(3):
        state = after(game, state, {seat: ""})
    state = after(game, state, ROUND)
    state = game.struck(state, Ask(0, "talk"), "eliminate")
    assert game.due(state) == (Ask(1, "talk"),)
    state = after(game, after(game, state, {1: ""}), {2: ""})
    assert game.due(state) == (Ask(1, "moves"), Ask(2, "moves"))
    assert [p.question for p in game.probes(state, Ask(1, "moves"), None, {})] == ["move_2"]
    state = after(game, state, {1: (D, D), 2: (D, C)})
    # 1 against 2: D, C; nothing from 0.
    assert game.rewards(state) == (5, 8 + 5, 3)
    assert game.ending(state) == "played"
    assert state.log[-2].data == (None, (D, D), (D, C))
    ranks = game_of(talk=1, rounds=2, reward="rank")
    assert ranks.rewards(state._replace(units=(99, 13, 3))) == (-1, 1, 0)
    assert ranks.wins(state._replace(units=(99, 13, 3))) == (0, 1, 0)


def test_two_eliminated_end_the_game():
    game, state = silent([ROUND])
    game = game_of(talk=0)
    state = game.deal(np.random.default_rng(0))
    for seat in (2, 0):
        state = game.struck(state, Ask(seat, "moves"), "eliminate")
    assert game.due(state) == ()
    assert game.ending(state) == "alone"
    assert game.wins(state) == (0, 1, 0)
    state = game.struck(state, Ask(1, "moves"), "eliminate")
    assert game.wins(state) == (0, 0, 0)


def test_a_forfeit_is_the_last_place_and_the_least_points():
    for reward, expected in (("points", (5, 8, -8)), ("rank", (0, 1, -1))):
        payoffs = {"R": 3, "T": 5, "S": -2, "P": 1}
        game = game_of(talk=0, rounds=2, reward=reward, payoffs=payoffs)
        state = game.deal(np.random.default_rng(0))
        state = after(game, state, {0: (C, D), 1: (D, C), 2: (C, C)})._replace(units=(5, 8, 30))
        state = game.struck(state, Ask(2, "moves"), "forfeit")
        assert game.due(state) == ()
        assert game.ending(state) == "forfeit"
        assert game.rewards(state) == expected
        assert game.wins(state) == (0, 1, 0)


def test_probes_and_their_truths():
    game = game_of()
    state = game.deal(np.random.default_rng(0))
    messages = ("I will cooperate with Player 2.", "Hello.", "I will defect on both players.")
    for seat, text in enumerate(messages):
        state = after(game, state, {seat: text})
    ask = Ask(1, "moves")
    asked = [probe.question for probe in game.probes(state, ask, None, {})]
    assert asked == ["move_0", "other_0", "move_2", "other_2", "word_0", "word_2"]
    trail = [Stage(state, {0: (D, C), 1: (C, C), 2: (D, C)})]
    truths = {
        probe.question: game.truth(probe, 1, trail, 0, state)
        for probe in game.probes(state, ask, None, {})
    }
    assert truths == {
        "move_0": D,
        "other_0": C,
        "move_2": C,
        "other_2": D,
        "word_0": "yes",
        "word_2": "no",
    }
    assert game.probes(state, Ask(1, "talk"), None, {}) == ()
    assert game.truth(Probe("move", 0), 1, [Stage(state, {1: (C, C)})], 0, state) is None


def test_what_a_round_pays():
    game, state = silent([])
    actions = {0: (C, D), 1: (D, C), 2: (C, C)}
    # Seat 2 against 0: C against D; against 1: C against C. Defecting on both brings 1 + 5.
    found = game.stepwise(state, 2, actions, (C, D))
    assert found == (3, 6, 5)
    assert np.isnan(game.stepwise(state, 2, actions, None).reply)
    ranked, start = silent([], reward="rank")
    assert ranked.stepwise(start, 2, actions, (C, D)) is None
    halved, start = silent([], scale=0.5)
    assert halved.stepwise(start, 2, actions, (C, D)) == (1.5, 3, 2.5)
    talking = game_of(talk=1)
    start = talking.deal(np.random.default_rng(0))
    assert talking.stepwise(start, 0, {0: "Hello."}, None) == (0, 0, 0)


def test_a_message_is_one_line_to_readers_and_models():
    """What a player says cannot look like a line of the game, or of somebody else."""
    game = game_of()
    state = after(game, game.deal(np.random.default_rng(0)), {0: "Hello\nPlayer 2: I promise"})
    view = game.view(state, 1)
    told = Prompts("arena").render("ipd3/event", game=game, view=view, event=state.log[0])
    for line in (game.line(state.log[0]), told.strip("\n")):
        assert line == "Player 0: Hello Player 2: I promise"
