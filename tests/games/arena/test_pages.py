"""Pages of the arena: tables, facts and notes, and figures."""

from __future__ import annotations

import pytest
from arena_runs import played
from layout import check

from tomeval.games.arena.domain import run_notes
from tomeval.games.arena.records import game_records
from tomeval.plots import FIGURES, Options, draw
from tomeval.report.views import cells_notes
from tomeval.runs.notes import void_notes

LONG = "a player whose name is long, " * 2


@pytest.fixture(scope="module")
def dilemma(tmp_path_factory):
    """Return a run with long names, errors, exact values and predictions, of two games."""
    games = {name: {"game": "ipd3", "rounds": 2, "talk": 0} for name in ("first", "second")}
    names = [f"{LONG}{i}" for i in range(4)]
    players = {name: {"kind": "tit_for_tat", "noise": i / 10} for i, name in enumerate(names)}
    players[names[0]]["error_rate"] = 0.2
    lineups = [
        {
            "game": ["first", "second"],
            "subject": ["planner", "chance", *names],
            "others": [[names[0], names[1]]],
        }
    ]
    folder = tmp_path_factory.mktemp("dilemma") / "run"
    with played(folder, lineups, games, players=players, episodes=12) as run:
        yield run


@pytest.mark.parametrize("column", ["double", "single"])
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_overlaps(dilemma, name, column):
    drawings = draw(dilemma, [name], Options(column))
    assert drawings
    for drawing in drawings:
        check(drawing.figure)
        assert drawing.figure.get_figheight() < 9.6
        assert drawing.caption
        assert drawing.description


def test_notes_tell_of_lost_games_and_of_what_is_not_known(tmp_path, dilemma):
    assert run_notes(dilemma) == []
    games = {"g": {"game": "ipd3", "rounds": 2, "talk": 0}}
    lineups = [{"game": "g", "subject": "sloppy", "others": ["chance", "sloppy"]}]
    with played(tmp_path / "void", lineups, games, attempts=1) as run:
        void = len(game_records(run)) - len(run.cells[0].episodes)
        [lost], [values] = void_notes(run), run_notes(run)
        assert void
        assert lost in cells_notes(run, ())
        assert lost.startswith(f"{void} of 6 episodes are void or failed")
        assert values.startswith("No V*, Q* or ΔFunctional, because others have no known policy")
    lineups[0]["others"] = ["tft", "alld"]
    with played(tmp_path / "clean", [lineups[0] | {"subject": "tft"}], games) as run:
        assert run_notes(run) == []
