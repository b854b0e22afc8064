"""Several models in one league: who meets whom, talk by default, and what rates nobody."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.games.arena.experiment import round_robin
from tomeval.runs.experiment import make_experiment

VOICES = ["scripted:arena", "scripted:arena_rival"]
LEAGUE = {
    "domain": "arena",
    "model": VOICES,
    "players": {"follower": {"kind": "follower"}, "mixer": {"kind": "uniform"}},
    "lineups": [
        {"game": "mafia", "subject": "models", "others": "models", "episodes": 12},
        {"game": "mafia", "subject": "models", "others": "follower", "episodes": 6},
        {"game": "blotto", "subject": "models", "others": "models", "episodes": 4},
        {"game": "blotto", "subject": "models", "others": "mixer", "episodes": 4},
    ],
    "seed": 3,
}


@given(st.integers(1, 6), st.integers(1, 14))
def test_everybody_meets_everybody_as_often_in_every_place(count, seats) -> None:
    players = [f"p{k}" for k in range(count)]
    pairs: Counter[tuple[str, str]] = Counter()
    for subject in players:
        tables = round_robin(subject, players, seats)
        assert all(len(others) == seats for others in tables)
        for place in range(seats):
            seen = Counter(others[place] for others in tables)
            assert set(seen.values()) == {1}
            assert set(seen) == set(players) - ({subject} if count > 1 else set())
        pairs += Counter((subject, other) for others in tables for other in others)
    assert len(set(pairs.values())) == 1


def test_names_of_served_models_hold_no_address() -> None:
    cells = make_experiment(LEAGUE | {"model": ["openai:org/m@http://node:1/v1", "pocket"]}).cells
    assert {cell.key[1] for cell in cells} == {"openai:org/m", "pocket"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": []}, "lineups[0]: 'models' needs models: list them in the key model"),
        ({"model": ["pocket", "pocket"]}, "model: contains a value twice"),
        ({"model": ["pockt"]}, "model"),
        ({"players": {"pocket": {"kind": "follower"}}, "model": "pocket"}, "'pocket' is taken"),
        ({"players": {"llm": {"kind": "llm"}}}, "players.llm: needs a model"),
        ({"lineups": [{"game": "chess", "subject": "models", "others": "models"}]}, "'chess'"),
    ],
)
def test_leagues_that_cannot_be_played_are_one_line(change, said) -> None:
    with pytest.raises(TomevalError) as caught:
        _ = make_experiment(LEAGUE | change, where="x.toml").cells
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_model_plays_against_itself_alone_rates_nobody(tmp_path) -> None:
    lineups = [{"game": "blotto", "subject": "models", "others": "models", "episodes": 2}]
    data = {"domain": "arena", "model": VOICES[0], "lineups": lineups}
    with tomeval.run(data, tmp_path / "run") as run, pytest.raises(TomevalError) as caught:
        run.table_of("ratings").rows(run, ())
    assert "no game of two different teams" in str(caught.value)
