"""Whether our games agree with TextArena's on random games, with its defects and without.

Games are played in TextArena's raw environments (see `textarena_games`), written as trajectories,
read back and played again under our rules. A game agrees if, from the first step to the last, the
seats that act are those that are due, the game is over at the same step, and every reward is the
same.

    python benchmarks/arena_conformance.py                # the numbers of docs/arena.md
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textarena_games import IDS, available, lines

from tomeval.core.errors import TomevalError
from tomeval.extensions.trajectories import Match, read_trajectories
from tomeval.extensions.trajectories.judging import judged
from tomeval.report.tables import render

BROKEN = 0.1
"""The share of texts that break the rules, in the second half of the table."""


def matches(kind: str, games: int, broken: float) -> list[Match]:
    """Return random games of TextArena, read back from a file."""
    ids = IDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for seed in range(games):
                for line in lines(kind, ids[seed % len(ids)], seed, broken):
                    file.write(json.dumps(line) + "\n")
        return read_trajectories(path)


def difference(match: Match, rules: str | None = None) -> str:
    """Return where our game differs from a match; empty if it agrees.

    `rules` are TextArena's, unless others are given.
    """
    parameters = dict(match.wording.parameters(match.game, len(match.players)))
    if rules is not None:
        parameters["rules"] = rules
    try:
        judged(match, match.kind.make(match.kind.rules(**parameters)))
    except TomevalError as error:
        return str(error)
    return ""


def rows(games: int, kinds: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table; differences are printed."""
    for broken in (0.0, BROKEN):
        for kind in kinds:
            played = matches(kind, games, broken)
            found = list(filter(None, map(difference, played)))
            own = sum(not difference(match, "own") for match in played)
            for why in found[:5]:
                print(f"{kind}: {why}", file=sys.stderr)
            yield {
                "game": kind,
                "broken texts": f"{broken:.0%}",
                "games": len(played),
                "actions": sum(len(match.lines) for match in played),
                "agree": len(played) - len(found),
                "agree under own rules": own,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=1000, help="of each kind and rate")
    parser.add_argument("--game", choices=sorted(IDS), action="append", help="only this one")
    options = parser.parse_args()
    if why := available():
        print(f"skipped: {why}")
        return 0
    found = list(rows(options.games, options.game or list(IDS)))
    print(render(found, "markdown"))
    return int(any(row["agree"] < row["games"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
