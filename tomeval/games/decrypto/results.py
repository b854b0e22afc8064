"""A pairing of a Decrypto run: its complete games, read back, for measures and for readers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.once import held, once_each
from tomeval.games.decrypto.game import UNDECIDED, Deal, Game, Rules
from tomeval.games.decrypto.llm import spec_for
from tomeval.games.decrypto.measures import scores
from tomeval.games.decrypto.seats import NAMES, ROLES, Probes, comparable
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.decrypto.turns import (
    COLUMNS,
    NONE,
    READ,
    finished,
    turns_of,
)
from tomeval.games.played import Played, frozen
from tomeval.games.players import worded
from tomeval.games.scores import ScoredCell, Scores
from tomeval.games.transcripts import transcript
from tomeval.lexicon.words import shipped_lists
from tomeval.runs.analyses import readers
from tomeval.runs.domain import Line, Worded
from tomeval.runs.record import Record
from tomeval.runs.store import Store
from tomeval.strategies.compose import recorded_strategy

TEAM, STRATEGY = "team", "strategy"


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
        predicted = played["predicted_eve"]
        among = (predicted != NONE) & played["guessed_eve"]
        return {"correct": np.where(among, predicted == played["eve"], np.nan).tolist()}

    def step_rows(self) -> Iterator[dict[str, Any]]:
        """Yield all of every turn, by column."""
        definition, players = self.definition, self.definition["players"]
        about = {**self.columns, "records": definition.get("records")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {f"{role}_model": players[role].get("model") for role in ROLES}
        about["templates_sha256"] = definition.get("templates")
        for record in self.store.records(self.number):
            own = {"cell": self.number, "episode": record.episode, "status": record.status}
            own |= {name: record.own[name] for name in ("outcome", "keywords")}
            for turn in turns_of(record):
                shown = {name: turn[name] for name in COLUMNS}
                yield about | own | shown | {"details": turn["details"] or None}

    def lines(self, episode: int) -> Iterator[Line]:
        """Yield a game: every turn with its probes, and the ending."""
        record = self.store.record(self.number, episode)
        names = list(map(str, self.columns.values()))
        title = ", ".join(f"{NAMES[role]} {name}" for role, name in self.columns.items())
        title += f"; seed {self.seed}, game {episode}"
        game = Decrypto(shipped_lists(), Rules(**self.definition["rules"]), Probes())
        return transcript(game, record, title, names, states_of(record), step="round")

    @property
    def facts(self) -> dict[str, Any]:
        """The columns, and what else pairings must agree in to be compared."""
        data = self.definition
        rules = "{turns} turns, {miscommunications} + {interceptions}".format(**data["rules"])
        more = {name: data[name][:8] for name in ("words", "records")}
        return super().facts | {"rules": rules} | more

    @property
    def models(self) -> dict[str, str]:
        """Names of the language models by role."""
        players = self.definition["players"]
        return {role: players[role]["model"] for role in ROLES if players[role].get("model")}

    @property
    def strategies(self) -> dict[str, Any]:
        """Those of the language models by seat."""
        options = {role: self.definition["players"][role]["options"] for role in self.models}
        return {NAMES[r]: spec_for(given.get("strategy", "QA"), r) for r, given in options.items()}

    @property
    def own_model(self) -> str:
        """That of the encoder."""
        return self.models.get(ROLES[0], "")

    @property
    def name(self) -> str:
        """Who plays."""
        return ", ".join(map(str, self.columns.values()))

    def level(self, by: str) -> str:
        """Return who sits in a seat, or Alice and Bob together; or how models are asked."""
        if by == STRATEGY:
            return self.prompted[STRATEGY] or self.name
        if by == TEAM:
            return f"{self.columns['encoder']} + {self.columns['decoder']}"
        return str(self.columns[by])

    def task_without(self, by: str) -> dict[str, Any]:
        """Return the other seats, and what games are played with.

        Where strategies are compared, a seat is that of its model, whatever its player is called.
        """
        if by == STRATEGY:
            return {**self.task, **self.models}
        gone = ("encoder", "decoder") if by == TEAM else (by,)
        return {name: value for name, value in self.task.items() if name not in gone}

    @property
    def worded(self) -> Worded | None:
        """How Alice is asked."""
        return worded(self.definition["players"]["encoder"])


def replays(store: Store) -> bool:
    """Return whether any games are played from a record."""
    return any(definition["records"] for _, definition in store.cells())


@once_each
def gives_probabilities(store: Store) -> bool:
    """Return whether any Alice scores the codes that she predicts."""
    players = (definition["players"]["encoder"] for _, definition in store.cells())
    specs = (one["options"].get("strategy", "QA") for one in players if one.get("model"))
    found = (recorded_strategy(spec_for(spec, "encoder")) for spec in specs)
    return any(strategy is not None and strategy.scored for strategy in found)


def read_played(store: Store, cell: int, seed: int, replayed: bool) -> Played:
    """Return the complete games of a cell."""
    games = list(store.records(cell, complete=True))
    try:
        of_games = [turns_of(record) for record in games]
        turns = [turn | {"game": i} for i, of_game in enumerate(of_games) for turn in of_game]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise store.damaged(repr(error)) from None

    def column(name: str, kind: type) -> NDArray[Any]:
        values = [turn[name] for turn in turns]
        if kind is np.str_:
            values = [comparable(words) if words else "" for words in values]
        if kind is np.int64:
            values = [value or NONE for value in values]
        return np.array(values, dtype=kind)  # of floats None becomes NaN

    outcomes = [record.own["outcome"] or UNDECIDED for record in games]
    ended = [outcome != UNDECIDED and not replayed for outcome in outcomes]
    clusters = [f"{seed} {record.episode}" for record in games]
    return Played(
        {
            "outcome": np.array(outcomes, dtype=np.str_),
            "ended": np.array(ended, dtype=bool),
            "cluster": np.array(clusters, dtype=np.str_),
        },
        {name: column(name, kind) for kind, names in READ.items() for name in names},
    )


def states_of(record: Record) -> list[Game]:
    """Return the states of a game: of its deal, and after every stage; in replays as heard."""
    keywords, codes = record.own["keywords"], record.own["codes"]
    states = [Game(Deal(tuple(keywords), tuple(map(tuple, codes))))]
    turns = turns_of(record)
    for turn, over in itertools.zip_longest(turns, finished(turns)):
        if turn["hints"] is not None:
            states.append(replace(states[-1], hints=frozen(turn["hints"])))
        if over is not None:
            states.append(replace(states[-1], hints=None, turns=(*states[-1].turns, over)))
    return states
