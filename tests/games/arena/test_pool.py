"""The frozen pool: its schedule, its ratings, and its play, which must not move."""

import hashlib
import json
from pathlib import Path

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import run_now
from tomeval.games.arena.cells import schedule_sha256
from tomeval.runs.experiment import load_experiment, make_experiment

RECORDED = json.loads((Path(__file__).parents[2] / "recorded.json").read_text(encoding="utf-8"))
REFERENCE = "arena_reference"


def test_the_shipped_schedule_is_the_frozen_one():
    """30, 36, 36 and 96 games, every seat equally often, every player of the pool, too."""
    experiment = load_experiment(REFERENCE)
    games, met = {}, {}
    for cell in experiment.cells:
        count = cell.wanted(experiment.per_cell)
        assert count % len(cell.game.rotations) == 0
        games[cell.table.name] = games.get(cell.table.name, 0) + count
        for player in cell.players[1:]:
            place = met.setdefault(cell.table.name, {})
            place[player.name] = place.get(player.name, 0) + count
    assert games == {"blotto": 30, "dilemma": 36, "codenames": 36, "mafia": 96}
    assert set(met["blotto"].values()) == {6}
    assert set(met["dilemma"].values()) == {12}
    assert set(met["blotto"]) | set(met["dilemma"]) | set(met["codenames"]) | set(met["mafia"]) == (
        set(experiment.pool.ratings)
    )


def test_another_subject_meets_the_same_schedule():
    experiment = load_experiment(REFERENCE, model="scripted:other")
    assert schedule_sha256(experiment.cells) == experiment.pool.sha256


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=2", "pool.sha256: the line-ups are not the frozen schedule: their hash is"),
        ("players.copier.noise=0.1", "pool.sha256: the line-ups are not the frozen schedule"),
        ("pool.ratings.copyer=1", "pool.ratings: unknown player 'copyer' (did you mean 'copier'?)"),
    ],
)
def test_another_schedule_is_refused(override, message):
    with pytest.raises(TomevalError) as caught:
        load_experiment(REFERENCE, [override])
    assert message in str(caught.value)


def test_the_pool_plays_as_it_did():
    """A change of a script, of rules or of seeds moves every newcomer's score."""
    experiment = load_experiment("arena_pool")
    rows = [
        [*cell.key, game.index, game.rewards, game.ending]
        for cell in experiment.cells
        for number in range(len(cell.game.rotations))
        for game in [run_now(cell.play_game(number, {}, lambda: None))]
    ]
    text = json.dumps(rows, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:24] == RECORDED["arena_pool"]


def test_only_the_newcomer_is_rated(tmp_path):
    data = {
        "domain": "arena",
        "episodes": 12,
        "values": False,
        "players": {"new": {"kind": "uniform"}, "old": {"kind": "copy", "first": [20, 0, 0]}},
        "lineups": [{"game": "blotto", "subject": "new", "others": "old"}],
    }
    sha256 = schedule_sha256(make_experiment(data).cells)
    data["pool"] = {"sha256": sha256, "ratings": {"old": 150.0}}
    with tomeval.run(data, tmp_path / "run") as run:
        rows = run.table_of("ratings").rows(run, ())
    ratings = {row["player"]: row["rating"] for row in rows if row["subset"] == "all"}
    assert ratings["old"] == pytest.approx(150.0)
    assert abs(ratings["new"] - 150.0) > 1
