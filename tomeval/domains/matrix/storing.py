"""Played steps as rows of the store, and back."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np

from tomeval.core.once import once_each
from tomeval.core.outcomes import BACKEND_ERROR, COMPLETE, LENIENT, NOT_ASKED, OUTCOMES, VALID
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.steps import ACT, BELIEF, DRAW, NONE, PREDICT, REACT, Steps
from tomeval.runs.domain import Block
from tomeval.runs.schema import Schema
from tomeval.runs.store import Store

SEAT = "subject"
"""The seat that is measured in tables of cells."""

PARTNER = "partner"
"""The other seat, where a player sits in it and no table. Its answers are rows of ``answers``: to
``act`` and ``predict`` an object with ``action`` and, where they are known, ``probs``, ``told`` and
``details``; to other questions as for the subject. The steps hold its action too."""

RECORDED = "recorded"
"""The kind of subjects whose games were played elsewhere."""

STATED = f"act_details/{BELIEF}/action"
"""What a subject was told that the partner would do; a name for `Stored.read`."""

_STEP_COLUMNS = {
    "partner_state": "INTEGER NOT NULL",
    "own_action": "INTEGER",
    "partner_action": "INTEGER",
    "own_reward": "REAL",
    "partner_reward": "REAL",
    "predicted_action": "INTEGER",
    "own_probs": "TEXT",
    "predicted_probs": "TEXT",
    "act_outcome": "TEXT NOT NULL",
    "predict_outcome": "TEXT NOT NULL",
    "act_attempts": "INTEGER NOT NULL",
    "predict_attempts": "INTEGER NOT NULL",
    "told": "INTEGER NOT NULL",
    "act_details": "TEXT",
    "predict_details": "TEXT",
    "reactions": "TEXT",
}

_VIEWS = f"""
CREATE VIEW step_records AS
SELECT c.subject, c.model, COALESCE(r.revision, '') AS revision, c.strategy, c.game, c.labels,
       c.partners, c.horizon, c.seed, c.reference, c.on_invalid,
       json_extract(c.definition, '$.templates') AS templates_sha256,
       s.cell, s.episode, e.status,
       json_extract(c.definition, '$.partners.tables[' || e.partner || '].name') AS partner,
       json_extract(c.definition, '$.partners.tables[' || e.partner || '].sha256')
           AS partner_sha256,
       s.step, s.partner_state, s.own_action,
       json_extract(c.definition, '$.labels.own[' || s.own_action || ']') AS own_label,
       s.partner_action,
       json_extract(c.definition, '$.labels.partner[' || s.partner_action || ']') AS partner_label,
       s.own_reward, s.partner_reward, s.predicted_action,
       json_extract(c.definition, '$.labels.partner[' || s.predicted_action || ']')
           AS predicted_label,
       s.own_probs, s.predicted_probs, s.act_outcome, s.predict_outcome,
       s.act_attempts, s.predict_attempts, s.told,
       json_extract(s.act_details, '$.method') AS act_method,
       json_extract(s.act_details, '$.mass') AS act_mass,
       json_extract(s.act_details, '$.argmax_is_label') AS act_argmax_is_label,
       json_extract(s.act_details, '$.{LENIENT}') AS act_lenient,
       json_extract(s.predict_details, '$.{LENIENT}') AS predict_lenient,
       json_extract(s.predict_details, '$.method') AS predict_method,
       json_extract(s.predict_details, '$.mass') AS predict_mass,
       json_extract(s.predict_details, '$.argmax_is_label') AS predict_argmax_is_label,
       json_extract(s.act_details, '$.own_order') AS own_order,
       json_extract(s.act_details, '$.partner_order') AS partner_order, s.reactions,
       json_extract(s.act_details, '$.{BELIEF}.action') AS stated_action,
       json_extract(c.definition, '$.labels.partner['
           || json_extract(s.act_details, '$.{BELIEF}.action') || ']') AS stated_label,
       json_extract(s.act_details, '$.{BELIEF}.accuracy') AS stated_accuracy,
       json_extract(s.act_details, '$.{BELIEF}.as') AS stated_as
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell)
LEFT JOIN revisions r ON r.model = c.model;
CREATE VIEW asked AS
SELECT cell, episode, step, 'subject' AS seat, 'act' AS question, act_outcome AS outcome,
       act_attempts AS attempts FROM steps
