"""The run folder: resolved experiment, versions, and the SQLite store of cells, episodes and steps.

Analysis reads nothing else. A finished episode is one transaction, so a run that is killed keeps
every episode that was finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, INVALID_REASONS, OUTCOMES, VALID
from tomeval.domains.matrix.steps import NONE, Steps

SCHEMA_VERSION = 1
STORE = "run.sqlite"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY,
    subject TEXT NOT NULL, model TEXT NOT NULL, revision TEXT NOT NULL, strategy TEXT NOT NULL,
    game TEXT NOT NULL, labels TEXT NOT NULL, partners TEXT NOT NULL,
    horizon INTEGER NOT NULL, seed INTEGER NOT NULL,
    reference TEXT NOT NULL, on_invalid TEXT NOT NULL,
    definition TEXT NOT NULL
);
CREATE TABLE episodes (
    cell INTEGER NOT NULL REFERENCES cells, episode INTEGER NOT NULL,
    partner INTEGER NOT NULL, status TEXT NOT NULL, steps INTEGER NOT NULL,
    PRIMARY KEY (cell, episode)
) WITHOUT ROWID;
CREATE TABLE steps (
    cell INTEGER NOT NULL, episode INTEGER NOT NULL, step INTEGER NOT NULL,
    partner_state INTEGER NOT NULL, own_action INTEGER, partner_action INTEGER NOT NULL,
    own_reward REAL, partner_reward REAL, predicted_action INTEGER,
    own_probs TEXT, predicted_probs TEXT,
    act_outcome TEXT NOT NULL, predict_outcome TEXT NOT NULL,
    act_attempts INTEGER NOT NULL, predict_attempts INTEGER NOT NULL, told INTEGER NOT NULL,
    act_details TEXT, predict_details TEXT, reactions TEXT,
    PRIMARY KEY (cell, episode, step)
) WITHOUT ROWID;
CREATE TABLE calls (
    cell INTEGER NOT NULL, episode INTEGER NOT NULL, call INTEGER NOT NULL,
    step INTEGER NOT NULL, form TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (cell, episode, call)
) WITHOUT ROWID;
CREATE TABLE answered (
    cell INTEGER NOT NULL, episode INTEGER NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL,
    PRIMARY KEY (cell, episode, request)
) WITHOUT ROWID;
CREATE VIEW step_records AS
SELECT c.subject, c.model, c.revision, c.strategy, c.game, c.labels, c.partners, c.horizon, c.seed,
       c.reference, json_extract(c.definition, '$.templates') AS templates_sha256,
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
       json_extract(s.predict_details, '$.method') AS predict_method,
       json_extract(s.predict_details, '$.mass') AS predict_mass,
       json_extract(s.act_details, '$.own_order') AS own_order,
       json_extract(s.act_details, '$.partner_order') AS partner_order, s.reactions
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);
"""


