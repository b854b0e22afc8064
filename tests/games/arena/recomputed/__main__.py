"""The tables and ratings of ``arena_quickstart`` again, by a program that shares no code with it.

Standard library and numpy only. It reads what ``tomeval export`` writes, and of Codenames the
boards from ``tomeval transcript``; from the actions it works out results, V*, Q*, predictions
and every number of the tables anew, by the rules on the pages of ``docs/arena``. V* and Q* of
Codenames, which need its word vectors, are taken as exported.

    PYTHONPATH=tests python -m games.arena.recomputed FOLDER

``FOLDER`` holds ``steps.csv`` and ``episodes.csv``, ``boards.txt`` (for each game of Codenames a
line ``# CELL EPISODE`` and its transcript) and, as CSV, the tables ``results``, ``all``,
``ratings`` and ``errors``. It prints the largest difference of each table.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

from games.arena.recomputed.blotto import blotto
from games.arena.recomputed.codenames import codenames, read_boards
from games.arena.recomputed.dilemma import dilemma
from games.arena.recomputed.games import NAN, Game, table_of
from games.arena.recomputed.mafia import mafia
from games.arena.recomputed.ratings import ratings
from games.arena.recomputed.tables import Row, errors, line_ups


def read(folder: Path) -> list[Game]:
    """Return the games of an export, worked out anew."""
    steps: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in table_of(folder / "steps.csv"):
        steps[row["cell"], row["episode"]].append(row)
    boards = read_boards(folder / "boards.txt")
    found = []
    for row in table_of(folder / "episodes.csv"):
        key = row["cell"], row["episode"]
        seats, marks = json.loads(row["seats"]), json.loads(row["marks"])
        names = [row["player"]]
        for other in row["others"].split(" + "):
            count, _, name = other.rpartition(" x ")
            names += [name] * int(count or 1)
        game = Game(
            row["game"],
            row["player"],
            f"{row['game']} {row['deal']}",
            seats[0],
            dict(zip(seats, names, strict=True)),
            json.loads(row["roles"]),
            steps[key],
            marks,
        )
        if game.name == "codenames":
            found.append(codenames(game, *boards[key]))
        else:
            found.append({"dilemma": dilemma, "blotto": blotto, "mafia": mafia}[game.name](game))
    return found


def furthest(own: list[Row], shown: list[Row], keys: tuple[str, ...]) -> float:
    """Return the largest difference, relative to sizes above 1; every row must have its like."""
    every = [row for row in shown if row.get("subset", "all") == "all"]
    by_key = {tuple(row[key] for key in keys): row for row in every}
    differences = [0.0]
    for row in own:
        like = by_key[tuple(row[key] for key in keys)]
        for name in row.keys() - set(keys):
            mine, theirs = row[name], float(like[name] or NAN)
            if math.isnan(theirs) != math.isnan(mine):
                return math.inf
            if not math.isnan(mine):
                differences.append(abs(mine - theirs) / max(1.0, abs(theirs)))
    return max(differences)


def compared(folder: Path) -> dict[str, float]:
    """Return the largest difference of each table."""
    games = read(folder)
    tables = {path.stem: table_of(path) for path in sorted(folder.glob("*.csv"))}
    lines = [{"player": p, "game": g, **row} for (p, g), row in line_ups(games).items()]
    key, own = ("player", "game"), {}
    for name in ("all", "results"):
        columns = tables[name][0]
        mine = [{k: v for k, v in row.items() if k in columns} for row in lines]
        assert len(mine) == len(tables[name])
        own[name] = mine, key
    own["errors"] = errors(games), ("player",)
    own["ratings"] = ratings(games, tables["ratings"]), ("game", "player")
    assert all(rows for rows, _ in own.values())
    found = {name: furthest(rows, tables[name], keys) for name, (rows, keys) in own.items()}
    return {"decisions": max(map(off, games)), **found}


def off(game: Game) -> float:
    """Return how far a regret of the game's decisions is from the exported one, at most."""
    mine = [row for row in game.rows if row["slot"] == "0"]
    differences = [0.0]
    for row, fact in zip(mine, game.facts, strict=True):
        for name, ends in (("regret", fact.regret), ("tom_regret", fact.tom)):
            theirs = [float(row[f"{name}_{end}"] or NAN) for end in ("low", "high")]
            for a, b in zip(ends, theirs, strict=True):
                if math.isnan(a) != math.isnan(b):
                    return math.inf
                differences.append(0.0 if math.isnan(a) else abs(a - b))
    return max(differences)


if __name__ == "__main__":
    for table, difference in compared(Path(sys.argv[1])).items():
        print(f"{table}: {difference:.2g}")
