"""Knows, uses, plays of the arena's games and of Decrypto again, from exported rows alone.

Standard library only: nothing is shared with the package. A score is 1 less a ratio of sums, or a
ratio of sums; see docs/measures.md.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from math import isnan, nan
from pathlib import Path

CHANCE = 1 / 24
ENDS = ("best", "chosen", "mean")
Scores = dict[str, float]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["status"] == "complete"]


def number(text: str) -> float:
    return float(text) if text else nan


class Sums:
    """Sums of parts that are all known."""

    def __init__(self) -> None:
        self.parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def add(self, name: str, top: float, bottom: float) -> None:
        if not isnan(top + bottom):
            self.parts[name][0] += top
            self.parts[name][1] += bottom

    def ratio(self, name: str) -> float:
        top, bottom = self.parts[name]
        return top / bottom if abs(bottom) > 1e-9 else nan


def arena(folder: Path, consequences: tuple[str, ...] = ("dies", "voted_out")) -> dict[str, Scores]:
    """Return the scores in percent by cell."""
    steps, found = defaultdict(list), {}
    for row in rows_of(folder / "steps.csv"):
        if row["slot"] == "0":
            steps[row["cell"], row["episode"]].append(row)
    games = defaultdict(list)
    for row in rows_of(folder / "episodes.csv"):
        games[row["cell"]].append(row)
    for cell, episodes in games.items():
        sums, depends = Sums(), False
        for game in episodes:
            regret, span = 0.0, number(game["best_value"]) - number(game["random_value"])
            for row in steps[cell, game["episode"]]:
                depends |= number(row["depends"]) == 1
                low, high = number(row["regret_low"]), number(row["regret_high"])
                exact = low if low == high else nan
                regret += exact
                best = max(number(row["best_low"]), number(row["chosen_low"] or "-inf"))
                sums.add("decisions", exact, best - number(row["option_mean"]))
                for kind, name in (("said", "plans"), ("step_said", "replies")):
                    top, *less = (
                        number(row[f"{kind}_{end}"]) for end in ("best", "chosen", "mean")
                    )
                    sums.add(name, top - less[0], top - less[1])
                if row["other_lost"]:
                    top, chosen, mean = (
                        number(row[f"said_{e}"]) for e in ("best", "chosen", "mean")
                    )
                    sums.add("own", top - chosen, top - mean)
                    sums.add("other", number(row["other_lost"]), number(row["other_chance"]))
                chances = json.loads(row["chances"])
                for question, told in json.loads(row["probes"]).items():
                    hit, can = (nan if told[x] is None else told[x] for x in ("hit", "attainable"))
                    chance = nan if chances[question] is None else chances[question]
                    for name in ("knows", "knows_used")[: 2 - (told["probe"] in consequences)]:
                        sums.add(name, hit - chance, can - chance)
            sums.add("games", regret, span)
        lost = {name: 1 - sums.ratio(name) for name in ("plans", "replies", "decisions", "games")}
        scores = {name: sums.ratio(name) for name in ("knows", "knows_used")}
        scores |= {"plans": lost["plans"], "replies": lost["replies"]}
        whole = any(game["best_value"] and game["random_value"] for game in episodes)
        scores["plays"] = lost["games" if whole else "decisions"]
        scores["uses"] = lost["plans"] if depends else nan
        other = sums.ratio("other")
        scores["reads"] = 1 - sums.ratio("own") / other if depends and other >= 0.05 else nan
        found[cell] = {name: 100 * value for name, value in scores.items()}
    return found


def decrypto(folder: Path) -> dict[str, Scores]:
    """Return the scores in percent by cell."""
    sums: dict[str, Sums] = defaultdict(Sums)
    for row in rows_of(folder / "steps.csv"):
        mine, code, bob, eve = sums[row["cell"]], row["code"], row["bob"], row["eve"]
        says_bob, says_eve, best = row["predicted_bob"], row["predicted_eve"], row["best"]
        top, random = float(best or 1), float(row["random"] or CHANCE * (1 - CHANCE))
        mine.add("plays", top - (bob == code != eve), top - random)
        mine.add("right_bob", (bob == code) - CHANCE, 1 - CHANCE)
        if says_bob:
            mine.add("knows_bob", (says_bob == bob) - CHANCE, 1 - CHANCE)
        if says_bob and says_eve:
            mine.add("uses", max(0.0, top - (says_bob == code != says_eve)), top - random)
        if row["step"] != "1":  # in the first turn Eve knows nothing
            mine.add("right_eve", (eve == code) - CHANCE, 1 - CHANCE)
            if says_eve:
                mine.add("knows", (says_eve == eve) - CHANCE, 1 - CHANCE)
    names = ("knows", "knows_bob", "right_bob", "right_eve")
    return {
        cell: {name: 100 * of.ratio(name) for name in names}
        | {name: 100 * (1 - of.ratio(name)) for name in ("uses", "plays")}
        for cell, of in sums.items()
    }
