"""What is read of an arena run: its schema, exported decisions, complete games as arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.once import held
from tomeval.core.outcomes import LENIENT, VALID
from tomeval.games.arena.cells import SUBJECT, slot_name
from tomeval.games.arena.named_games import NamedGame, game_from
from tomeval.games.arena.replaying import game_lines
from tomeval.games.arena.scores import scores
from tomeval.games.game import COUNTED
from tomeval.games.played import Played
from tomeval.games.players import worded
from tomeval.games.records import EPISODES, HELD, PAYOFFS, STEPS, VALUES, asked_of
from tomeval.games.scores import ScoredCell, Scores
from tomeval.runs.domain import Line, Worded
from tomeval.runs.record import Schema

_VALUES = (*VALUES, *PAYOFFS, *HELD)
_STEP = ("episode", "step", "slot", "verdict", "action", "reply", *_VALUES)


_GAME = {"deal": np.int64, "reward": np.float64, "won": np.float64, "rounds": np.int64}
_GAME |= {"best_value": np.float64, "random_value": np.float64}
_SCORED = ("hit", "attainable", "brier", "observer_brier", "chance")

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
        """Return the worth of the subject's decisions."""
        answers = self.store.read("answers", ("episode", "step", "value/hit"), self.number)
        hits: dict[tuple[int, int], list[float]] = {}
        for episode, step, hit in answers:
            if hit is not None:
                hits.setdefault((episode, step), []).append(float(hit))
        worth: dict[str, list[float]] = {"correct": [], "regret": [], "tom_regret": []}
        columns = ("episode", "step", "slot", "regret", "tom_regret")
        decisions = self.store.read("steps", columns, self.number, complete=True)
        for episode, step, slot, regret, tom_regret in decisions:
            told = hits.get((episode, step), []) if slot == 0 else []
            worth["correct"].append(sum(told) / len(told) if told else math.nan)
            worth["regret"].append(math.nan if regret is None else regret)
            worth["tom_regret"].append(math.nan if tom_regret is None else tom_regret)
        return worth

    def step_rows(self) -> Iterator[dict[str, Any]]:
        """Yield all of every decision, by column."""
        definition, players = self.definition, self.definition["players"]
        about: dict[str, Any] = {name: self.columns[name] for name in ("game", "player", "others")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {name: players[0].get(name) for name in ("model", "strategy")}
        about["templates_sha256"] = definition.get("templates")
        for record in self.store.records(self.number):
            own = {"cell": self.number, "episode": record.episode, "status": record.status}
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
                counted, replied = row["verdict"] in COUNTED, row["tom_regret"] is not None
                row["action"] = json.dumps(row["action"]) if counted else None
                row["reply"] = json.dumps(row["reply"]) if replied else None
                row["lenient"] = (row["details"] or {}).get(LENIENT)
                yield about | own | {name: row[name] for name in _SHOWN}

    def lines(self, episode: int) -> Iterator[Line]:
        """Yield a game, played again from its record."""
        return game_lines(self, episode)

    @property
    def clusters(self) -> NDArray[Any]:
        """Games on one deal are one sampling unit, shape (E,)."""
        return self.played.by_game["deal"]

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
    """Return the complete games of a cell, from the subject's side.

    By game: which ``deal`` it is of, what was paid, V* and the value of random play before the
    deal. By decision of the subject, columns of the step table, and whether what counted was its
    ``own``, whether it was ``asked`` for a prediction beside it, ``stated`` one that a reply can
    follow from, and ``acted_on`` it. By probe, whether a reply follows from the answer (``used``),
    whether it is ``valid``, and its scores, see `played.Probed`. NaN: not known.
    """
    store, number = cell.store, cell.number
    columns = ("episode", *_GAME, "steps")
    games = list(store.read("episodes", columns, number, complete=True))
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
    replied = _STEP.index("tom_regret")  # else there is no best reply to predictions
    acted_on = [(row[3] in COUNTED, row[4]) == (row[replied] is not None, row[5]) for row in mine]

    kinds = enumerate(_GAME.items(), 1)
    return Played(
        by_game={name: np.array([row[i] for row in games], kind) for i, (name, kind) in kinds},
        steps={
            "game": np.array([row_of[row[0]] for row in mine], dtype=np.int64),
            "own": np.array([row[3] == "valid" for row in mine], dtype=bool),
            "asked": np.array([(row[0], row[1]) in asked for row in mine], dtype=bool),
            "stated": np.array([(row[0], row[1]) in stated for row in mine], dtype=bool),
            "acted_on": np.array(acted_on, dtype=bool),
        }
        | {n: np.array([row[6 + i] for row in mine], np.float64) for i, n in enumerate(_VALUES)},
        probes={
            "game": np.array([row_of[row[0]] for row in probes], dtype=np.int64),
            "used": used,
            "valid": np.array([row[2] == VALID for row in probes], dtype=bool),
        }
        | {name: np.array([one[name] for one in told], np.float64) for name in _SCORED},
    )


SCHEMA = Schema(EPISODES, STEPS, asked_of(slot_name), own_seat=SUBJECT)

_SHOWN: tuple[str, ...] = ("step", "stage", "round", "seat", "slot", "name", "role", "kind")
_SHOWN += ("action", "verdict", "outcome", "attempts", "error", "tries", "best", "chosen", "reply")
_SHOWN += (*PAYOFFS, "probes", *HELD, "chances", "lenient", "details")


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
