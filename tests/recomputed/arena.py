"""The arena: tables and ratings of ``arena_quickstart`` from its actions, by its pages' rules.

``FOLDER`` holds ``steps.csv``, ``episodes.csv``, ``boards.txt`` (for each game of Codenames a line
``# CELL EPISODE`` and its transcript) and the tables ``all``, ``ratings``, ``errors``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from recomputed.arena_games import Game
from recomputed.blotto import blotto
from recomputed.codenames import codenames, read_boards
from recomputed.common import Row, apart, episodes_of, number, table_of
from recomputed.dilemma import dilemma
from recomputed.mafia import mafia
from recomputed.ratings import ratings
from recomputed.tables import errors, line_ups


def read(folder: Path) -> list[Game]:
    """Return the games of an export, worked out anew."""
    played = episodes_of(table_of(folder / "steps.csv"))
    steps = {(e[0]["cell"], e[0]["episode"]): e for cell in played.values() for e in cell}
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
            number(row["best_value"]),
            number(row["random_value"]),
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


Found = dict[str, tuple[float, int]]
"""The largest difference by what is compared, and of how many numbers."""


def furthest(own: list[Any], shown: list[Row], keys: tuple[str, ...]) -> Found:
    """Compare the columns of a table; every row must have its like."""
    every = [row for row in shown if row.get("subset", "all") == "all"]
    by_key = {tuple(row[key] for key in keys): row for row in every}
    found = {}
    for name in [name for name in own[0] if name not in keys]:
        pairs = [(row[name], number(by_key[tuple(row[key] for key in keys)][name])) for row in own]
        known = sum(value == value for value, _ in pairs)
        found[name] = max(apart(*pair) for pair in pairs), known
    return found


def compared(folder: Path) -> Found:
    """Compare all tables: that of all measures column by column, others as a whole."""
    games = read(folder)
    tables = {path.stem: table_of(path) for path in sorted(folder.glob("*.csv"))}
    lines = [{"player": p, "game": g, **row} for (p, g), row in line_ups(games).items()]
    assert len(lines) == len(tables["all"])
    columns = tables["all"][0]
    mine = [{k: v for k, v in row.items() if k in columns} for row in lines]
    own = {"all": (mine, ("player", "game")), "errors": (errors(games), ("player",))}
    own["ratings"] = ratings(games, tables["ratings"]), ("game", "player")
    found = {name: furthest(rows, tables[name], keys) for name, (rows, keys) in own.items()}
    whole = {
        name: (max(most for most, _ in of.values()), sum(count for _, count in of.values()))
        for name, of in found.items()
    }
    return {"decisions": off(games), **whole, **found["all"]}


def off(games: list[Game]) -> tuple[float, int]:
    """Return how far a regret of a decision is from the exported one, at most."""
    found = []
    for game in games:
        mine = [row for row in game.rows if row["slot"] == "0"]
        for row, fact in zip(mine, game.facts, strict=True):
            for name, own in (("regret", fact.regret), ("tom_regret", fact.tom)):
                found.append(apart(own, number(row[name])))
    return max(found), len(found)


if __name__ == "__main__":
    for table, (difference, count) in compared(Path(sys.argv[1])).items():
        print(f"{table}: {difference:.2g} of {count}")
