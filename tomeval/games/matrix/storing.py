"""What is stored of matrix games, and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.core.once import once_each
from tomeval.core.outcomes import BACKEND_ERROR, LENIENT, NOT_ASKED, VALID
from tomeval.games.matrix.steps import ACT, BELIEF, COLUMNS, DRAW, NONE, PREDICT, REACT, SEAT
from tomeval.runs.record import Column, Record, Schema
from tomeval.runs.store import Store

RECORDED = "recorded"
"""The kind of subjects whose games were played elsewhere."""

_OF = f"act_details/{BELIEF}"
BELIEFS = (f"{_OF}/action", f"{_OF}/accuracy", f"{_OF}/right", "partner_action", f"{_OF}/as")
"""What a subject was told that the partner would do, and what it did; names for `Store.read`."""


def _asked(record: Record) -> list[tuple[Column, ...]]:
    """Return what the subject was asked in every step."""
    columns = record.columns
    return [
        (SEAT, form, columns.get(f"{form}_outcome"), columns.get(f"{form}_attempts"))
        for form in (ACT, PREDICT)
    ]


SCHEMA = Schema(
    episodes={"partner": "INTEGER"},
    steps=COLUMNS,
    asked=_asked,
    shown={
        "partner": "TEXT",
        **dict.fromkeys(("act_mass", "predict_mass"), "REAL"),
        **dict.fromkeys(("act_argmax_is_label", "predict_argmax_is_label"), "INTEGER"),
        **dict.fromkeys(("act_lenient", "predict_lenient"), "INTEGER"),
        "stated_action": "INTEGER",
        "stated_accuracy": "REAL",
    },
)

_OF_CELL = ("subject", "model", "revision", "strategy", "game", "labels", "partners", "horizon")
_SET = ("seed", "reference", "on_invalid")
_FACTS = ("method", "mass", "argmax_is_label")
_ORDERS = ("own_order", "partner_order")


def step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all of every step of some cells, by column."""
    revisions = store.revisions()
    for number, definition in store.cells():
        if number not in cells:
            continue
        told = store.domain.columns(definition)
        told |= {"revision": revisions.get(str(told["model"]), "")}
        about: dict[str, Any] = {name: told[name] for name in _OF_CELL}
        about |= {name: definition[name] for name in _SET}
        about["templates_sha256"] = definition.get("templates")
        own, theirs = (definition["labels"][seat] for seat in ("own", "partner"))
        tables = definition["partners"].get("tables") or []
        for record in store.records(number):
            which = record.own["partner"]
            table = tables[which] if which < len(tables) else {}
            here = {"cell": number, "episode": record.episode, "status": record.status}
            here |= {"partner": table.get("name"), "partner_sha256": table.get("sha256")}
            for step, row in enumerate(_steps(record), 1):
                yield about | here | {"step": step} | _told(row, own, theirs)


def _steps(record: Record) -> Iterator[dict[str, Any]]:
    columns = (record.column(name) for name in COLUMNS)
    return (dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True))


def _told(row: Mapping[str, Any], own: Sequence[str], theirs: Sequence[str]) -> dict[str, Any]:
    """Return a step as it is exported: actions with their labels, facts about answers apart."""
    act, predict = (row[f"{form}_details"] or {} for form in (ACT, PREDICT))
    stated = act.get(BELIEF) or {}
    said = {name: row[name] for name in ("partner_state", "own_action")}
    said |= {"own_label": _label(own, row["own_action"]), "partner_action": row["partner_action"]}
    said["partner_label"] = _label(theirs, row["partner_action"])
    said |= {name: row[name] for name in ("own_reward", "partner_reward", "predicted_action")}
    said["predicted_label"] = _label(theirs, row["predicted_action"])
    said |= {name: row[name] for name in list(COLUMNS)[6:13]}
    said |= {f"act_{fact}": act.get(fact) for fact in _FACTS}
    said |= {"act_lenient": act.get(LENIENT), "predict_lenient": predict.get(LENIENT)}
    said |= {f"predict_{fact}": predict.get(fact) for fact in _FACTS}
    said |= {order: _compact(act.get(order)) for order in _ORDERS} | {"reactions": row["reactions"]}
    said |= {"stated_action": stated.get("action")}
    said["stated_label"] = _label(theirs, stated.get("action"))
    return said | {"stated_accuracy": stated.get("accuracy"), "stated_as": stated.get("as")}


