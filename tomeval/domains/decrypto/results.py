"""A pairing of a Decrypto run: its complete games, read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.domains.decrypto.game import Rules
from tomeval.domains.decrypto.play import RECORDED
from tomeval.domains.decrypto.played import NONE, Beliefs, Ints, Played, pool
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS, INTERCEPTOR_QUESTIONS, ROLES
from tomeval.domains.decrypto.storing import code_number
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.runs.store import Store


class DecryptoRunCell(RunCell):
    """One pairing at one seed."""

    @cached_property
    def played(self) -> Played:
        """The complete games."""
        return read_played(self._store, self.number, self.seed, bool(self.definition["records"]))

    @property
    def seated(self) -> dict[str, str]:
        """Who sits where."""
        return {role: str(self.columns[role]) for role in ROLES}

    @property
    def facts(self) -> dict[str, Any]:
        """The columns, and what else pairings must agree in to be compared."""
        data = self.definition
        rules = Rules(**data["rules"])
        words = f"{rules.turns} turns, {rules.miscommunications} + {rules.interceptions}"
        more = {
            "rules": words + (", no repeats" if rules.no_repeat_hints else ""),
            "words": data["words"][:8],
            "records": data["records"][:8],
        }
        return super().facts | more

    @property
    def models(self) -> dict[str, str]:
        """Names of the language models by role."""
        players = self.definition["players"]
        return {role: players[role]["model"] for role in ROLES if players[role].get("model")}

    def moves(self, episode: int) -> dict[str, list[Any]]:
        """Return hints, codes and guesses turn by turn."""
        rows = self._store.query(
            "SELECT hints, code, bob, eve FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
            (self.number, episode),
        )
        hints = [None if row[0] is None else ", ".join(json.loads(row[0])) for row in rows]
        names = ("code", "bob", "eve")
        return {"hints": hints} | {n: [row[i] for row in rows] for i, n in enumerate(names, 1)}

    @property
    def name(self) -> str:
        """Who plays."""
        return ", ".join(self.seated.values())


class Pairing:
    """One pairing of a run, over all its seeds."""

    def __init__(self, cells: Sequence[DecryptoRunCell]) -> None:
        self.cells = list(cells)
        self.names = cells[0].seated

    @cached_property
    def played(self) -> Played:
        """The complete games of all seeds."""
        return pool([cell.played for cell in self.cells])


def pairings(run: Run) -> list[Pairing]:
    """Return a run's pairings, in the experiment's order; each over all seeds."""
    found: dict[tuple[str, ...], list[DecryptoRunCell]] = {}
    for cell in run.cells:
        assert isinstance(cell, DecryptoRunCell)
        found.setdefault(tuple(cell.seated.values()), []).append(cell)
    return [Pairing(cells) for cells in found.values()]


def read_played(store: Store, cell: int, seed: int, replayed: bool) -> Played:
    """Return the complete games of a cell."""
    games = store.query(
        "SELECT episode, outcome, steps, keywords FROM episodes WHERE cell = ? AND status = ? "
        "ORDER BY episode",
        (cell, COMPLETE),
    )
    place = {row[0]: index for index, row in enumerate(games)}
    rows = store.query(
        "SELECT t.episode, t.step, t.code, t.bob, t.eve, t.encoder_outcome, t.decoder_outcome, "
        "t.interceptor_outcome, t.best, "
        "json_extract(t.details, '$.encoder.given') IS NOT NULL, "
        "json_extract(t.details, '$.record.bob'), json_extract(t.details, '$.record.eve') "
        "FROM steps t "
        "JOIN episodes USING (cell, episode) WHERE cell = ? AND status = ? "
        "ORDER BY episode, step",
        (cell, COMPLETE),
    )
    if len(rows) != sum(row[2] for row in games):
        raise store.damaged("the turns of a complete game are not complete")
    columns = list(zip(*rows, strict=True)) if rows else [()] * 12
    try:
        whole = [np.array(column, dtype=np.int64) for column in columns[1:5]]
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    at = {(row[0], row[1]): index for index, row in enumerate(rows)}
    predicted, beliefs = _probes(store, cell, at)
    own = [said == VALID and not given for said, given in zip(columns[5], columns[9], strict=True)]
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
        best=np.array(columns[8], dtype=np.float64),  # None becomes NaN
        recorded=_recorded(columns[10:]) if replayed else {},
        replayed=replayed,
    )


def _probes(
    store: Store, cell: int, at: dict[tuple[int, int], int]
) -> tuple[dict[str, Ints], dict[int, Beliefs]]:
    """Return Alice's predictions and Eve's beliefs, by the turn's position."""
    predicted = {q: np.full(len(at), NONE, dtype=np.int64) for q in ENCODER_QUESTIONS}
    said: dict[int, dict[str, tuple[str, ...] | None]] = {}
    for game, turn, question, value in store.query(
        "SELECT episode, step, question, value FROM answers WHERE cell = ?", (cell,)
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
        place: Beliefs(*(answers.get(q) for q in INTERCEPTOR_QUESTIONS))
        for place, answers in said.items()
    }
    return predicted, beliefs


def _recorded(columns: Sequence[Sequence[str]]) -> dict[str, Ints]:
    """Return the record's guesses from their JSON."""
    return {
        key: np.array([code_number(json.loads(code)) for code in column], dtype=np.int64)
        for key, column in zip(("bob", "eve"), columns, strict=True)
    }
