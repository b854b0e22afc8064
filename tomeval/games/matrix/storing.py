"""What is stored of matrix games, and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.once import once_each
from tomeval.core.outcomes import LENIENT, NOT_ASKED, VALID
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.rules import (
    ACT,
    ASKED,
    BELIEF,
    DRAW,
    NONE,
    PARTNER,
    PREDICT,
    REACT,
    SEAT,
    SEATS,
)
from tomeval.games.played import Decision, PlayedGame, Probed
from tomeval.games.seats import Answer
from tomeval.runs.record import Column, Record, Schema
from tomeval.runs.store import Store

if TYPE_CHECKING:
    from tomeval.games.matrix.play import Setup
    from tomeval.runs.cell import RunCell

RECORDED = "recorded"
"""The kind of subjects whose games were played elsewhere."""

PROGRAM = "program"
"""The kind of subjects that write their policy down, and the key of what they wrote among the facts
about the first action and the first prediction."""

COLUMNS: tuple[str, ...] = ("partner_state", "own_action", "partner_action")
COLUMNS += ("own_reward", "partner_reward", "predicted_action", "own_probs", "predicted_probs")
COLUMNS += ("act_outcome", "predict_outcome", "act_attempts", "predict_attempts")
COLUMNS += ("told", "act_details", "predict_details", "reactions")
"""The columns of steps. `own_probs` and `predicted_probs` are null where all mass lies on what was
chosen; `told` is 1 where the subject learned what the observation does not show; `reactions` has,
per own action, the partner's next action as stated; -1 where it was not."""

_OF = f"act_details/{BELIEF}"
BELIEFS = (f"{_OF}/action", f"{_OF}/accuracy", f"{_OF}/as")
"""What a subject was told that the partner would do; names for `Store.read`."""


def _questions(record: Record) -> list[tuple[Column, ...]]:
    """Return what the subject was asked in every step."""
    columns = record.columns
    return [
        (SEAT, form, columns.get(f"{form}_outcome"), columns.get(f"{form}_attempts"))
        for form in (ACT, PREDICT)
    ]


SCHEMA = Schema(("partner", "length"), COLUMNS, _questions, rare=("length",))
"""`length` is the drawn length of an episode whose game goes on with a probability."""


