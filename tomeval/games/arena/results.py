"""What is read of an arena run: its schema, exported decisions, complete games as arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.once import held
from tomeval.core.outcomes import LENIENT, VALID
from tomeval.games.arena.cells import slot_name
from tomeval.games.arena.named_games import NamedGame, game_from
from tomeval.games.arena.scores import scores
from tomeval.games.game import COUNTED
from tomeval.games.players import worded
from tomeval.games.records import EPISODES, HELD, PAYOFFS, STEPS, VALUES, asked_of
from tomeval.games.scores import ScoredCell, Scores
from tomeval.runs.domain import Worded
from tomeval.runs.record import Schema
from tomeval.runs.store import Store

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_VALUES: tuple[str, ...] = ("regret_low", "regret_high", "tom_regret_low", "tom_regret_high")
_VALUES += ("step_payoff", "step_best", "step_reply", "best_low", "chosen_low", *HELD)
_STEP = ("episode", "step", "slot", "verdict", "action", "reply", *_VALUES)


@dataclass(frozen=True, eq=False)
class Played:
    """Complete games of one line-up, from the subject's side.

    E is the number of games, N that of the subject's decisions, P that of the probes it was asked.

    Attributes
    ----------
    reward, won : ndarray, shape (E,)
    rounds : ndarray of int, shape (E,)
    deal : ndarray of int, shape (E,)
        Games with equal numbers share a deal.
    best_value, random_value : ndarray, shape (E,)
        V* and the value of random play before the deal; NaN where they are not known.
    decision : ndarray of int, shape (N,)
        Which game each decision belongs to, from 0.
    own : ndarray of bool, shape (N,)
        Whether what counted was the subject's own.
    asked : ndarray of bool, shape (N,)
        Whether the subject was asked for a prediction beside it.
    stated : ndarray of bool, shape (N,)
        Whether it gave one that a reply can follow from.
    acted_on : ndarray of bool, shape (N,)
        Whether it was the best reply to what the subject stated.
    values : dict of str to ndarray, shape (N,)
        Columns of the step table; NaN where they are not known.
    probed : ndarray of int, shape (P,)
        Which game each probe belongs to.
    used : ndarray of bool, shape (P,)
        Whether a reply follows from the answer.
    valid : ndarray of bool, shape (P,)
    told : dict of str to ndarray, shape (P,)
        Scores of the answers, see `played.Probed`; NaN where they are not known.
    """

    reward: Floats
    won: Floats
    rounds: Ints
    deal: Ints
    best_value: Floats
    random_value: Floats
    decision: Ints
    own: Bools
    asked: Bools
    stated: Bools
    acted_on: Bools
    values: Mapping[str, Floats]
    probed: Ints
    used: Bools
    valid: Bools
    told: Mapping[str, Floats]

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.reward)


DECIDING = (
    "In these games knows used and reads (--all) decide it, in place of knows and uses: of the "
    "questions that a reply follows from, and beyond the same acts held to random statements."
)


class ArenaRunCell(ScoredCell):
    """One line-up at one seed."""

    deciding: ClassVar = {"knows": "knows_used_percent", "uses": "reads_percent"}

    @property
    def scores(self) -> Scores:
        """What the scores are made of."""
        return scores(self.played)

    @held
    def played(self) -> Played:
        """The complete games."""
        return _read(self)

    @cached_property
    def table(self) -> NamedGame:
        """The game with its parameters."""
        return game_from(self.definition["game"])

    def judged(self) -> Mapping[str, Sequence[Any]]:
        """Return the worth of the subject's decisions; regret only where it is exact."""
        answers = self.store.read("answers", ("episode", "step", "value/hit"), self.number)
        hits: dict[tuple[int, int], list[float]] = {}
        for episode, step, hit in answers:
            if hit is not None:
                hits.setdefault((episode, step), []).append(float(hit))
        worth: dict[str, list[float]] = {"correct": [], "regret": [], "tom_regret": []}
        columns = ("episode", "step", "slot", *_VALUES[:4])
        decisions = self.store.read("steps", columns, self.number, complete=True)
        for episode, step, slot, low, high, tom_low, tom_high in decisions:
            mine = slot == 0
            told = hits.get((episode, step), []) if mine else []
            worth["correct"].append(sum(told) / len(told) if told else math.nan)
            for name, a, b in (("regret", low, high), ("tom_regret", tom_low, tom_high)):
                exact = mine and a is not None and a == b  # else known between bounds, or not
                worth[name].append(a if exact else math.nan)
        return worth

    @property
    def clusters(self) -> NDArray[Any]:
        """Games on one deal are one sampling unit, shape (E,)."""
        return self.played.deal

    @property
    def each_once(self) -> bool:
        """Whether every game in one seating is the same, so that each was played once."""
        return bool(self.definition["without_chance"])

    def wanted(self, planned: int) -> int:
        """Return how many games the line-up was to play."""
        own = self.definition["episodes"]
        planned = planned if own is None else own
        return min(planned, len(self.table.game.rotations)) if self.each_once else planned

    @property
    def facts(self) -> dict[str, Any]:
        """The columns, and what else line-ups must agree in to be compared."""
        return super().facts | {"attempts": self.definition["attempts"]}

    @property
    def models(self) -> dict[str, str]:
        """Names of the language models by slot."""
        players = self.definition["players"]
        return {str(i): p["model"] for i, p in enumerate(players) if p.get("model")}

    def fixed(self, by: str) -> str:
        """Return the model, of which all players are alike where strategies are compared."""
        names = ("model",) if by == "strategy" else ("player", "strategy", "model")
        return ", ".join(str(self.columns[n]) for n in names if n != by and self.columns[n] != "")

    @property
    def worded(self) -> Worded | None:
        """How the subject is asked."""
        return worded(self.definition["players"][0])

    @property
    def content(self) -> dict[tuple[str, ...], str]:
        """The parameters of the game by its name."""
        game = self.definition["game"]
        return {("game", game["name"]): json.dumps([game["kind"], game["rules"]], sort_keys=True)}