def identity_sha256(identity: Mapping[str, Any]) -> str:
    """Return the hash of what makes an experiment itself: its name and its cells."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Store:
    """The SQLite store of one run.

    Parameters
    ----------
    folder : Path
        The run folder.
    write : bool
        Open for writing; makes the store when it does not exist.

    Raises
    ------
    TomevalError
        No run there, a damaged store, one of a newer version, or no permission.
    """

    file: ClassVar[str] = STORE
    schema: ClassVar[str] = _SCHEMA
    version: ClassVar[int] = SCHEMA_VERSION

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self.path = folder / self.file
        if not write and not self.path.is_file():
            raise TomevalError(f"{folder}: not a run folder (no {self.file} in it)")
        with self._reporting():
            mode = "mode=rwc" if write else _reading_mode(self.path)
            uri = f"{self.path.resolve().as_uri()}?{mode}"
            self._db = sqlite3.connect(
                uri, uri=True, isolation_level=None, timeout=60, check_same_thread=False
            )
            self._db.execute("PRAGMA foreign_keys = ON")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise TomevalError(f"{self.path}: is not a tomeval run, but another database")
            if write:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            if write and version == 0:
                with self._transaction():
                    for statement in self.schema.split(";\n"):
                        if statement.strip():
                            self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {self.version}")
                version = self.version
        if version != self.version:
            newer = "a newer" if version > self.version else "no or an unfinished"
            raise TomevalError(
                f"{self.path}: written by {newer} version of tomeval (store version {version}, "
                f"this tomeval reads {self.version})"
            )

    def close(self) -> None:
        """Close the store."""
        self._db.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Word SQLite's errors for the user."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith("SQLITE_FULL"):
                why = "the disk is full; free some space and run the same command again"
            elif code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                why = "cannot be opened for this; is the folder read-only?"
            else:
                why = str(error)
            raise TomevalError(f"{self.path}: {why} ({code or 'sqlite'})") from None
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from None

    def damaged(self, why: object) -> TomevalError:
        """Return the error for a store whose content cannot be trusted."""
        return TomevalError(
            f"{self.path}: damaged, not readable as a tomeval run ({why}); "
            "restore it from a copy or start over in another folder"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def meta(self) -> dict[str, Any]:
        """Return what `begin` wrote beside the cells: name and hash of the experiment."""
        rows = self.query("SELECT key, value FROM meta")
        try:
            return {key: json.loads(value) for key, value in rows}
        except (TypeError, ValueError) as error:
            raise self.damaged(error) from None

    def begin(self, identity: Mapping[str, Any], sha256: str) -> None:
        """Write the cells of a new run, once."""
        with self._reporting(), self._transaction():
            self._db.execute("INSERT INTO meta VALUES ('sha256', ?)", (json.dumps(sha256),))
            self._db.execute("INSERT INTO meta VALUES ('name', ?)", (json.dumps(identity["name"]),))
            for number, cell in enumerate(identity["cells"]):
                row = (
                    number,
                    cell["subject"],
                    cell.get("model", ""),
                    cell.get("revision", ""),
                    cell.get("strategy", ""),
                    cell["game"]["name"],
                    cell["labels"]["name"],
                    cell["partners"]["name"],
                    cell["horizon"],
                    cell["seed"],
                    cell["reference"],
                    cell["on_invalid"],
                    json.dumps(cell),
                )
                self._db.execute(f"INSERT INTO cells VALUES ({','.join('?' * len(row))})", row)

    def add(self, cell: int, steps: Steps, rewards: tuple[np.ndarray, np.ndarray]) -> None:
        """Write episodes of a cell, each in its own transaction."""
        rows = _rows(cell, steps, rewards)
        length = steps.own_action.shape[1]
        calls: dict[int, list[tuple[Any, ...]]] = {}
        for episode, step, form, call in steps.calls:
            mine = calls.setdefault(episode, [])
            mine.append((cell, episode, len(mine), step, form, json.dumps(call)))
        pairs = zip(steps.episodes.tolist(), steps.partners.tolist(), strict=True)
        with self._reporting():
            for index, (episode, partner) in enumerate(pairs):
                with self._transaction():
                    for table in ("steps", "calls", "episodes"):  # of an earlier, failed try
                        self._db.execute(
                            f"DELETE FROM {table} WHERE cell = ? AND episode = ?", (cell, episode)
                        )
                    self._db.execute(
                        "INSERT INTO episodes VALUES (?, ?, ?, ?, ?)",
                        (cell, episode, partner, steps.status, length),
                    )
                    part = rows[index * length : (index + 1) * length]
                    self._db.executemany(f"INSERT INTO steps VALUES ({','.join('?' * 19)})", part)
                    self._db.executemany(
                        "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", calls.get(episode, [])
                    )
                    if steps.status != FAILED:  # else what was answered serves the next try
                        self._db.execute(
                            "DELETE FROM answered WHERE cell = ? AND episode = ?", (cell, episode)
                        )

    def set_revision(self, cells: list[int], revision: str) -> None:
        """Note which revision of its model cells are played with; another one later is refused."""
        with self._reporting(), self._transaction():
            for cell in cells:
                row = self._db.execute(
                    "SELECT revision, subject, model FROM cells WHERE cell = ?", (cell,)
                ).fetchone()
                if row[0] not in ("", revision):
                    raise TomevalError(
                        f"{self.path}: {row[1]} was played with {row[2]} at revision {row[0]}, the "
                        f"model now is {revision or 'of unknown revision'}; use another folder"
                    )
                self._db.execute("UPDATE cells SET revision = ? WHERE cell = ?", (revision, cell))

    def keep_reply(self, cell: int, episode: int, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished, so that it is never asked for again."""
        with self._reporting():
            self._db.execute(
                "INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?)",
                (cell, episode, request, reply),
            )

    def kept_replies(self, cell: int, episode: int) -> dict[str, str]:
        """Return the replies kept of an unfinished episode, by request."""
        return dict(
            self.query(
                "SELECT request, reply FROM answered WHERE cell = ? AND episode = ?",
                (cell, episode),
            )
        )

    def finished(self) -> dict[int, set[int]]:
        """Return the episodes that need not be played, void ones included, by cell."""
        done: dict[int, set[int]] = {}
        found = "SELECT cell, episode FROM episodes WHERE status != ?"
        with self._reporting():
            for cell, episode in self._db.execute(found, (FAILED,)):
                done.setdefault(cell, set()).add(episode)
        return done

    def failed(self) -> int:
        """Return how many episodes got no reply and wait to be played again."""
        rows = self.query("SELECT COUNT(*) FROM episodes WHERE status = ?", (FAILED,))
        return int(rows[0][0])

    def cells(self) -> list[tuple[int, dict[str, Any]]]:
        """Return number and definition of every cell."""
        rows = self.query("SELECT cell, definition FROM cells ORDER BY cell")
        try:
            found = [(cell, json.loads(definition)) for cell, definition in rows]
        except (TypeError, ValueError) as error:
            raise self.damaged(error) from None
        meta = self.meta()
        identity = {"name": meta.get("name"), "cells": [definition for _, definition in found]}
        if meta and meta.get("sha256") != identity_sha256(identity):
            raise self.damaged("its cells are not those it was begun with")
        return found

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        """Run a query."""
        with self._reporting():
            return self._db.execute(sql, parameters).fetchall()

    def iterate(self, sql: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Return a query's column names and its rows, one by one."""
        with self._reporting():
            cursor = self._db.execute(sql)

        def rows() -> Iterator[tuple[Any, ...]]:
            with self._reporting():
                # Not from the cursor itself: with a reader that stops early it would be closed,
                # perhaps after its store.
                yield from (row for row in cursor)

        return [column[0] for column in cursor.description], rows()

    def played(self, cell: int) -> dict[str, np.ndarray]:
        """Return the complete episodes of a cell as flat arrays, in order of episode and step.

        Keys: ``which`` and ``lengths`` per episode; ``own``, ``partner``, ``predicted`` and
        ``own_reward`` per step.
        """
        episodes = self.query(
            "SELECT partner, steps FROM episodes WHERE cell = ? AND status = ? ORDER BY episode",
            (cell, COMPLETE),
        )
        try:
            lengths = np.array([row[1] for row in episodes], dtype=np.int64)
            which = np.array([row[0] for row in episodes], dtype=np.int64)
        except (TypeError, ValueError) as error:
            raise self.damaged(error) from None
        with self._reporting():
            cursor = self._db.execute(
                "SELECT own_action, partner_action, predicted_action, own_reward FROM steps "
                "JOIN episodes USING (cell, episode) WHERE cell = ? AND status = ? "
                "ORDER BY cell, episode, step",
                (cell, COMPLETE),
            )
            try:
                flat = np.fromiter(chain.from_iterable(cursor), np.float64, 4 * int(lengths.sum()))
            except (TypeError, ValueError) as error:
                raise self.damaged(error) from None
            rest = cursor.fetchone()
        table = flat.reshape(-1, 4)
        if rest is not None or not np.isfinite(table).all():
            raise self.damaged("the steps of a complete episode are not complete")
        extra = self._reactions(cell) if self.has_reactions else {}
        return extra | {
            "which": which,
            "lengths": lengths,
            "own": table[:, 0].astype(np.int64),
            "partner": table[:, 1].astype(np.int64),
            "predicted": table[:, 2].astype(np.int64),
            "own_reward": table[:, 3].copy(),
        }

    def _reactions(self, cell: int) -> dict[str, Any]:
        """Return the conditional probe's answers and the partner's states, where it was asked."""
        rows = self.query(
            "SELECT reactions, partner_state FROM steps JOIN episodes USING (cell, episode) "
            "WHERE cell = ? AND status = ? ORDER BY cell, episode, step",
            (cell, COMPLETE),
        )
        stated = [json.loads(row[0]) if row[0] else None for row in rows]
        size = next((len(row) for row in stated if row is not None), 0)
        if size == 0:
            return {}
        table = [row if row is not None else [NONE] * size for row in stated]
        return {
            "reactions": np.array(table, dtype=np.int64),
            "partner_state": np.array([row[1] for row in rows], dtype=np.int64),
        }

    @cached_property
    def has_reactions(self) -> bool:
        """Whether any step of the run was asked the conditional probe."""
        return bool(self.query("SELECT 1 FROM steps WHERE reactions IS NOT NULL LIMIT 1"))

    def usage(self) -> dict[int, dict[str, float]]:
        """Return per cell the model calls, their tokens, and their cost where prices were given."""
        fields = ("usage.prompt", "usage.completion", "usage.cached", "details.cost")
        sums = ", ".join(
            f"SUM(COALESCE(json_extract(record, '$.reply.{f}'), "
            f"json_extract(record, '$.scores.{f}')))"
            for f in fields
        )
        rows = self.query(f"SELECT cell, COUNT(*), {sums} FROM calls GROUP BY cell")
        names = ["calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cost"]
        if all(row[-1] is None for row in rows):
            names.pop()
        return {row[0]: {n: v or 0 for n, v in zip(names, row[1:], strict=False)} for row in rows}

    def outcomes(self) -> dict[int, dict[str, int]]:
        """Return per cell how many answers were invalid in each way, voided episodes included."""
        counts: dict[int, dict[str, int]] = {}
        for form in ("act_outcome", "predict_outcome"):
            for cell, outcome, count in self.query(
                f"SELECT cell, {form}, COUNT(*) FROM steps GROUP BY cell, {form}"
            ):
                row = counts.setdefault(cell, dict.fromkeys(INVALID_REASONS, 0))
                if outcome in row:
                    row[outcome] += count
        return counts

    def low_mass(self) -> tuple[int, int]:
        """Return how many scored answers gave the labels little probability, and how many were."""
        low = "json_extract({0}_details, '$.low_mass') IS NOT NULL"
        scored = "json_extract({0}_details, '$.mass') IS NOT NULL"
        sums = [
            f"SUM({what.format('act')}) + SUM({what.format('predict')})" for what in (low, scored)
        ]
        row = self.query(f"SELECT {', '.join(sums)} FROM steps")[0]
        return row[0] or 0, row[1] or 0

    def invalid_rates(self) -> dict[int, float]:
        """Return per cell the share of answers, voided episodes included, that were invalid.

        A backend error is no answer.
        """
        asked = {
            cell: 2 * count
            for cell, count in self.query("SELECT cell, COUNT(*) FROM steps GROUP BY cell")
        }
        bad = dict.fromkeys(asked, 0)
        # Nearly all answers are valid: counting the others is far cheaper than judging every one.
        for cell, act, predict, count in self.query(
            "SELECT cell, act_outcome, predict_outcome, COUNT(*) FROM steps "
            f"WHERE act_outcome != '{VALID}' OR predict_outcome != '{VALID}' "
            "GROUP BY cell, act_outcome, predict_outcome"
        ):
            for outcome in (act, predict):
                if outcome in ("not_asked", "backend_error"):
                    asked[cell] -= count
                elif outcome != VALID:
                    bad[cell] += count
        return {cell: bad[cell] / asked[cell] for cell in asked if asked[cell]}


def _reading_mode(path: Path) -> str:
    """Return how to open a store for reading.

    A store in WAL mode needs files beside it while it is open, which a read-only folder refuses; a
    finished one without a log can be read as it is.
    """
    finished = not path.with_name(f"{path.name}-wal").exists()
    return "mode=ro&immutable=1" if finished and not os.access(path.parent, os.W_OK) else "mode=ro"


def _rows(cell: int, steps: Steps, rewards: tuple[np.ndarray, np.ndarray]) -> list[tuple[Any, ...]]:
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
            [cell] * (count * length),
            np.repeat(steps.episodes, length).tolist(),
            list(range(1, length + 1)) * count,
            steps.partner_state.ravel().tolist(),
            optional(steps.own_action),
            steps.partner_action.ravel().tolist(),
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
