"""Games of TextArena: chance of their own, a judge of their own, and records that play again."""

import importlib.metadata
import random
import socket

import numpy as np
import pytest
from typer.testing import CliRunner

from tomeval.cli.app import app
from tomeval.core.errors import TomevalError
from tomeval.domains.arena.game import Ask, Broken, Probe, Stage
from tomeval.domains.arena.games import get_kind
from tomeval.domains.arena.records import game_records
from tomeval.extensions.textarena import library
from tomeval.extensions.textarena.game import command
from tomeval.extensions.textarena.policies import Texts
from tomeval.runs.results import Run

NIM = "textarena:Nim-v0"
MAFIA = "textarena:SecretMafia-v0"
NIM_TEXTS = tuple(f"[{pile} {n}]" for pile in range(3) for n in range(1, 6))
MAFIA_TEXTS = tuple(f"I say [{seat}]" for seat in range(6))


@pytest.fixture(autouse=True)
def _installed():
    try:
        library.textarena()
    except TomevalError as error:
        pytest.skip(str(error))


def a_game(name, **rules):
    kind = get_kind(name)
    return kind.make(kind.rules(**rules))


def steps(game, policy, seed):
    """Play a game, yielding every state; its chance depends on the seed alone."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    yield state
    while game.due(state):
        (ask,) = game.due(state)
        action = policy.act(game.view(state, ask.seat), ask, None, rng)
        _, state = game.after(state, {ask.seat: action}, rng)
        yield state


def played(game, texts, seed):
    return list(steps(game, Texts(texts), seed))


def test_nim_by_hand():
    game = a_game(NIM)  # piles of 3, 4 and 5
    state = game.deal(np.random.default_rng(1))
    trail = []
    for text in ("[2 5]", "I take [0 3]", "[1 3]", "[1 1]"):
        (ask,) = game.due(state)
        assert ask == Ask(len(trail) % 2, "act")
        assert game.read(game.view(state, ask.seat), ask, [text]) == text
        trail.append(Stage(state, {ask.seat: text}))
        _, state = game.after(state, {ask.seat: text}, np.random.default_rng(0))
    assert game.due(state) == ()
    assert game.rewards(state) == (-1.0, 1.0)
    assert game.wins(state) == (0.0, 1.0)
    assert (game.ending(state), game.rounds(state)) == ("ended", 4)
    probe = Probe("next_action")
    assert game.probes(game.view(trail[0].state, 0), Ask(0, "act")) == (probe,)
    assert game.truth(probe, 0, trail, 0, state) == "0 3"
    assert game.truth(probe, 1, trail, 1, state) == "1 3"
    assert game.truth(probe, 1, trail, 3, state) is None
    said = game.read_probe(game.view(trail[0].state, 0), probe, ["he takes [ 0  3 ]"])
    assert game.hit(probe, said, "0 3") == 1.0


@pytest.mark.parametrize(("name", "texts"), [(NIM, NIM_TEXTS), (MAFIA, MAFIA_TEXTS)])
def test_interleaved_games_are_those_played_alone(name, texts):
    game = a_game(name)
    alone = [played(game, texts, seed) for seed in (1, 2)]
    assert alone[0] != alone[1]
    both = [steps(game, Texts(texts), seed) for seed in (1, 2)]
    mixed = [[], []]
    while both[0] or both[1]:
        for i in (0, 1):
            if both[i]:
                random.random()  # somebody else draws meanwhile
                state = next(both[i], None)
                if state is None:
                    both[i] = None
                else:
                    mixed[i].append(state)
    assert mixed == alone
    for one, other in zip(mixed, alone, strict=True):
        assert [s.news for s in one] == [s.news for s in other]
        assert one[-1].rewards == other[-1].rewards


def test_global_generators_stay_as_they_were():
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 (what is tested)
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    played(a_game(MAFIA), MAFIA_TEXTS, 3)
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002


def test_an_old_state_plays_on_as_a_clone():
    game = a_game(MAFIA)
    states = played(game, MAFIA_TEXTS, 4)
    middle = states[len(states) // 2]
    rest = states[-1].actions[len(middle.actions) :]
    state = middle
    for text in rest:
        (ask,) = game.due(state)
        _, state = game.after(state, {ask.seat: text}, np.random.default_rng(0))
    assert state == states[-1]
    assert state.news == states[-1].news
    (ask,) = game.due(middle)
    other = "I say [9]" if rest[0] != "I say [9]" else "I say [8]"
    if game.fault(game.view(middle, ask.seat), ask, other) is None:
        _, branch = game.after(middle, {ask.seat: other}, np.random.default_rng(0))
        assert branch.actions != states[-1].actions
    assert game.outcomes(middle, {ask.seat: rest[0]})[0][1].actions == (*middle.actions, rest[0])


def test_invalid_actions_leave_no_trace():
    game = a_game(NIM)
    state = game.deal(np.random.default_rng(1))
    view, ask = game.view(state, 0), Ask(0, "act")
    for text in ("[0 9]", "nonsense", "[7 1]"):
        found = game.fault(view, ask, text)
        assert isinstance(found, Broken)
        assert found.error == "rule"
    assert game.fault(view, ask, "  ").error == "format"
    _, after = game.after(state, {0: "[0 1]"}, np.random.default_rng(0))
    fresh = game.deal(np.random.default_rng(1))
    assert after.news == game.outcomes(fresh, {0: "[0 1]"})[0][1].news
    assert not any("invalid" in str(event.data) for event in after.news)
    with pytest.raises(TomevalError, match="Nim-v0"):
        game.outcomes(after, {1: "nonsense"})


def test_unreadable_decisions_that_textarena_takes_for_cooperation():
    game = a_game("textarena:ThreePlayerIPD-v0")
    state = game.deal(np.random.default_rng(1))
    for seat in range(3):  # one round of talk
        assert game.fault(game.view(state, seat), Ask(seat, "act"), "hello") is None
        _, state = game.after(state, {seat: "hello"}, np.random.default_rng(0))
    view, ask = game.view(state, 0), Ask(0, "act")
    for text in ("I cooperate", "[1 defect]", "[1 defect] [1 cooperate] [2 defect]", "[0 defect]"):
        assert game.fault(view, ask, text).error == "format"
    assert game.fault(view, ask, "[1 defect] [2 cooperate]") is None
    assert game.fault(view, ask, "[1 defect] [2 cooperate]" + "!" * 1000).error == "format"
    assert game.probes(view, ask) == ()  # free talk cannot be scored


def test_a_seat_sees_its_own_messages_only():
    game = a_game(MAFIA)
    for one in played(game, MAFIA_TEXTS, 7):
        for seat in range(game.seats):
            view = game.view(one, seat)
            assert f"You are Player {seat}." in view.instructions
            assert all(event.to is None or seat in event.to for event in view.events)
    secret = [event for event in one.news if event.to is not None]
    assert secret
    mafia = {seat for seat, role in enumerate(game.roles(one)) if role == "mafia"}
    for event in one.news:
        if event.seat is None and "Mafia, agree on a victim" in event.data:
            assert set(event.to) <= mafia
    assert sorted(game.roles(one)) == [
        *("detective", "doctor", "mafia", "mafia", "villager", "villager")
    ]


def test_forfeits_and_games_that_go_on():
    game = a_game(NIM, most=2)
    first = game.deal(np.random.default_rng(1))
    lost = game.struck(first, Ask(0, "act"), "forfeit")
    assert (game.due(lost), game.rewards(lost), game.wins(lost)) == ((), (-1.0, 1.0), (0.0, 1.0))
    assert game.ending(lost) == "forfeit"
    last = played(game, ("[0 1]", "[1 1]"), 1)[-1]
    assert (game.ending(last), game.rewards(last)) == ("broken_off", (0.0, 0.0))
    assert game.wins(last) == (0.5, 0.5)
    three = a_game("textarena:ThreePlayerTicTacToe-v0")
    lost = three.struck(three.deal(np.random.default_rng(1)), Ask(1, "act"), "forfeit")
    assert three.rewards(lost) == (0.5, -1.0, 0.5)


def test_mafia_wins_as_a_team():
    game = a_game(MAFIA)
    for seed in range(3):
        last = played(game, MAFIA_TEXTS, seed)[-1]
        team = {"mafia"} if game.rewards(last)[game.roles(last).index("mafia")] > 0 else None
        won = [role for role, share in zip(game.roles(last), game.wins(last), strict=True) if share]
        assert set(won) == (team or {"villager", "doctor", "detective"})
        assert set(game.wins(last)) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Nimm-v0", "did you mean 'Nim-v0'"),
        ("Codenames-v0", "downloads"),
        ("SpellingBee-v0-small", "downloads"),
        ("Debate-v0", "network"),
        ("UsedCar-v0-balanced", "ships no"),
        ("2048-v0", "players"),
    ],
)
def test_refused_ids_are_one_line(name, words, monkeypatch):
    def connected(*args):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", connected)
    with pytest.raises(TomevalError, match=words) as caught:
        a_game("textarena:" + name)
    assert "\n" not in str(caught.value)


def test_numbers_of_players():
    assert a_game("textarena:SecretMafia-v0", players=9).seats == 9
    with pytest.raises(TomevalError, match="cannot be set up"):
        a_game("textarena:SecretMafia-v0", players=5)


def test_bad_texts():
    for options in ({}, {"texts": []}, {"texts": [1]}, {"texts": "ab"}, {"texts": [" "]}):
        with pytest.raises(TomevalError, match="texts"):
            Texts(**options)
    with pytest.raises(TomevalError, match="did you mean 'cycle'"):
        Texts(("a",), order="cicle")


def test_texts_in_turn():
    game = a_game(NIM)
    state = game.deal(np.random.default_rng(1))
    policy = Texts(("[0 9]", "[0 1]", "[1 1]"), order="cycle")
    assert policy.choices(game.view(state, 0), Ask(0, "act"), None) == ((1.0, "[0 1]"),)
    plain = Texts(("[0 9]", "[0 1]"), order="cycle", legal=False)
    assert plain.choices(game.view(state, 0), Ask(0, "act"), None) == ((1.0, "[0 9]"),)
    both = Texts(("[0 9]", "[0 1]", "[0 1]", "[1 1]"))
    assert both.choices(game.view(state, 0), Ask(0, "act"), None) == (
        (0.5, "[0 1]"),
        (0.5, "[1 1]"),
    )


def test_legal_texts_are_drawn_as_often_as_their_probabilities_say():
    game = a_game(NIM)
    state = game.deal(np.random.default_rng(1))
    view, ask = game.view(state, 0), Ask(0, "act")
    policy = Texts(("[0 1]", "[0 9]", "[1 1]", "what"))
    rng = np.random.default_rng(2)
    drawn = [policy.act(view, ask, None, rng) for _ in range(400)]
    assert policy.choices(view, ask, None) == ((0.5, "[0 1]"), (0.5, "[1 1]"))
    assert set(drawn) == {"[0 1]", "[1 1]"}
    assert abs(drawn.count("[0 1]") - 200) < 4 * 10  # four standard deviations


def test_commands():
    assert command("So be it. [ 1  Two ] [Three]") == "three"
    assert command("  No Brackets ") == "no brackets"


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.8.0")
    with pytest.raises(TomevalError, match=r"0\.8\.0 .*0\.7\.4"):
        library.textarena()


EXPERIMENT = """
domain = "arena"
name = "nim"
episodes = 4
on_invalid = "forfeit"
games.nim.game = "textarena:Nim-v0"
[players.model]
model = "scripted:arena"
[players.texts]
kind = "texts"
texts = ["[0 1]", "[1 1]", "[2 1]"]
[[lineups]]
game = "nim"
subject = ["model", "texts"]
others = "texts"
"""


def test_an_experiment_of_any_id_is_played_measured_and_told(tmp_path):
    path = tmp_path / "nim.toml"
    path.write_text(EXPERIMENT)
    out = str(tmp_path / "run")
    for words in ("run FILE --out RUN", "transcript RUN", "prompt --experiment FILE"):
        arguments = [{"FILE": str(path), "RUN": out}.get(word, word) for word in words.split()]
        ran = CliRunner().invoke(app, arguments)
        assert ran.exit_code == 0, ran.output
    assert "Welcome to Nim, Player 0" in ran.output
    with Run(out) as run:
        model, texts = run.cells
        assert model.played.reward.tolist() == [-1.0] * 4  # it writes [0 3] again and again
        games = game_records(run)[:4]  # the model's
        assert [[error.fatal for error in game.errors] for game in games] == [[True]] * 4
        assert all(game.errors[0].seat == game.subject for game in games)
        assert sorted(texts.played.reward.tolist()) == [-1.0, -1.0, 1.0, 1.0]  # 12 single takings
        assert np.isnan(texts.played.values["regret_low"]).all()
