"""Read a Decrypto run: its pairings, their games, and the tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import COMPLETE, NOT_ASKED, VALID
from tomeval.domains.decrypto.measures import NONE, Beliefs, Played, pool
from tomeval.domains.decrypto.play import RECORDED
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS, ROLES
from tomeval.domains.decrypto.store import GameStore, code_number, optional
from tomeval.domains.decrypto.tables import TABLES, Row


class Pairing:
    """One pairing of a run, over all its seeds."""

    def __init__(self, store: GameStore, cells: Sequence[tuple[int, dict[str, Any]]]) -> None:
        self._store = store
        self.cells = list(cells)
        definition = cells[0][1]
        self.names: dict[str, str] = {role: definition["players"][role]["name"] for role in ROLES}
        self.definition = definition

    @cached_property
    def played(self) -> Played:
        """The complete games of all seeds."""
        return pool([self._cell(number, data["seed"]) for number, data in self.cells])

    def _cell(self, cell: int, seed: int) -> Played:
        games = self._store.query(
            "SELECT game, outcome, turns, keywords FROM games WHERE cell = ? AND status = ? "
            "ORDER BY game",
            (cell, COMPLETE),
        )
        place = {row[0]: index for index, row in enumerate(games)}
        rows = self._store.query(
            "SELECT t.game, t.turn, t.code, t.bob, t.eve, t.encoder_outcome, t.decoder_outcome, "
            "t.interceptor_outcome, t.best, "
            "json_extract(t.details, '$.encoder.given') IS NOT NULL, "
            "json_extract(t.details, '$.record.bob'), json_extract(t.details, '$.record.eve') "
            "FROM turns t "
            "JOIN games g USING (cell, game) WHERE cell = ? AND status = ? ORDER BY game, turn",
            (cell, COMPLETE),
        )
        if len(rows) != sum(row[2] for row in games):
            raise self._store.damaged("the turns of a complete game are not complete")
        columns = list(zip(*rows, strict=True)) if rows else [()] * 12
        try:
            whole = [np.array(column, dtype=np.int64) for column in columns[1:5]]
        except (TypeError, ValueError) as error:
            raise self._store.damaged(error) from None
        at = {(row[0], row[1]): index for index, row in enumerate(rows)}
        predicted, beliefs = self._probes(cell, at)
        own = [
            outcome == VALID and not given
            for outcome, given in zip(columns[5], columns[9], strict=True)
        ]
        heard = (VALID, RECORDED)
        code, bob, eve = whole[1:]
        return Played(
            outcomes=[row[1] for row in games],
            clusters=np.array([f"{seed} {row[0]}" for row in games], dtype=np.str_),
            game=np.array([place[row[0]] for row in rows], dtype=np.int64),
            turn=whole[0],
            code=code,
            bob=bob,
            eve=eve,
            own=np.array(own, dtype=bool),
            guessed={
                "bob": np.array([outcome in heard for outcome in columns[6]], dtype=bool),
                "eve": np.array([outcome in heard for outcome in columns[7]], dtype=bool),
            },
            predicted=predicted,
            beliefs=beliefs,
            keywords=[tuple(json.loads(row[3])) for row in games],
            best=optional(columns[8]),
            recorded=_recorded(columns[10:]) if self.definition["records"] else {},
            replayed=bool(self.definition["records"]),
        )

    def _probes(
        self, cell: int, at: dict[tuple[int, int], int]
    ) -> tuple[dict[str, np.ndarray[Any, np.dtype[np.int64]]], dict[int, Beliefs]]:
        """Return Alice's predictions and Eve's beliefs, by the turn's position."""
        predicted = {q: np.full(len(at), NONE, dtype=np.int64) for q in ENCODER_QUESTIONS}
        said: dict[int, dict[str, tuple[str, ...] | None]] = {}
        for game, turn, question, value in self._store.query(
            "SELECT game, turn, question, value FROM probes WHERE cell = ?", (cell,)
        ):
            place = at.get((game, turn))
            if place is None:  # of a game that is not complete
                continue
            answer = None if value is None else tuple(json.loads(value))
            if question not in predicted:
                said.setdefault(place, {})[question] = answer
            elif answer is not None:
                predicted[question][place] = code_number(answer) or NONE
        beliefs = {
            place: Beliefs(*(answers.get(q) for q in ("keywords", "own_belief", "other_belief")))
            for place, answers in said.items()
        }
        return predicted, beliefs