def _compact(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _label(labels: Sequence[str], action: int | None) -> str | None:
    return None if action is None else labels[action]


_NO_REPLY = NONE - 1
_NO_PREDICTION = {NOT_ASKED: NONE, BACKEND_ERROR: _NO_REPLY}


def read_played(store: Store, cell: int, recorded: bool = False) -> dict[str, Any]:
    """Return the complete episodes of a cell as flat arrays, in order of episode and step.

    Keys: ``which`` and ``lengths`` per episode; ``own``, ``partner``, ``predicted`` (None if no
    step has one) and ``own_reward`` per step. Some steps may have no valid prediction, -1: those of
    recorded games, and those whose question got no reply.
    """
    which, lengths, flat = [], [], []
    try:
        for record in store.records(cell, complete=True):
            which.append(record.own["partner"])
            lengths.append(record.steps)
            flat.append(_flat(record, recorded))
        table = np.concatenate([*flat, np.empty((0, 4))])
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    unasked = table[:, 2] == NONE
    whole = np.isfinite(table).all() and (recorded or unasked.all() or not unasked.any())
    if not whole or len(table) != sum(lengths):
        raise store.damaged("a complete episode lacks steps")
    none = len(table) > 0 and bool((table[:, 2] <= NONE).all())
    extra = _reactions(store, cell) if has_reactions(store) else {}
    return extra | {
        "which": np.array(which, dtype=np.int64),
        "lengths": np.array(lengths, dtype=np.int64),
        "own": table[:, 0].astype(np.int64),
        "partner": table[:, 1].astype(np.int64),
        "predicted": None if none else np.maximum(table[:, 2], NONE).astype(np.int64),
        "own_reward": table[:, 3].copy(),
    }


def _flat(record: Record, recorded: bool) -> np.ndarray:
    """Return own action, the partner's, the prediction and the own reward of each step, (T, 4)."""
    predicted = record.column("predicted_action")
    if None in predicted:
        outcomes = record.column("predict_outcome")
        none = {} if recorded else _NO_PREDICTION
        predicted = [
            (NONE if recorded else none.get(outcome)) if action is None else action
            for action, outcome in zip(predicted, outcomes, strict=True)
        ]
    names = ("own_action", "partner_action", "own_reward")
    own, partner, reward = (record.column(name) for name in names)
    return np.array([own, partner, predicted, reward], dtype=np.float64).T


def _reactions(store: Store, cell: int) -> dict[str, Any]:
    """Return the conditional probe's answers and the partner's states, if it was asked."""
    names = ("reactions", "episode", "step")
    rows = list(store.read("steps", names, cell, complete=True))
    stated = [row[0] for row in rows]
    size = next((len(row) for row in stated if row is not None), 0)
    if size == 0:
        return {}
    reactions = np.array([row or [NONE] * size for row in stated], dtype=np.int64)
    drawn = np.zeros(reactions.shape, dtype=np.bool_)
    row_of = {row[1:]: index for index, row in enumerate(rows)}
    said = ("episode", "step", "question", "outcome", "seat")
    for episode, step, question, outcome, seat in store.read("answers", said, cell):
        asked = seat == SEAT and question.startswith(f"{REACT} ")
        if asked and outcome != VALID and (episode, step) in row_of:
            own = question.removeprefix(f"{REACT} ")
            if not own.isdecimal() or int(own) >= size:
                raise store.damaged(f"cell {cell}: there is no question {question!r}")
            drawn[row_of[episode, step], int(own)] = True
    return {"reactions": reactions, "drawn_reactions": drawn}


_DRAWING = ("random", "equilibrium", "best_response", "rmax", "simulated")
"""Kinds of subjects whose probabilities say how they draw, and state nothing."""


@once_each
def has_probabilities(store: Store) -> bool:
    """Return whether any subject of a run states probabilities or was asked for draws."""
    kinds = {cell: definition["kind"] for cell, definition in store.cells()}
    if any(kinds[cell] not in _DRAWING for cell in store.cells_with('"predicted_probs":')):
        return True
    asked = store.cells_with(f'"{DRAW} ')
    return any(draws_of(record) for cell in asked for record in store.records(cell))


def draws_of(record: Record) -> list[tuple[Any, ...]]:
    """Return the answers of an episode to the literal question that was asked again."""
    return [row for row in record.answers if row[1] == SEAT and row[2].startswith(f"{DRAW} ")]


def read_draws(store: Store, cell: int) -> list[tuple[int, str, Any]]:
    """Return the draws of a cell's complete episodes: (which of their steps, outcome, value)."""
    draws, before = [], 0
    for record in store.records(cell, complete=True):
        draws += [(before + row[0] - 1, row[3], row[5]) for row in draws_of(record)]
        before += record.steps
    return draws


@once_each
def has_reactions(store: Store) -> bool:
    """Return whether any step of the run was asked the conditional probe; looked up once."""
    return bool(store.cells_with('"reactions":'))


@once_each
def has_changes(store: Store) -> bool:
    """Return whether a partner of the run changes its policy within an episode; looked up once."""
    return any(
        "change" in table and table["change"]["step"] <= told["horizon"]
        for _, told in store.cells()
        for table in told["partners"]["tables"]
    )


def has_states(store: Store) -> bool:
    """Return whether what states of models hold is kept beside the store, see docs/measures."""
    return any((store.path.parent / "internal").glob("cell_*.json"))


@once_each
def partners_known(store: Store) -> tuple[bool, ...]:
    """Return whether the partners of each cell have tables; looked up once."""
    return tuple(bool(definition["partners"]["tables"]) for _, definition in store.cells())


@once_each
def partners_react(store: Store) -> bool:
    """Return whether the subject's moves can change what any partner does later; looked up once."""
    moves = (
        np.array(table["next_state"])
        for _, definition in store.cells()
        for table in definition["partners"]["tables"]
    )
    return any(bool((following != following[:, :1]).any()) for following in moves)


@once_each
def cells_with_beliefs(store: Store) -> frozenset[int]:
    """Return the cells whose subject was given beliefs; looked up once, by one step each."""
    return frozenset(
        cell
        for cell in store.cells_with(f'"{BELIEF}":')
        if (first := next(store.read("steps", BELIEFS[:1], cell, complete=True), None)) is not None
        and first[0] is not None
    )


@once_each
def cells_told(store: Store) -> frozenset[int]:
    """Return the cells whose subject was told the partner's move in any step; looked up once."""
    return frozenset(
        cell
        for cell in store.cells_with('"told":1') | store.cells_with('"told":[')
        if any(1 in store.record(cell, e).column("told") for e in store.episodes(cell))
    )