def _read(cell: ArenaRunCell) -> Played:
    """Return the complete games of a cell."""
    store, number = cell.store, cell.number
    columns = ("episode", "deal", "reward", "won", "rounds", "best_value", "random_value")
    games = list(store.read("episodes", (*columns, "steps"), number, complete=True))
    row_of = {row[0]: index for index, row in enumerate(games)}
    rows = list(store.read("steps", _STEP, number, complete=True))
    if len(rows) != sum(row[-1] for row in games):
        raise store.damaged("a complete game lacks decisions")
    mine = [row for row in rows if row[2] == 0]
    answer = ("episode", "step", "outcome", "value")
    probes = list(store.read("answers", answer, number, complete=True))
    told = [row[3] for row in probes]
    question = np.array([one["probe"] for one in told], dtype=np.str_)
    asked = {(row[0], row[1]) for row in probes}
    used = ~np.isin(question, cell.table.game.consequences)
    stated = {
        (row[0], row[1]) for row, use in zip(probes, used, strict=True) if use and row[2] == VALID
    }
    replied = _STEP.index("tom_regret_low")  # else there is no best reply to predictions
    acted_on = [(row[3] in COUNTED, row[4]) == (row[replied] is not None, row[5]) for row in mine]

    def column(index: int, kind: type = np.int64) -> Any:
        return np.array([row[index] for row in games], dtype=kind)

    return Played(
        deal=column(1),
        reward=column(2, np.float64),
        won=column(3, np.float64),
        rounds=column(4),
        best_value=column(5, np.float64),
        random_value=column(6, np.float64),
        decision=np.array([row_of[row[0]] for row in mine], dtype=np.int64),
        own=np.array([row[3] == "valid" for row in mine], dtype=bool),
        asked=np.array([(row[0], row[1]) in asked for row in mine], dtype=bool),
        stated=np.array([(row[0], row[1]) in stated for row in mine], dtype=bool),
        acted_on=np.array(acted_on, dtype=bool),
        values={
            name: np.array([row[6 + i] for row in mine], dtype=np.float64)
            for i, name in enumerate(_VALUES)
        },
        probed=np.array([row_of[row[0]] for row in probes], dtype=np.int64),
        used=used,
        valid=np.array([row[2] == VALID for row in probes], dtype=bool),
        told={  # None becomes NaN
            name: np.array([one[name] for one in told], dtype=np.float64)
            for name in ("hit", "attainable", "brier", "observer_brier", "chance")
        },
    )


SCHEMA = Schema(EPISODES, STEPS, asked_of(slot_name))

_SHOWN: tuple[str, ...] = ("step", "stage", "round", "seat", "slot", "name", "role", "kind")
_SHOWN += ("action", "verdict")
_SHOWN += ("outcome", "attempts", "error", "tries", *VALUES, "reply", *PAYOFFS, "probes", *HELD)
_SHOWN += ("chances", "lenient", "details")


def step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all of every decision of some cells, by column."""
    for number, definition in store.cells():
        if number not in cells:
            continue
        told, players = store.domain.columns(definition), definition["players"]
        about: dict[str, Any] = {name: told[name] for name in ("game", "player", "others")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {name: players[0].get(name) for name in ("model", "strategy")}
        about["templates_sha256"] = definition.get("templates")
        for record in store.records(number):
            own = {"cell": number, "episode": record.episode, "status": record.status}
            own |= {name: record.own[name] for name in ("deal", "ending")}
            probes: dict[int, dict[str, Any]] = {}
            for answer in record.answers:
                probes.setdefault(answer[0], {})[answer[2]] = dict(answer[5])
            columns = (record.column(name) for name in STEPS)
            for step, values in enumerate(zip(*columns, strict=True), 1):
                row = dict(zip(STEPS, values, strict=True)) | {"step": step}
                asked = probes.get(step, {})
                row["chances"] = _json({name: told.pop("chance") for name, told in asked.items()})
                row |= {"probes": _json(asked), "outcome": row["answered"]}
                row["name"] = players[row["slot"]]["name"]
                row["role"] = record.own["roles"][row["seat"]]
                counted, replied = row["verdict"] in COUNTED, row["tom_regret_low"] is not None
                row["action"] = json.dumps(row["action"]) if counted else None
                row["reply"] = json.dumps(row["reply"]) if replied else None
                row["lenient"] = (row["details"] or {}).get(LENIENT)
                yield about | own | {name: row[name] for name in _SHOWN}


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
