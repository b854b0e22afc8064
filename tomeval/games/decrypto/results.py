"""A pairing of a Decrypto run: its complete games, read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.once import held, once_each
from tomeval.core.outcomes import VALID
from tomeval.games.decrypto.game import Rules
from tomeval.games.decrypto.llm_options import seat_strategy
from tomeval.games.decrypto.planting import planted_of
from tomeval.games.decrypto.played import LISTENERS, NONE, Bools, Ints, Played, Texts
from tomeval.games.decrypto.probes import comparable
from tomeval.games.decrypto.seats import ENCODER_QUESTIONS, INTERCEPTOR_QUESTIONS, ROLES
from tomeval.games.decrypto.storing import code_number, number_code
from tomeval.games.replays import RECORDED
from tomeval.runs.cell import RunCell
from tomeval.runs.outside import readers
from tomeval.runs.results import Run
from tomeval.runs.store import Store


class DecryptoRunCell(RunCell):
    """One pairing at one seed."""

    @held
    def played(self) -> Played:
        """The complete games."""
        replayed = bool(self.definition["records"])
        played = read_played(self.store, self.number, self.seed, replayed)
        more = readers(self.store, self.number, self.definition)
        return replace(played, more=more)

    def turns(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return columns of the turns of all complete games, in order; see `Store.read`."""
        return list(self.store.read("steps", columns, self.number, complete=True))

    def judged(self) -> Mapping[str, Sequence[Any]]:
        """Return whether Alice predicted Eve's guess, as ``tom_eve_percent`` counts it."""
        played = self.played
        predicted, guessed = played.predicted["eve"], played.eve
        among = (predicted != NONE) & played.guessed["eve"]
        return {"correct": np.where(among, predicted == guessed, np.nan).tolist()}

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

    @property
    def own_model(self) -> str:
        """That of the encoder."""
        return self.models.get(ROLES[0], "")

    @property
    def name(self) -> str:
        """Who plays."""
        return ", ".join(self.seated.values())


def by_seats(
    run: Run, roles: Sequence[str] = ROLES
) -> dict[tuple[str, ...], list[DecryptoRunCell]]:
    """Return a run's cells by who sits in some seats, in the experiment's order."""
    cells: dict[tuple[str, ...], list[DecryptoRunCell]] = {}
    for cell in run.cells:
        assert isinstance(cell, DecryptoRunCell)
        cells.setdefault(tuple(cell.seated[role] for role in roles), []).append(cell)
    return cells


@once_each
def has_beliefs(store: Store) -> bool:
    """Tell whether the strategy of any Alice has beliefs planted, whatever came of them."""
    return any(_believes(definition["players"]["encoder"]) for _, definition in store.cells())


def _believes(player: Mapping[str, Any]) -> bool:
    if not player.get("model"):
        return False
    strategy = seat_strategy(player["options"].get("strategy", "QA"), "encoder")
    return strategy.part.belief is not None


_TURN: tuple[str, ...] = ("episode", "step", "code", "bob", "eve", "best", "hints")
_TURN += (*(f"{role}_outcome" for role in ROLES), "details")


def read_played(store: Store, cell: int, seed: int, replayed: bool) -> Played:
    """Return the complete games of a cell."""
    columns = ("episode", "outcome", "steps", "keywords")
    games = list(store.read("episodes", columns, cell, complete=True))
    row_of = {row[0]: index for index, row in enumerate(games)}
    rows = list(store.read("steps", _TURN, cell, complete=True))
    if len(rows) != sum(row[2] for row in games):
        raise store.damaged("a complete game lacks turns")
    turns = (
        dict(zip(_TURN, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(_TURN, ())
    )
    try:
        code, bob, eve, turn = (
            np.array(turns[name], dtype=np.int64) for name in ("code", "bob", "eve", "step")
        )
    except (TypeError, ValueError) as error:
        raise store.damaged(error) from None
    at = {(row[0], row[1]): index for index, row in enumerate(rows)}
    predicted, believed = _probes(store, cell, at)
    details = [facts or {} for facts in turns["details"]]
    alice = [facts.get("encoder", {}) for facts in details]
    try:
        planted = planted_of(alice, turns["hints"], list(map(number_code, code.tolist())))
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"Alice's planted beliefs: {error!r}") from None
    game = np.array([row_of[episode] for episode in turns["episode"]], dtype=np.int64)
    keywords = np.array([comparable(row[3]) for row in games], dtype=np.str_)

    def said(role: str, *outcomes: str) -> Bools:
        return np.isin(np.array(turns[f"{role}_outcome"], dtype=np.str_), outcomes)

    return Played(
        outcomes=[row[1] for row in games],
        clusters=np.array([f"{seed} {row[0]}" for row in games], dtype=np.str_),
        game=game,
        turn=turn,
        code=code,
        bob=bob,
        eve=eve,
        own=said("encoder", VALID)
        & np.array([not facts.get("given") for facts in alice], dtype=bool),
        guessed={
            "bob": said("decoder", VALID, RECORDED),
            "eve": said("interceptor", VALID, RECORDED),
        },
        predicted=predicted,
        believed=believed,
        keywords=keywords[game],
        best=np.array(turns["best"], dtype=np.float64),  # None becomes NaN
        recorded=_recorded([facts["record"] for facts in details]) if replayed else {},
        planted=planted,
    )


def _probes(
    store: Store, cell: int, at: dict[tuple[int, int], int]
) -> tuple[dict[str, Ints], dict[str, Texts]]:
    """Return Alice's predictions and Eve's beliefs, by the turn's position."""
    predicted = {q: np.full(len(at), NONE, dtype=np.int64) for q in ENCODER_QUESTIONS}
    believed = {q: [""] * len(at) for q in INTERCEPTOR_QUESTIONS}
    columns = ("episode", "step", "question", "value")
    for game, turn, question, value in store.read("answers", columns, cell, complete=True):
        if value is None:
            continue
        row, answer = at[game, turn], value
        if question in predicted:
            predicted[question][row] = code_number(tuple(answer)) or NONE
        else:
            believed[question][row] = comparable(answer)
    return predicted, {q: np.array(texts, dtype=np.str_) for q, texts in believed.items()}


def _recorded(turns: Sequence[dict[str, Any]]) -> dict[str, Ints]:
    """Return the record's guesses, which every turn of a replay keeps."""
    return {
        key: np.array([code_number(turn[key]) for turn in turns], np.int64) for key in LISTENERS
    }