UNION ALL SELECT cell, episode, step, 'subject', 'predict', predict_outcome, predict_attempts
FROM steps
UNION ALL SELECT cell, episode, step, seat, question, outcome, attempts FROM answers
"""

_STEPS = f"cell, episode, step, {', '.join(_STEP_COLUMNS)}"
SCHEMA = Schema(
    cells={
        **dict.fromkeys(
            ("subject", "model", "strategy", "game", "labels", "partners"), "TEXT NOT NULL"
        ),
        "horizon": "INTEGER NOT NULL",
        "reference": "TEXT NOT NULL",
    },
    episodes={"partner": "INTEGER NOT NULL"},
    steps=_STEP_COLUMNS,
    views=_VIEWS,
    shown={
        "partner": "TEXT",
        **dict.fromkeys(("act_mass", "predict_mass"), "REAL"),
        **dict.fromkeys(("act_argmax_is_label", "predict_argmax_is_label"), "INTEGER"),
        **dict.fromkeys(("act_lenient", "predict_lenient"), "INTEGER"),
        "stated_action": "INTEGER",
        "stated_accuracy": "REAL",
    },
)


def as_block(steps: Steps, game: MatrixGame) -> Block:
    """Return played episodes as the rows that are stored."""
    length = steps.own_action.shape[1]
    pairs = zip(steps.episodes.tolist(), steps.partners.tolist(), strict=True)
    return Block(
        [(episode, steps.status, length, partner) for episode, partner in pairs],
        _rows(steps, steps.rewards(game)),
        answers=[(episode, step, SEAT, *said) for episode, step, *said in steps.asked]
        + [(episode, step, PARTNER, *said) for episode, step, *said in steps.other_asked],
        calls=[(episode, step, SEAT, form, call) for episode, step, form, call in steps.calls]
        + [(episode, step, PARTNER, form, call) for episode, step, form, call in steps.other_calls],
    )


def _rows(steps: Steps, rewards: tuple[np.ndarray, np.ndarray]) -> list[tuple[Any, ...]]:
    """Return the rows of the step table, episode after episode."""
    count, length = steps.own_action.shape
    texts = [json.dumps(row) for row in steps.book]

    def optional(values: np.ndarray) -> list[Any]:
        return [None if v == NONE else v for v in values.ravel().tolist()]

    def text(codes: np.ndarray) -> list[str | None]:
        return [None if c == NONE else texts[c] for c in codes.ravel().tolist()]

    def reward(values: np.ndarray) -> list[float | None]:
        return [None if v != v else v for v in values.ravel().tolist()]

    def outcome(codes: np.ndarray) -> list[str]:
        return [OUTCOMES[c] for c in codes.ravel().tolist()]

    return list(
        zip(
            np.repeat(steps.episodes, length).tolist(),
            list(range(1, length + 1)) * count,
            steps.partner_state.ravel().tolist(),
            optional(steps.own_action),
            optional(steps.partner_action),
            reward(rewards[0]),
            reward(rewards[1]),
            optional(steps.predicted_action),
            text(steps.own_probs),
            text(steps.predicted_probs),
            outcome(steps.act_outcome),
            outcome(steps.predict_outcome),
            steps.act_attempts.ravel().tolist(),
            steps.predict_attempts.ravel().tolist(),
            steps.told.ravel().astype(int).tolist(),
            *_details(steps),
            strict=True,
        )
    )


def _details(steps: Steps) -> list[list[str | None]]:
    """Return the columns of facts about answers: act, predict, reactions."""
    count, length = steps.own_action.shape
    columns: list[list[str | None]] = [[None] * (count * length) for _ in range(3)]
    for (row, index), entry in steps.details.items():
        for column, key in zip(columns, ("act", "predict", "reactions"), strict=True):
            if key in entry:
                column[row * length + index] = json.dumps(entry[key])
    return columns


_NO_REPLY = NONE - 1
_PREDICTED = (
    f"COALESCE(predicted_action, CASE predict_outcome WHEN '{NOT_ASKED}' THEN {NONE} "
    f"WHEN '{BACKEND_ERROR}' THEN {_NO_REPLY} END)"
)


def read_played(store: Store, cell: int, recorded: bool = False) -> dict[str, Any]:
    """Return the complete episodes of a cell as flat arrays, in order of episode and step.

    Keys: ``which`` and ``lengths`` per episode; ``own``, ``partner``, ``predicted`` (None if no
    step has one) and ``own_reward`` per step. Some steps may have no valid prediction, -1: those of
    recorded games, and those whose question got no reply.
    """
    episodes = list(store.read("episodes", ("partner", "steps"), cell, complete=True))
    try:
        lengths = np.array([row[1] for row in episodes], dtype=np.int64)
        which = np.array([row[0] for row in episodes], dtype=np.int64)
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    said = f"COALESCE(predicted_action, {NONE})" if recorded else _PREDICTED
    columns = f"SELECT own_action, partner_action, {said}, own_reward FROM steps"
    if store.query(
        "SELECT 1 FROM episodes WHERE cell = ? AND status != ? LIMIT 1", (cell, COMPLETE)
    ):
        sql = f"{columns} JOIN episodes USING (cell, episode) WHERE cell = ? AND status = ?"
        _, rows = store.iterate(f"{sql} ORDER BY cell, episode, step", (cell, COMPLETE))
    else:  # to look up no episode takes a quarter less
        _, rows = store.iterate(f"{columns} WHERE cell = ? ORDER BY cell, episode, step", (cell,))
    try:
        flat = np.fromiter(chain.from_iterable(rows), np.float64, 4 * int(lengths.sum()))
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    rest = next(rows, None)
    table = flat.reshape(-1, 4)
    unasked = table[:, 2] == NONE
    whole = np.isfinite(table).all() and (recorded or unasked.all() or not unasked.any())
    if rest is not None or not whole:
        raise store.damaged("a complete episode lacks steps")
    none = len(table) > 0 and bool((table[:, 2] <= NONE).all())
    extra = _reactions(store, cell) if has_reactions(store) else {}
    return extra | {
        "which": which,
        "lengths": lengths,
        "own": table[:, 0].astype(np.int64),
        "partner": table[:, 1].astype(np.int64),
        "predicted": None if none else np.maximum(table[:, 2], NONE).astype(np.int64),
        "own_reward": table[:, 3].copy(),
    }


def other_answers(
    store: Store, cell: int, episode: int
) -> dict[tuple[int, str], tuple[str, int | None]]:
    """Return outcome and action of what the player in the partner's seat was asked in an episode.

    By step and question, ``act`` or ``predict``.
    """
    names = ("seat", "step", "question", "outcome", "value/action")
    return {
        (step, question): (outcome, action)
        for seat, step, question, outcome, action in store.read("answers", names, cell, episode)
        if seat == PARTNER and question in (ACT, PREDICT)
    }


def _reactions(store: Store, cell: int) -> dict[str, Any]:
    """Return the conditional probe's answers and the partner's states, if it was asked."""
    names = ("reactions", "partner_state", "episode", "step")
    rows = list(store.read("steps", names, cell, complete=True))
    stated = [json.loads(row[0]) if row[0] else None for row in rows]
    size = next((len(row) for row in stated if row is not None), 0)
    if size == 0:
        return {}
    reactions = np.array([row or [NONE] * size for row in stated], dtype=np.int64)
    drawn = np.zeros(reactions.shape, dtype=np.bool_)
    row_of = {row[2:]: index for index, row in enumerate(rows)}
    for episode, step, question, outcome, _ in _asked(store, REACT, cell):
        if outcome != VALID and (episode, step) in row_of:
            own = question.removeprefix(f"{REACT} ")
            if not own.isdecimal() or int(own) >= size:
                raise store.damaged(f"cell {cell}: there is no question {question!r}")
            drawn[row_of[episode, step], int(own)] = True
    return {
        "reactions": reactions,
        "drawn_reactions": drawn,
        "partner_state": np.array([row[1] for row in rows], dtype=np.int64),
    }


def _asked(
    store: Store, form: str, cell: int, episode: int | None = None
) -> list[tuple[int, int, str, str, str | None]]:
    """Return the subject's answers to a numbered question, such as ``draw``; empty: to all.

    Each is (episode, step, question, outcome, value).
    """
    names = ("episode", "step", "question", "outcome", "value", "seat")
    return [
        row[:-1]
        for row in store.read("answers", names, cell, episode)
        if row[-1] == SEAT and (not form or row[2].startswith(f"{form} "))
    ]


def draws_of_episode(store: Store, cell: int, episode: int) -> dict[int, list[int | None]]:
    """Return what was predicted when the literal question was asked again, by step.

    None stands for an answer that could not be read.
    """
    by_step: dict[int, list[int | None]] = {}
    for _, step, _, outcome, value in _asked(store, DRAW, cell, episode):
        by_step.setdefault(step, []).append(json.loads(value or "") if outcome == VALID else None)
    return by_step


def read_horizons(store: Store) -> list[tuple[int, str | None]]:
    """Return the horizons of a run's cells with their partners' tables as JSON, each pair once."""
    sql = "SELECT DISTINCT horizon, json_extract(definition, '$.partners.tables') FROM cells"
    return store.query(sql)


def answers_of(store: Store, cell: int, episode: int) -> list[tuple[int, int | None, int, int]]:
    """Return what was chosen and predicted in each step, and how often each was asked."""
    names = ("own_action", "predicted_action", "act_attempts", "predict_attempts")
    return list(store.read("steps", names, cell, episode))


_DRAWS = f"question LIKE '{DRAW} %' AND seat = '{SEAT}'"
_DRAWING = ("random", "equilibrium", "best_response", "rmax", "simulated")
"""Kinds of subjects whose probabilities say how they draw, and state nothing."""


@once_each
def has_probabilities(store: Store) -> bool:
    """Tell whether any subject of a run states probabilities or was asked for draws."""
    if store.query(f"SELECT 1 FROM answers WHERE {_DRAWS} LIMIT 1"):
        return True
    kinds = store.query("SELECT cell, json_extract(definition, '$.kind') FROM cells")
    sql = "SELECT 1 FROM steps WHERE cell = ? AND predicted_probs IS NOT NULL LIMIT 1"
    return any(store.query(sql, (cell,)) for cell, kind in kinds if kind not in _DRAWING)


def read_stated_probabilities(store: Store, cell: int) -> list[tuple[Any, ...]]:
    """Return the probabilities of each prediction, as JSON or None, and its outcome.

    Of the steps of a cell's complete episodes, in the order of `Played`.
    """
    names = ("predicted_probs", "predict_outcome")
    return list(store.read("steps", names, cell, complete=True))


def read_draws(store: Store, cell: int) -> list[tuple[Any, ...]]:
    """Return the draws of a cell's complete episodes: (which of their steps, outcome, value)."""
    return store.query(
        "SELECT place, outcome, value FROM answers JOIN (SELECT episode, step, "
        "row_number() OVER (ORDER BY episode, step) - 1 AS place FROM steps "
        "JOIN episodes USING (cell, episode) WHERE cell = ? AND status = ?) USING (episode, step) "
        f"WHERE cell = ? AND {_DRAWS}",
        (cell, COMPLETE, cell),
    )