def as_record(setup: Setup, played: PlayedGame, status: str = "") -> Record:
    """Return what was played of an episode as it is stored; default: with its own status."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    episode, which, tables = played.index, played.deal, setup.partners
    of_episode = {"partner": which, **drawn_length(setup, episode)}
    record = Record(episode, status or played.status, 0, of_episode, columns)
    partner = tables.partners[which] if isinstance(tables, PartnerSet) else None
    state = NONE if partner is None else partner.start
    rounds: dict[int, dict[int, Decision]] = {}
    for decision in played.decisions:
        rounds.setdefault(decision.stage, {})[decision.seat] = decision
    for step, decided in enumerate(rounds.values(), 1):
        own, theirs = (decided[seat].action if seat in decided else None for seat in (0, 1))
        row: dict[str, Any] = _columns(decided.get(0))
        row |= {"partner_state": state, "own_action": own, "partner_action": theirs}
        if own is not None and theirs is not None:
            rewards = setup.game.payoffs[own, theirs].tolist()
            row |= zip(("own_reward", "partner_reward"), rewards, strict=True)
            state = NONE if partner is None else int(partner.next_state[state, own, theirs])
        for name, values in columns.items():
            values.append(row.get(name))
        for seat, decision in decided.items():
            if seat == 0 or partner is None:
                record.answers += _answers(step, SEATS[seat], decision)
    record.steps = len(rounds)
    for number, slot, form, call in played.calls:
        step, purpose = call.get("step", (number + 1) // 2), form.partition("_")[0]
        record.calls.append((step, SEATS[slot], call.get("purpose", purpose), call))
    return record


def drawn_length(setup: Setup, episode: int) -> dict[str, int]:
    """Return the length of an episode as it is stored, if it was drawn."""
    return {} if setup.horizon else {"length": int(setup.lengths(episode, 1)[0])}


def _asked(decision: Decision | None, name: str) -> list[Probed]:
    return [] if decision is None else [one for one in decision.probed if one.probe.name == name]


def _columns(decision: Decision | None) -> dict[str, Any]:
    """Return the columns of what the subject answered in a step; None: it was not asked."""
    row: dict[str, Any] = {"told": int(decision is not None and decision.told)}
    act = None if decision is None else decision.answer
    said, counted = None, None
    for one in _asked(decision, PREDICT):
        said, counted = one.answer, one.counted
    row["predicted_action"] = counted
    for form, of, answer in ((ACT, "own", act), (PREDICT, "predicted", said)):
        there = answer is not None and answer.attempts > 0  # else it was not asked
        row[f"{form}_outcome"] = answer.outcome if answer and there else NOT_ASKED
        row[f"{form}_attempts"] = answer.attempts if answer else 0
        row[f"{form}_details"] = answer.details if answer else None
        row[f"{of}_probs"] = answer.probs if answer else None
    if reactions := _asked(decision, REACT):
        said_next = (one.answer.action for one in reactions)
        row["reactions"] = [NONE if action is None else action for action in said_next]
    return row


def _answers(step: int, seat: str, decision: Decision) -> Iterator[tuple[Any, ...]]:
    """Yield the answers of a step that have no columns."""

    def row(question: str, answer: Answer, value: Any) -> tuple[Any, ...]:
        return step, seat, question, answer.outcome, answer.attempts, value, answer.raw

    if seat == PARTNER:
        told = [(ACT, decision.answer, decision.action)]
        told += [(PREDICT, one.answer, one.counted) for one in _asked(decision, PREDICT)]
        for form, answer, action in told:
            more = {"probs": answer.probs, "details": answer.details}
            said = {"action": action, **{k: v for k, v in more.items() if v is not None}}
            if answer.attempts:
                yield row(form, answer, said)
    for one in decision.probed:
        if one.probe.name == REACT:
            value = one.answer.action if seat == SEAT else one.counted
            yield row(f"{REACT} {one.probe.given}", one.answer, value)
        elif one.probe.name != PREDICT:
            action, about = one.answer.action, (one.answer.details or {}).get(ASKED)
            value = action if about is None else {"answer": action, **about}
            yield row(one.probe.name, one.answer, value)


_OF_CELL = ("subject", "model", "revision", "strategy", "game", "labels", "partners", "horizon")
_SET = ("seed", "reference", "on_invalid")
_FACTS = ("method", "mass", "argmax_is_label")
_ORDERS = ("own_order", "partner_order")
_EXPORTED = {
    **{name: name for name in COLUMNS[:13]},
    **{f"act_{fact}": f"act_details/{fact}" for fact in _FACTS},
    **{f"{form}_lenient": f"{form}_details/{LENIENT}" for form in (ACT, PREDICT)},
    **{f"predict_{fact}": f"predict_details/{fact}" for fact in _FACTS},
    **{order: f"act_details/{order}" for order in _ORDERS},
    "reactions": "reactions",
    **dict(zip(("stated_action", "stated_accuracy", "stated_as"), BELIEFS, strict=True)),
}
"""The columns of exported steps but for labels, and where each is stored."""
_LABELS = {
    "own_action": ("own_label", "own"),
    "partner_action": ("partner_label", "partner"),
    "predicted_action": ("predicted_label", "partner"),
    "stated_action": ("stated_label", "partner"),
}
"""The column of an action's label, which follows it, and whose labels they are."""


def step_rows(cell: RunCell) -> Iterator[dict[str, Any]]:
    """Yield all of every step of a cell, by column."""
    definition, paths = cell.definition, tuple(_EXPORTED.values())
    told = cell.columns | {"revision": cell.store.revisions().get(cell.own_model, "")}
    about: dict[str, Any] = {name: told[name] for name in _OF_CELL}
    about |= {name: definition[name] for name in _SET}
    about["templates_sha256"] = definition.get("templates")
    tables = definition["partners"].get("tables") or []
    for record in cell.store.records(cell.number):
        which = record.own["partner"]
        table = tables[which] if which < len(tables) else {}
        here = {"cell": cell.number, "episode": record.episode, "status": record.status}
        here |= {"partner": table.get("name"), "partner_sha256": table.get("sha256")}
        for step, row in enumerate(record.rows("steps", paths, SCHEMA), 1):
            yield about | here | {"step": step} | _shown(row, definition["labels"])


