"""Matrix games: the table of a run from its steps, the payoffs and the names of its partners.

``FOLDER`` holds ``experiment.json``, ``steps.csv`` and the table as ``all.csv``.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recomputed.common import NAN, Row, episodes_of, mean, report, table_of

SMALL = 1e-9


class Machine(NamedTuple):
    """A partner: its first state, what it plays, and where it goes after a joint move."""

    start: int
    plays: np.ndarray  # [state, action]
    goes: np.ndarray  # [state, own, theirs]


def machine(name: str, game: str, own: np.ndarray, theirs: np.ndarray) -> Machine:
    """Return a partner of docs/partners.md."""
    n, m = own.shape
    kind, _, words = name.rstrip(")").partition("(")
    given = [float(word.split("=")[-1]) for word in words.split(",")] if words else []
    if kind in ("always", "mixture", "uniform_random"):
        fixed = {"always": np.eye(m)[int(given[0])] if given else None, "mixture": np.array(given)}
        return Machine(0, fixed.get(kind, np.full(m, 1 / m))[None], np.zeros((1, n, m), int))
    goes = np.zeros((m, n, m), int)
    if kind == "grim_trigger":
        goes[0, 1], goes[1] = 1, 1
    elif kind == "win_stay_lose_shift":
        pays = theirs >= theirs.mean()
        goes[:] = np.where(pays, np.arange(m), (np.arange(m) + 1) % m)
    else:  # tit for tat: the same move, in rock-paper-scissors the one that beats it
        goes[:] = (theirs.argmax(axis=1) if game == "RPS" else np.arange(m))[None, :, None]
    noise = {"tit_for_tat": 0.0, "grim_trigger": 0.0, "win_stay_lose_shift": 0.0}
    noise |= {"noisy_tit_for_tat": given[0] if given else 0.1}
    slips = noise[kind] / (m - 1)
    return Machine(0, slips + (1 - noise[kind] - slips) * np.eye(m), goes)


def values(own: np.ndarray, other: Machine, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Return V* and the value of random play of every state, by the number of steps left."""
    states, (n, m) = range(len(other.plays)), own.shape
    best, random = np.zeros((2, horizon + 1, len(states)))
    for left in range(1, horizon + 1):
        for s in states:
            q = np.zeros((2, n))
            for a in range(n):
                for b in range(m):
                    then = other.goes[s, a, b]
                    later = np.array([best[left - 1, then], random[left - 1, then]])
                    q[:, a] += other.plays[s, b] * (own[a, b] + later)
            best[left, s], random[left, s] = q[0].max(), q[1].mean()
    return best, random


def tells(worth: np.ndarray) -> bool:
    """Whether no action is best for every prediction; `worth` is [own, predicted]."""
    return not (worth >= worth.max(axis=0) - SMALL).all(axis=1).any()