def _recorded(columns: Sequence[Sequence[str]]) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the record's guesses from their JSON."""
    return {
        key: np.array([code_number(json.loads(code)) for code in column], dtype=np.int64)
        for key, column in zip(("bob", "eve"), columns, strict=True)
    }


class Run:
    """A run folder of Decrypto, read-only.

    Parameters
    ----------
    folder : path
        What ``tomeval decrypto run`` wrote.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.store = GameStore(self.folder)

    def __enter__(self) -> Run:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.store.close()

    @cached_property
    def pairings(self) -> list[Pairing]:
        """The pairings, in the experiment's order; each over all seeds."""
        found: dict[tuple[str, ...], list[tuple[int, dict[str, Any]]]] = {}
        try:
            for number, data in self.store.cells():
                names = tuple(data["players"][role]["name"] for role in ROLES)
                found.setdefault(names, []).append((number, data))
        except (KeyError, TypeError) as error:
            raise self.store.damaged(f"a pairing's definition: {error!r}") from None
        return [Pairing(self.store, cells) for cells in found.values()]

    def rows(self, what: str = "outcomes", by: Sequence[str] = ROLES) -> list[Row]:
        """Return a table as one dict per row, at full precision.

        Parameters
        ----------
        what : {"outcomes", "perspective", "beliefs", "functional", "turns"}
            See `TABLES`.
        by : sequence of str
            Roles that tell rows apart; pairings that agree in them are taken together.
        """
        if what not in TABLES:
            raise unknown("table", what, TABLES)
        for role in by:
            if role not in ROLES:
                raise unknown("role", role, ROLES)
        if not by:
            raise TomevalError("by: name at least one role")
        counts = self._counts()
        groups: dict[tuple[str, ...], list[Pairing]] = {}
        for pairing in self.pairings:
            groups.setdefault(tuple(pairing.names[role] for role in by), []).append(pairing)
        result = []
        for names, pairings in groups.items():
            head = dict(zip(by, names, strict=True))
            played = pool([pairing.played for pairing in pairings])
            cells = [number for pairing in pairings for number, _ in pairing.cells]
            result += [{**head, **row} for row in TABLES[what](played, _sum(counts, cells))]
        return result

    def _counts(self) -> dict[int, dict[str, int]]:
        """Return per cell how many games are void or failed, and how many answers invalid."""
        counts: dict[int, dict[str, int]] = {}
        for cell, status, count in self.store.query(
            "SELECT cell, status, COUNT(*) FROM games GROUP BY cell, status"
        ):
            counts.setdefault(cell, {})[status] = count
        fine = f"('{NOT_ASKED}', '{RECORDED}', 'backend_error')"
        for role in ROLES:
            for cell, asked, bad in self.store.query(
                f"SELECT cell, COUNT(*), SUM({role}_outcome != '{VALID}') FROM turns "
                f"WHERE {role}_outcome NOT IN {fine} GROUP BY cell"
            ):
                row = counts.setdefault(cell, {})
                row["asked"] = row.get("asked", 0) + asked
                row["invalid"] = row.get("invalid", 0) + bad
        for cell, asked, bad in self.store.query(
            f"SELECT cell, COUNT(*), SUM(outcome != '{VALID}') FROM probes "
            "WHERE outcome != 'backend_error' GROUP BY cell"
        ):
            counts.setdefault(cell, {}).update(probes_asked=asked, probes_invalid=bad)
        return counts


def _sum(counts: dict[int, dict[str, int]], cells: Sequence[int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for cell in cells:
        for key, count in counts.get(cell, {}).items():
            total[key] = total.get(key, 0) + count
    return total