def steps_of(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the columns of each step."""
    columns = (record.column(name) for name in COLUMNS)
    return (dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True))


def _shown(row: Sequence[Any], labels: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return a step as it is exported: actions with their labels, facts about answers apart."""
    shown: dict[str, Any] = {}
    for name, value in zip(_EXPORTED, row, strict=True):
        shown[name] = value
        if name in _ORDERS and value is not None:
            shown[name] = json.dumps(value, separators=(",", ":"))
        if name in _LABELS:
            label, side = _LABELS[name]
            shown[label] = None if value is None else labels[side][value]
    return shown


def read_played(store: Store, cell: int) -> dict[str, Any]:
    """Return the complete episodes of a cell as flat arrays, in order of episode and step.

    Keys: ``which`` and ``lengths`` per episode; ``own``, ``partner``, ``predicted`` (None if no
    step has one), ``own_reward`` and ``reactions`` per step. Some steps may have no valid
    prediction, -1: those of recorded games, and those whose question got no reply.
    """
    names = ("own_action", "partner_action", "predicted_action", "own_reward")
    which, lengths, flat = [], [], []
    try:
        for record in store.records(cell, complete=True):
            which.append(record.own["partner"])
            lengths.append(record.steps)
            own, partner, predicted, reward = (record.column(name) for name in names)
            if None in predicted:  # but if it was said, it is lost
                outcomes = record.column("predict_outcome")
                predicted = [
                    action if action is not None or outcome == VALID else NONE
                    for action, outcome in zip(predicted, outcomes, strict=True)
                ]
            flat.append(np.array([own, partner, predicted, reward], dtype=np.float64).T)
        table = np.concatenate([*flat, np.empty((0, 4))])
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    if not np.isfinite(table).all() or len(table) != sum(lengths):
        raise store.damaged("a complete episode lacks steps")
    none = len(table) > 0 and bool((table[:, 2] == NONE).all())
    return {
        "which": np.array(which, dtype=np.int64),
        "lengths": np.array(lengths, dtype=np.int64),
        "own": table[:, 0].astype(np.int64),
        "partner": table[:, 1].astype(np.int64),
        "predicted": None if none else table[:, 2].astype(np.int64),
        "own_reward": table[:, 3].copy(),
        "reactions": _reactions(store, cell) if has_reactions(store) else None,
    }


def _reactions(store: Store, cell: int) -> NDArray[np.int64] | None:
    """Return the conditional probe's answers, shape (N, n); None if it was not asked."""
    stated = [row for (row,) in store.read("steps", ("reactions",), cell, complete=True)]
    size = next((len(row) for row in stated if row is not None), 0)
    return np.array([row or [NONE] * size for row in stated], dtype=np.int64) if size else None


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
def has_questions(store: Store) -> bool:
    """Return whether a subject of a run is asked what its partner is."""
    return any(definition["options"].get("questions") for _, definition in store.cells())


@once_each
def has_reactions(store: Store) -> bool:
    """Return whether any step of the run was asked the conditional probe; looked up once."""
    return bool(store.cells_with('"reactions":'))


def lasts(definition: Mapping[str, Any]) -> int | str:
    """Return how long episodes last as tables show it: T, or ``c=`` the probability to go on."""
    on = definition.get("continuation")
    horizon: int = definition["horizon"] if on is None else 0
    return horizon or f"c={on}"


def tables_of(store: Store) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the definition of each cell, and the tables of its partners; a player has none."""
    for _, definition in store.cells():
        yield definition, definition["partners"]["tables"]


@once_each
def has_programs(store: Store) -> bool:
    """Return whether any subject of a run wrote its policy down."""
    return any(told["kind"] == PROGRAM for told, _ in tables_of(store))


@once_each
def has_told(store: Store) -> bool:
    """Return whether the partners of any cell say who they are; looked up once."""
    return any("told" in definition["partners"] for _, definition in store.cells())


@once_each
def has_changes(store: Store) -> bool:
    """Return whether a partner of the run changes its policy within an episode; looked up once."""
    return any(
        "change" in table and table["change"]["step"] <= told.get("horizon", 0)
        for told, tables in tables_of(store)
        for table in tables
    )


@once_each
def partners_react(store: Store) -> bool:
    """Return whether the subject's moves can change what any partner does later; looked up once."""
    moves = (np.array(one["next_state"]) for _, tables in tables_of(store) for one in tables)
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
