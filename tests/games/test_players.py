"""What games of seats and turns share: doors, names, options, models in seats, rows by name."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.games.cells import naming_game
from tomeval.games.players import check_name
from tomeval.models.base import Stopped
from tomeval.runs.domain import get_domain

GAMES = {
    "arena": {
        "domain": "arena",
        "players": {"a": {"kind": "always_defect"}, "r": {"kind": "random"}},
        "lineups": [{"game": "ipd3", "subject": "r", "others": "a"}],
    },
    "decrypto": {"domain": "decrypto", "players": {"r": {"kind": "random"}}},
}


@pytest.mark.parametrize("name", ["", " ", "a\nb", "all"])
def test_names_that_are_taken_or_cannot_be_shown(name) -> None:
    with pytest.raises(TomevalError, match=r"x: the name .* is taken, empty or not printable"):
        check_name(name, "x", ["all"])


@pytest.mark.parametrize("domain", GAMES)
def test_one_model_takes_the_place_of_all_others(domain) -> None:
    data = {"players": {"a": {"model": "scripted:one", "strategy": "CoT"}, "r": {"kind": "random"}}}
    get_domain(domain).experiment.use_model(data, "scripted:two")
    assert data == {
        "model": "scripted:two",
        "players": {"a": {"strategy": "CoT", "kind": "llm"}, "r": {"kind": "random"}},
    }


def test_an_error_names_its_game_unless_it_stops_the_run() -> None:
    with pytest.raises(TomevalError, match="a, b, game 3: no reply"), naming_game("a, b, game 3"):
        raise TomevalError("no reply")
    with pytest.raises(Stopped, match=r"^the cap$"), naming_game("a, b, game 3"):
        raise Stopped("the cap")


@pytest.mark.parametrize("domain", GAMES)
def test_rows_are_read_in_order_and_of_complete_games_alone(domain, tmp_path) -> None:
    with tomeval.run({**GAMES[domain], "episodes": 3}, tmp_path / "run") as run:
        store, cell = run.store, run.cells[0].number
        names = ("episode", "step")
        games = [(one.episode, one.steps) for one in store.records(cell, complete=True)]
        steps = list(store.read("steps", names, cell))
        assert [episode for episode, _ in games] == [0, 1, 2]
        assert steps == [(e, s) for e, count in games for s in range(1, count + 1)]
        assert list(store.read("steps", names, cell, 1)) == [row for row in steps if row[0] == 1]
        answers = list(store.read("answers", ("episode", "step", "outcome"), cell))
        assert bool(answers) == (domain == "arena")
        assert answers == sorted(answers)
