"""Pages of the arena: tables, facts and notes, and figures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from arena_runs import played
from asking import query
from layout import check

from tomeval.games.arena.figures import points
from tomeval.games.arena.records import game_records
from tomeval.games.arena.tables import run_notes
from tomeval.plots import FIGURES, Options, draw

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
@pytest.mark.parametrize("name", [*FIGURES, "literal_against_functional"])
def test_nothing_overlaps(dilemma, name, column):
    drawings = draw(dilemma, [name], Options(column))
    assert drawings
    for drawing in drawings:
        check(drawing.figure)
        assert drawing.figure.get_figheight() < 9.6
        assert drawing.caption
        assert drawing.description


def test_points_by_role_are_those_of_the_records(dilemma):
    """The means again from the records of single decisions and probes."""
    found = points(dilemma)
    assert set(found) == {"first", "second"}
    assert {player for player, _ in found["first"]} == {"planner", "chance"}
    rows = query(
        dilemma,
        "SELECT s.episode, s.regret_low FROM step_records s "
        "WHERE s.game = 'first' AND s.player = 'chance' AND s.slot = 0",
    )
    by_game: dict[int, list[float]] = {}
    for episode, lost in rows:
        by_game.setdefault(episode, []).append(lost)
    mean = np.mean([np.mean(values) for values in by_game.values()])
    answers = query(
        dilemma,
        "SELECT a.value FROM answers a JOIN cells c USING (cell) "
        "WHERE c.game = 'first' AND c.player = 'chance'",
    )
    hits = [json.loads(value)["hit"] for (value,) in answers]
    point = found["first"]["chance", "player"]
    assert point.regret[0] == pytest.approx(mean)
    assert point.tom[0] == pytest.approx(100 * np.mean(hits))
    assert found["first"]["planner", "player"].regret[0] == pytest.approx(0)


def test_notes_tell_of_lost_games_and_of_what_is_not_known(tmp_path, dilemma):
    assert run_notes(dilemma) == []
    games = {"g": {"game": "ipd3", "rounds": 2, "talk": 0}}
    lineups = [{"game": "g", "subject": "sloppy", "others": ["chance", "sloppy"]}]
    with played(tmp_path / "void", lineups, games, attempts=1) as run:
        void = len(game_records(run)) - len(run.cells[0].episodes)
        lost, values = run_notes(run)
        assert void
        assert lost.startswith(f"{void} of 6 games are void or failed")
        assert values.startswith("No V*, Q* or ΔFunctional, because players without a known policy")
    lineups[0]["others"] = ["tft", "alld"]
    with played(tmp_path / "clean", [lineups[0] | {"subject": "tft"}], games) as run:
        assert run_notes(run) == []
