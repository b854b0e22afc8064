"""A pairing of a Decrypto run: its complete games, read back, for measures and for readers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.once import held, once_each
from tomeval.core.outcomes import VALID
from tomeval.games.decrypto.game import ENDINGS, Deal, Game, Rules
from tomeval.games.decrypto.llm import spec_for
from tomeval.games.decrypto.measures import scores
from tomeval.games.decrypto.played import LISTENERS, NONE, Bools, Ints, Played, Texts, planted_of
from tomeval.games.decrypto.seats import (
    ENCODER_QUESTIONS,
    INTERCEPTOR_QUESTIONS,
    NAMES,
    ROLES,
    Probes,
    comparable,
)
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.decrypto.turns import code_number, turns_of
from tomeval.games.running import RECORDED
from tomeval.games.scores import ScoredCell, Scores
from tomeval.games.transcripts import transcript
from tomeval.lexicon.words import shipped_lists
from tomeval.runs.analyses import readers
from tomeval.runs.capabilities import Line
from tomeval.runs.record import Record
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.strategies.compose import Strategy, recorded_strategy


class DecryptoRunCell(ScoredCell):
    """One pairing at one seed."""

    @property
    def scores(self) -> Scores:
        """What the scores are made of."""
        return scores(self.played)

    @held
    def played(self) -> Played:
        """The complete games."""
        replayed = bool(self.definition["records"])
        played = read_played(self.store, self.number, self.seed, replayed)
        more = readers(self.store, self.number, self.definition)
        return replace(played, more=more)

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
    def strategies(self) -> dict[str, Any]:
        """Those of the language models by seat."""
        players = self.definition["players"]
        spec = {role: players[role]["options"].get("strategy", "QA") for role in self.models}
        return {NAMES[role]: spec_for(spec[role], role) for role in spec}

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
def gives_probabilities(store: Store) -> bool:
    """Return whether any Alice scores the codes that she predicts."""
    players = (definition["players"]["encoder"] for _, definition in store.cells())
    return any(getattr(_strategy(player), "scored", False) for player in players)


@once_each
def has_beliefs(store: Store) -> bool:
    """Return whether the strategy of any Alice has beliefs planted, whatever came of them."""
    found = (_strategy(definition["players"]["encoder"]) for _, definition in store.cells())
    return any(one is not None and one.part.belief is not None for one in found)


def _strategy(player: Mapping[str, Any]) -> Strategy | None:
    """Return the strategy of an Alice; None without a model, or if it is not known here."""
    if not player.get("model"):
        return None
    return recorded_strategy(spec_for(player["options"].get("strategy", "QA"), "encoder"))


def read_played(store: Store, cell: int, seed: int, replayed: bool) -> Played:
    """Return the complete games of a cell."""
    games = list(store.records(cell, complete=True))
    try:
        of_games = [turns_of(record) for record in games]
        turns = list(itertools.chain(*of_games))
        code, bob, eve = (
            np.array([code_number(getattr(turn, name)) for turn in turns], dtype=np.int64)
            for name in ("code", "bob", "eve")
        )
        alice = [turn.details.get("encoder", {}) for turn in turns]
        hints, codes = [turn.hints or () for turn in turns], [turn.code for turn in turns]
        planted = planted_of(alice, hints, codes)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise store.damaged(repr(error)) from None
    game = np.repeat(np.arange(len(games)), [len(of_game) for of_game in of_games])
    keywords = np.array([comparable(record.own["keywords"]) for record in games], dtype=np.str_)
    said = [{one.question: one.value for one in turn.probes} for turn in turns]
    scores = [{one.question: one.brier for one in turn.probes} for turn in turns]

    def outcome(role: str, *outcomes: str) -> Bools:
        return np.array([turn.outcomes[role] in outcomes for turn in turns], dtype=bool)

    def predicted(question: str) -> Ints:
        return np.array([code_number(one.get(question)) or NONE for one in said], dtype=np.int64)

    def believed(question: str) -> Texts:
        named = (one.get(question) for one in said)
        return np.array([comparable(one) if one else "" for one in named], dtype=np.str_)

    return Played(
        outcomes=[record.own["outcome"] for record in games],
        clusters=np.array([f"{seed} {record.episode}" for record in games], dtype=np.str_),
        game=game,
        turn=np.array([turn.number for turn in turns], dtype=np.int64),
        code=code,
        bob=bob,
        eve=eve,
        own=outcome("encoder", VALID)
        & np.array([not facts.get("given") for facts in alice], dtype=bool),
        guessed={
            "bob": outcome("decoder", VALID, RECORDED),
            "eve": outcome("interceptor", VALID, RECORDED),
        },
        predicted={question: predicted(question) for question in ENCODER_QUESTIONS},
        brier={  # None becomes NaN
            question: np.array([one.get(question) for one in scores], dtype=np.float64)
            for question in ENCODER_QUESTIONS
        },
        believed={question: believed(question) for question in INTERCEPTOR_QUESTIONS},
        keywords=keywords[game],
        best=np.array([turn.best for turn in turns], dtype=np.float64),  # None becomes NaN
        random=np.array([turn.random for turn in turns], dtype=np.float64),
        recorded=_recorded([turn.details["record"] for turn in turns]) if replayed else {},
        planted=planted,
    )


def _recorded(turns: Sequence[dict[str, Any]]) -> dict[str, Ints]:
    """Return the record's guesses, which every turn of a replay keeps."""
    return {
        key: np.array([code_number(turn[key]) for turn in turns], np.int64) for key in LISTENERS
    }


def game_lines(run: Run, cell: DecryptoRunCell, game: int) -> Iterator[Line]:
    """Yield a game of a run: every turn with its probes, and the ending."""
    record = run.store.record(cell.number, game)
    rules, states = Rules(**cell.definition["rules"]), states_of(record)
    names = ", ".join(f"{NAMES[role]} {name}" for role, name in cell.seated.items())
    title = f"{names}; seed {cell.seed}, game {game}"
    of = Decrypto(shipped_lists(), rules, Probes())
    players = list(cell.seated.values())
    return transcript(of, record, title, players, states, ENDINGS, step="round")


def states_of(record: Record) -> list[Game]:
    """Return the states of a game: of its deal, and after every stage; in replays as heard."""
    keywords, codes = record.own["keywords"], record.own["codes"]
    states = [Game(Deal(tuple(keywords), tuple(map(tuple, codes))))]
    for turn in turns_of(record):
        if turn.hints is not None:
            states.append(replace(states[-1], hints=turn.hints))
        if turn.turn is not None:
            states.append(replace(states[-1], hints=None, turns=(*states[-1].turns, turn.turn)))
    return states
