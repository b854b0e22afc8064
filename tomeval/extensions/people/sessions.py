"""Who takes part in a study: a small database beside the run, without anything personal.

A session is one participant's place: a random name, a cell and an episode of it. What was played
is in the run's store alone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tomeval.core.errors import TomevalError

NAME = "study.sqlite"
TIMED_OUT, WITHDRAWN = "timed out", "withdrawn"

_SQL = """
CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sessions (participant TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE,
    who TEXT NOT NULL, cell INTEGER NOT NULL, episode INTEGER NOT NULL,
    begun INTEGER NOT NULL, seen INTEGER NOT NULL, started INTEGER NOT NULL DEFAULT 0,
    ended TEXT NOT NULL DEFAULT '', UNIQUE (cell, episode));
PRAGMA user_version = 1
"""
_COLUMNS = "participant, cell, episode, seen, started, ended"


@dataclass(frozen=True)
class Session:
    """One participant's place.

    Attributes
    ----------
    participant : str
        A random name; nothing links it to a person.
    cell, episode : int
        What is played.
    seen : int
        When something last came from the participant, in seconds since 1970.
    started : bool
        Whether the instructions were left behind.
    ended : str
        Why the session is over before its end: timed out, withdrawn; else empty.
    """

    participant: str
    cell: int
    episode: int
    seen: int
    started: bool
    ended: str


class Sessions:
    """The sessions of a study, in a file of the run folder.

    Raises
    ------
    TomevalError
        The file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        with self._reporting():
            self._db = sqlite3.connect(self._path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            if self._db.execute("PRAGMA user_version").fetchone()[0] == 0:
                key = secrets.token_hex(32)
                self._db.executescript(f"BEGIN; {_SQL};")
                self._db.execute("INSERT INTO secrets VALUES ('key', ?)", (key,))
                self._db.execute("COMMIT")
            sql = "SELECT value FROM secrets WHERE name = 'key'"
            self._key = bytes.fromhex(self._db.execute(sql).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise TomevalError(f"{self._path}: {error}") from None

    def nonce(self, now: int) -> str:
        """Return a new number for a page that may begin a session: nobody else can make one."""
        number = f"{secrets.token_hex(16)}-{now:x}"
        return f"{number}-{self._keyed('page', number)[:32]}"

    def made(self, nonce: str) -> int | None:
        """Return when a number of `nonce` was made, in seconds since 1970; None: it was not."""
        number, _, proof = nonce.rpartition("-")
        if not hmac.compare_digest(self._keyed("page", number)[:32].encode(), proof.encode()):
            return None
        return int(number.rpartition("-")[2], 16)

    def token(self, nonce: str) -> str:
        """Return the token of the session that a page with this number begins: always the same."""
        return self._keyed("token", nonce)[:32]

    def hashed(self, who: str) -> str:
        """Return a keyed hash of a recruiting platform's ID; empty without one."""
        return self._keyed("who", who) if who else ""

    def _keyed(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose} {text}".encode(), hashlib.sha256).hexdigest()

    def find(self, token: str) -> Session | None:
        """Return the session of a token; only a hash of it is kept."""
        return self._one("token = ?", _hash(token))

    def known(self, who: str) -> bool:
        """Tell whether a hashed ID has a session already."""
        return who != "" and self._one("who = ?", who) is not None

    def _one(self, where: str, value: str) -> Session | None:
        with self._reporting():
            sql = f"SELECT {_COLUMNS} FROM sessions WHERE {where}"
            row = self._db.execute(sql, (value,)).fetchone()
        return None if row is None else _session(row)

    def all(self) -> list[Session]:
        """Return all sessions, in the order of their beginning."""
        with self._reporting():
            sql = f"SELECT {_COLUMNS} FROM sessions ORDER BY rowid"
            return [_session(row) for row in self._db.execute(sql)]

    def begin(self, token: str, who: str, cell: int, episode: int, now: int) -> Session:
        """Give a participant a place."""
        name = f"p{secrets.token_hex(4)}"
        with self._reporting():
            self._db.execute(
                "INSERT INTO sessions (participant, token, who, cell, episode, begun, seen) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, _hash(token), who, cell, episode, now, now),
            )
        return Session(name, cell, episode, now, False, "")

    def note(self, session: Session, now: int, *, started: bool = False, ended: str = "") -> None:
        """Note that something came from a participant, and what changes by it."""
        with self._reporting():
            self._db.execute(
                "UPDATE sessions SET seen = ?, started = MAX(started, ?), "
                "ended = CASE ended WHEN '' THEN ? ELSE ended END WHERE participant = ?",
                (now, int(started), ended, session.participant),
            )


def _session(row: tuple[str, int, int, int, int, str]) -> Session:
    participant, cell, episode, seen, started, ended = row
    return Session(participant, cell, episode, seen, bool(started), ended)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