@once_each
def has_reactions(store: Store) -> bool:
    """Tell whether any step of the run was asked the conditional probe; looked up once."""
    return bool(store.query("SELECT 1 FROM steps WHERE reactions IS NOT NULL LIMIT 1"))


@once_each
def partners_known(store: Store) -> tuple[bool, ...]:
    """Tell for each cell whether its partners have tables; looked up once."""
    tables = "json_array_length(definition, '$.partners.tables')"
    return tuple(bool(count) for (count,) in store.query(f"SELECT {tables} FROM cells"))


@once_each
def partners_react(store: Store) -> bool:
    """Tell whether the subject's moves can change what any partner does later; looked up once."""
    sql = "SELECT DISTINCT json_extract(definition, '$.partners.tables') FROM cells"
    moves = (
        np.array(table["next_state"])
        for (tables,) in store.query(sql)
        for table in json.loads(tables or "[]")  # a definition without is found damaged
    )
    return any(bool((following != following[:, :1]).any()) for following in moves)


@once_each
def cells_with_beliefs(store: Store) -> frozenset[int]:
    """Return the cells whose subject was given beliefs; looked up once, by one step each."""
    rows = store.query(
        "SELECT s.cell FROM cells c JOIN steps s ON s.cell = c.cell AND s.step = 1 AND s.episode = "
        "(SELECT MIN(episode) FROM episodes e WHERE e.cell = c.cell AND e.status = ?) "
        f"WHERE json_extract(s.act_details, '$.{BELIEF}') IS NOT NULL",
        (COMPLETE,),
    )
    return frozenset(number for (number,) in rows)


def cells_told(store: Store) -> set[int]:
    """Return the cells whose subject was told the partner's move in any step."""
    return {cell for (cell,) in store.query("SELECT DISTINCT cell FROM steps WHERE told = 1")}


def has_beliefs(store: Store) -> bool:
    """Tell whether any subject of the run was given beliefs."""
    return bool(cells_with_beliefs(store))


def read_beliefs(store: Store, cell: int) -> list[tuple[Any, ...]]:
    """Return what was stated in the steps of a cell's complete episodes, in the order of `Played`.

    Each is (action, accuracy, right, the partner's action, the wording).
    """
    action, accuracy, right, wording = (
        f"act_details/{BELIEF}/{key}" for key in ("action", "accuracy", "right", "as")
    )
    names = (action, accuracy, right, "partner_action", wording)
    return list(store.read("steps", names, cell, complete=True))
