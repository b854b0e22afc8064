"""The store of a Decrypto run: pairings, games, turns, probes, model calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.domains.decrypto.game import Code
from tomeval.domains.decrypto.play import PlayedGame
from tomeval.domains.decrypto.seats import ROLES
from tomeval.runs.store import Store

STORE = "decrypto.sqlite"
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
    cell INTEGER PRIMARY KEY,
    encoder TEXT NOT NULL, decoder TEXT NOT NULL, interceptor TEXT NOT NULL,
    records TEXT NOT NULL, seed INTEGER NOT NULL, definition TEXT NOT NULL
);
CREATE TABLE revisions (model TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE games (
    cell INTEGER NOT NULL REFERENCES cells, game INTEGER NOT NULL,
    status TEXT NOT NULL, outcome TEXT, turns INTEGER NOT NULL, keywords TEXT NOT NULL,
    PRIMARY KEY (cell, game)
) WITHOUT ROWID;
CREATE TABLE turns (
    cell INTEGER NOT NULL, game INTEGER NOT NULL, turn INTEGER NOT NULL,
    code INTEGER NOT NULL, hints TEXT, bob INTEGER, eve INTEGER,
    encoder_outcome TEXT NOT NULL, decoder_outcome TEXT NOT NULL, interceptor_outcome TEXT NOT NULL,
    encoder_attempts INTEGER NOT NULL, decoder_attempts INTEGER NOT NULL,
    interceptor_attempts INTEGER NOT NULL,
    told INTEGER NOT NULL, best REAL, details TEXT,
    PRIMARY KEY (cell, game, turn)
) WITHOUT ROWID;
CREATE TABLE probes (
    cell INTEGER NOT NULL, game INTEGER NOT NULL, turn INTEGER NOT NULL, question TEXT NOT NULL,
    outcome TEXT NOT NULL, value TEXT, attempts INTEGER NOT NULL, raw TEXT NOT NULL,
    PRIMARY KEY (cell, game, turn, question)
) WITHOUT ROWID;
CREATE TABLE calls (
    cell INTEGER NOT NULL, game INTEGER NOT NULL, call INTEGER NOT NULL,
    turn INTEGER NOT NULL, role TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (cell, game, call)
) WITHOUT ROWID;
CREATE TABLE answered (
    cell INTEGER NOT NULL, game INTEGER NOT NULL, role TEXT NOT NULL, request TEXT NOT NULL,
    reply TEXT NOT NULL,
    PRIMARY KEY (cell, game, role, request)
) WITHOUT ROWID;
CREATE VIEW turn_records AS
SELECT c.encoder, c.decoder, c.interceptor, c.records, c.seed,
       json_extract(c.definition, '$.players.encoder.model') AS encoder_model,
       json_extract(c.definition, '$.players.decoder.model') AS decoder_model,
       json_extract(c.definition, '$.players.interceptor.model') AS interceptor_model,
       json_extract(c.definition, '$.templates') AS templates_sha256,
       t.cell, t.game, g.status, g.outcome, g.keywords, t.turn, t.code, t.hints, t.bob, t.eve,
       t.bob != t.code AS miscommunication, t.eve = t.code AS interception,
       t.encoder_outcome, t.decoder_outcome, t.interceptor_outcome,
       t.encoder_attempts, t.decoder_attempts, t.interceptor_attempts, t.told, t.best,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'eve') AS predicted_eve,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'eve_reminded') AS predicted_eve_reminded,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'bob') AS predicted_bob,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'keywords') AS believed_keywords,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'own_belief') AS own_belief,
       (SELECT value FROM probes p WHERE p.cell = t.cell AND p.game = t.game AND p.turn = t.turn
        AND p.question = 'other_belief') AS other_belief,
       t.details
FROM turns t JOIN games g USING (cell, game) JOIN cells c USING (cell);
"""

_TABLES = ("turns", "probes", "calls", "games")