class Cell:
    """Sums over the steps of a cell."""

    def __init__(self, definition: dict[str, Any]) -> None:
        payoffs = np.array(definition["game"]["payoffs"])
        self.game, self.own, self.theirs = definition["game"]["name"], *np.moveaxis(payoffs, 2, 0)
        self.horizon = definition["horizon"]
        self.tables = {table["name"]: table for table in definition["partners"]["tables"]}
        self.solved = cache(self.solve)
        self.episodes: dict[str, list[float]] = defaultdict(list)
        self.parts: dict[str, list[float]] = defaultdict(list)

    def solve(self, name: str) -> tuple[Machine, np.ndarray, np.ndarray]:
        """Return the run's own table of a partner, which must be worth what its page says."""
        table, mine = self.tables[name], machine(name, self.game, self.own, self.theirs)
        moves = np.array(table["emissions"]), np.array(table["next_state"])
        other = Machine(table["start"], *moves)
        found = other, *values(self.own, other, self.horizon)
        known = values(self.own, mine, self.horizon)
        for one, like in zip(found[1:], known, strict=True):
            assert abs(one[-1, other.start] - like[-1, mine.start]) < SMALL, name
        return found

    def add(self, steps: list[Row]) -> None:
        """Add a complete episode."""
        assert len(steps) == self.horizon
        other, best, random = self.solved(steps[0]["partner"])
        state, sums = other.start, defaultdict(list)
        for t, row in enumerate(steps):
            a, b, said = int(row["own_action"]), int(row["partner_action"]), row["predicted_action"]
            assert float(row["own_reward"]) == self.own[a, b]
            sums["reward"].append(self.own[a, b])
            sums["stepwise"].append(self.own[:, b].max() - self.own[a, b])
            if said:
                later = best[self.horizon - t - 1][other.goes[state]]  # [own, theirs]
                self.predicted(sums, a, b, int(said), self.own + later)
                self.parts["knows"].append((int(said) == b) - 1 / len(other.plays[state]))
                self.parts["could know"].append(other.plays[state].max() - 1 / self.own.shape[1])
            if row["predicted_probs"]:
                stated = json.loads(row["predicted_probs"])
                sums["log"].append(-math.log(stated[b]) if stated[b] else math.inf)
                sums["brier"].append(sum((p - (k == b)) ** 2 for k, p in enumerate(stated)))
            state = other.goes[state, a, b]
        reward = sum(sums["reward"])
        most, chance = best[self.horizon, other.start], random[self.horizon, other.start]
        self.parts["plays"].append(most - reward)
        self.parts["plays by chance"].append(most - chance)
        self.close(sums, (most - reward) / self.horizon)

    def predicted(self, sums: Any, a: int, b: int, c: int, plan: np.ndarray) -> None:
        """Add what a prediction `c` was worth; `plan` is reward and what can follow it."""
        own = self.own
        best, right = (np.flatnonzero(own[:, k] == own[:, k].max()) for k in (c, b))
        sums["tom"].append(100 * (c == b))
        sums["belief"].append((own[:, b].max() - own[best, b]).mean())
        sums["self"].append(100 * (a in best))
        other = [k for k in best if k not in right] if len(own) > 2 else [own[:, b].argmin()]
        sums["missed"].append(0.0 if c == b else own[:, b].max() - own[other, b].mean())
        for name, worth in (("replies", own), ("plans", plan)):
            self.parts[name].append(worth[:, c].max() - worth[a, c])
            self.parts[f"{name} by chance"].append(worth[:, c].max() - worth[:, c].mean())
            self.parts[f"{name} tell"].append(tells(worth))

    def close(self, sums: Any, functional: float) -> None:
        """Add the means of an episode."""
        of = {name: sum(found) / len(found) for name, found in sums.items()}
        belief = of.get("belief", NAN)
        for name, value in {
            "tom_percent": of.get("tom", NAN),
            "delta_functional_per_step": functional,
            "delta_tom_best_response_per_step": belief,
            "delta_tom_misprediction_per_step": of.get("missed", NAN),
            "stepwise_regret_per_step": of["stepwise"],
            "response_gap_per_step": of["stepwise"] - belief,
            "foresight_gap_per_step": functional - of["stepwise"],
            "self_consistency_percent": of.get("self", NAN),
            "reward_per_step": of["reward"],
            "log_loss": of.get("log", NAN),
            "brier_score": of.get("brier", NAN),
        }.items():
            self.episodes[name].append(value)

    def scores(self) -> dict[str, float]:
        """Return the five scores, see "Knows, uses, plays" in docs/measures.md."""
        total = {name: float(sum(found)) for name, found in self.parts.items()}

        def ratio(top: str, bottom: str) -> float:
            return 100 * total[top] / total[bottom] if total.get(bottom, 0) > SMALL else NAN

        found = {"knows": ratio("knows", "could know")}
        for name in ("replies", "plans", "plays"):
            found[name] = 100 - ratio(name, f"{name} by chance")
        shown = [
            found[name]
            for name in ("replies", "plans")
            if self.parts[f"{name} tell"] and np.mean(self.parts[f"{name} tell"]) >= 0.1
        ]
        found["uses"] = max((one for one in shown if not math.isnan(one)), default=NAN)
        return {f"{name}_percent": value for name, value in found.items()}

    def means(self) -> dict[str, float]:
        found = {name: mean(found) for name, found in self.episodes.items()}
        infinite = {"log_loss": NAN} if math.isinf(found["log_loss"]) else {}
        return self.scores() | found | infinite | {"episodes": len(self.episodes["tom_percent"])}


def rates(steps: list[Row]) -> dict[str, float]:
    """Return shares of the questions that were asked."""
    asked = [
        (row[f"{one}_outcome"], float(row[f"{one}_attempts"]), float(row[f"{one}_lenient"] or 0))
        for row in steps
        for one in ("act", "predict")
        if row[f"{one}_outcome"] not in ("", "not_asked")
    ]
    return {
        "invalid_rate": mean(float(outcome != "valid") for outcome, *_ in asked),
        "reask_rate": mean(float(attempts > 1) for _, attempts, _ in asked),
        "lenient_rate": mean(lenient for *_, lenient in asked),
    }


def main(folder: Path) -> None:
    definitions = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))["cells"]
    mine = []
    for definition, episodes in zip(
        definitions, episodes_of(table_of(folder / "steps.csv")).values(), strict=True
    ):
        cell = Cell(definition)
        for steps in episodes:
            if steps[0]["status"] == "complete":
                cell.add(steps)
        mine.append(cell.means() | rates([row for steps in episodes for row in steps]))
    report(mine, table_of(folder / "all.csv"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
