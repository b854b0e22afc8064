"""Our games beside TextArena's on a few random games; benchmarks/arena_conformance.py has more."""

import json

import pytest
from arena_conformance import difference, matches
from asking import query
from textarena_games import IDS, available, lines

from tomeval.core.outcomes import COMPLETE
from tomeval.extensions.trajectories import recorded_games
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import import_games
from tomeval.runs.results import Run

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "installed")

GAMES = 12


@pytest.mark.parametrize("broken", [0.0, 0.2])
@pytest.mark.parametrize("kind", IDS)
def test_random_games_agree(kind, broken):
    played = matches(kind, GAMES, broken)
    assert len(played) == GAMES
    assert [difference(match) for match in played] == [""] * GAMES


@pytest.mark.parametrize("kind", ["codenames", "mafia"])
def test_differences_are_found(kind):
    """Under our own rules, without TextArena's defects, many of the same games end otherwise."""
    played = matches(kind, GAMES, 0.0)
    assert sum(bool(difference(match, "own")) for match in played) > GAMES / 4


@pytest.mark.parametrize("kind", IDS)
def test_games_of_textarena_are_imported_and_told(tmp_path, kind):
    path = tmp_path / "games.jsonl"
    played = [list(lines(kind, IDS[kind][0], seed, 0.2)) for seed in range(8)]
    path.write_text("\n".join(json.dumps(line) for game in played for line in game))
    domain = get_domain("arena")
    import_games(domain, lambda: recorded_games(path), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        told = 0
        for cell in run.cells:
            for episode in range(len(cell.episodes)):
                assert len(list(domain.lines(run, cell, episode))) > 3
                told += 1
        assert told == len(played)
        statuses = query(run, "SELECT DISTINCT status FROM episodes")
        assert statuses == [(COMPLETE,)]
        (broken,) = query(run, "SELECT count(*) FROM steps WHERE error IS NOT NULL")[0]
        assert broken > 0 or kind == "blotto"
