"""Our games beside TextArena's on random games, with its defects and without.

Games are played in TextArena's raw environments (`textarena_games`), written as trajectories, read
back and played again under our rules. A game agrees if, from the first step to the last, the seats
that act are those that are due, the game is over at the same step, and every reward is the same.
"""

import json
import os

import pytest
from textarena_games import IDS, available, lines

from tomeval.core.errors import TomevalError
from tomeval.extensions.trajectories import read_trajectories
from tomeval.extensions.trajectories.judging import judged

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "installed")

GAMES = int(os.environ.get("CONFORMANCE_GAMES", "12"))
"""Of each kind and share of broken texts; 1,000 take some minutes."""


def matches(path, kind, broken):
    """Return random games of TextArena, read back from a file."""
    ids = IDS[kind]
    games = (lines(kind, ids[seed % len(ids)], seed, broken) for seed in range(GAMES))
    path.write_text("\n".join(json.dumps(line) for game in games for line in game))
    return read_trajectories(path)


def difference(match, rules=None):
    """Return where our game differs from a match; empty if it agrees."""
    parameters = dict(match.wording.parameters(match.game, len(match.players)))
    parameters |= {"rules": rules} if rules else {}
    try:
        judged(match, match.kind.make(match.kind.rules(**parameters)))
    except TomevalError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("broken", [0.0, 0.2])
@pytest.mark.parametrize("kind", IDS)
def test_random_games_agree(tmp_path, kind, broken):
    played = matches(tmp_path / "games.jsonl", kind, broken)
    assert len(played) == GAMES
    assert [difference(match) for match in played] == [""] * GAMES


@pytest.mark.parametrize("kind", ["codenames", "mafia"])
def test_differences_are_found(tmp_path, kind):
    """Under our own rules, without TextArena's defects, many of the same games end otherwise."""
    played = matches(tmp_path / "games.jsonl", kind, 0.0)
    assert sum(bool(difference(match, "own")) for match in played) > GAMES / 4