class GameStore(Store):
    """The SQLite store of one Decrypto run; see `tomeval.runs.store.Store`."""

    file = STORE
    schema = _SCHEMA
    version = SCHEMA_VERSION

    def begin(self, identity: Mapping[str, Any], sha256: str) -> None:
        """Write the cells of a new run, once."""
        with self._reporting(), self._transaction():
            self._db.execute("INSERT INTO meta VALUES ('sha256', ?)", (json.dumps(sha256),))
            self._db.execute("INSERT INTO meta VALUES ('name', ?)", (json.dumps(identity["name"]),))
            for number, cell in enumerate(identity["cells"]):
                names = [cell["players"][role]["name"] for role in ROLES]
                row = (number, *names, cell["records"], cell["seed"], json.dumps(cell))
                self._db.execute("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def add_games(self, cell: int, games: Sequence[PlayedGame]) -> None:
        """Write games of a cell, all in one transaction."""
        keys = [(cell, game.index) for game in games]
        done = [(cell, game.index) for game in games if game.status != FAILED]
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _TABLES}
        for game in games:
            for name, found in _rows(cell, game).items():
                rows[name] += found
        with self._reporting(), self._transaction():
            for name in _TABLES:  # of an earlier, failed try
                self._db.executemany(f"DELETE FROM {name} WHERE cell = ? AND game = ?", keys)
                if rows[name]:
                    marks = ",".join("?" * len(rows[name][0]))
                    self._db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
            self._db.executemany("DELETE FROM answered WHERE cell = ? AND game = ?", done)

    def check_revision(self, model: str, revision: str) -> None:
        """Note which revision of a model is used; another one later is refused."""
        with self._reporting(), self._transaction():
            row = self._db.execute(
                "SELECT revision FROM revisions WHERE model = ?", (model,)
            ).fetchone()
            if row is not None and row[0] != revision:
                raise TomevalError(
                    f"{self.path}: {model} was used at revision {row[0] or 'unknown'}, it now is "
                    f"{revision or 'of unknown revision'}; use another folder"
                )
            if row is None:
                self._db.execute("INSERT INTO revisions VALUES (?, ?)", (model, revision))

    def keep_answer(self, cell: int, game: int, role: str, request: str, reply: str) -> None:
        """Keep a reply of a game that is not finished, so that it is never asked for again."""
        with self._reporting():
            self._db.execute(
                "INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?)",
                (cell, game, role, request, reply),
            )

    def kept_answers(self, cell: int, game: int, role: str) -> dict[str, str]:
        """Return the replies kept of a seat in an unfinished game, by request."""
        return dict(
            self.query(
                "SELECT request, reply FROM answered WHERE cell = ? AND game = ? AND role = ?",
                (cell, game, role),
            )
        )

    def finished(self) -> dict[int, set[int]]:
        """Return the games that need not be played, void ones included, by cell."""
        done: dict[int, set[int]] = {}
        for cell, game in self.query("SELECT cell, game FROM games WHERE status != ?", (FAILED,)):
            done.setdefault(cell, set()).add(game)
        return done

    def failed(self) -> int:
        """Return how many games got no reply and wait to be played again."""
        rows = self.query("SELECT COUNT(*) FROM games WHERE status = ?", (FAILED,))
        return int(rows[0][0])

    def calls(self, cell: int, game: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield turn, role and record of every model call of a game."""
        for turn, role, record in self.query(
            "SELECT turn, role, record FROM calls WHERE cell = ? AND game = ? ORDER BY call",
            (cell, game),
        ):
            yield turn, role, json.loads(record)

    def call_totals(self) -> dict[str, int]:
        """Return model calls and tokens of the whole run."""
        fields = ("prompt", "completion", "cached")
        sums = ", ".join(f"SUM(json_extract(record, '$.reply.usage.{f}'))" for f in fields)
        row = self.query(f"SELECT COUNT(*), {sums} FROM calls")[0]
        names = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens")
        return {name: value or 0 for name, value in zip(names, row, strict=True)}


def _rows(cell: int, game: PlayedGame) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of one game, by table."""
    place = (cell, game.index)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _TABLES}
    rows["games"].append(
        (*place, game.status, game.outcome, len(game.turns), json.dumps(game.deal.keywords))
    )
    for turn in game.turns:
        rows["turns"].append(
            (
                *place,
                turn.number,
                code_number(turn.code),
                None if turn.hints is None else json.dumps(turn.hints, ensure_ascii=False),
                code_number(turn.bob),
                code_number(turn.eve),
                *(turn.outcomes[role] for role in ROLES),
                *(turn.attempts[role] for role in ROLES),
                int(turn.told),
                turn.best,
                json.dumps(turn.details, ensure_ascii=False) if turn.details else None,
            )
        )
        for probed in turn.probes:
            value = None if probed.value is None else json.dumps(probed.value, ensure_ascii=False)
            rows["probes"].append(
                (
                    *place,
                    turn.number,
                    probed.question,
                    probed.outcome,
                    value,
                    probed.attempts,
                    probed.raw,
                )
            )
    for number, (turn_number, role, record) in enumerate(game.calls):
        rows["calls"].append((*place, number, turn_number, role, json.dumps(record)))
    return rows


def code_number(code: Code | None) -> int | None:
    """Return a code as a number of three digits.

    Examples
    --------
    >>> code_number((2, 4, 1)), number_code(241)
    (241, (2, 4, 1))
    """
    return None if code is None else 100 * code[0] + 10 * code[1] + code[2]


def number_code(number: int) -> Code:
    """Return the code that `code_number` stores as `number`."""
    return number // 100, number // 10 % 10, number % 10


def optional(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return numbers as floats, None as NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
