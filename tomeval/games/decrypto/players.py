"""Players as experiments name them: language models, embedding players, random ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import part, parts
from tomeval.games.decrypto.embedding_players import (
    EmbeddingEncoder,
    EmbeddingListener,
    EmbeddingSpec,
)
from tomeval.games.decrypto.seats import ALICE, ROLES
from tomeval.games.players import LLM, GamePlayer, check_options
from tomeval.games.seats import Chair, ScriptedSeat, Seat
from tomeval.lexicon.embeddings import Embedding, open_embedding
from tomeval.lexicon.words import WordLists

if TYPE_CHECKING:
    from tomeval.games.decrypto.experiment import DecryptoExperiment

_BROUGHT = "decrypto "
"""What stands before a kind's name among the players of extensions."""


class PlayerKind(NamedTuple):
    """A kind of player without a model; extensions bring more, see `tomeval.core.parts.KINDS`.

    Attributes
    ----------
    about : str
        What it is, in a few words.
    options : mapping
        Its options with their defaults. One called ``embedding`` is the name of one, or a file.
    seat : callable
        Given a `DecryptoPlayer`, word lists and a `Chair`, checks its options and returns a `Seat`.
    """

    about: str
    options: Mapping[str, Any]
    seat: Callable[[DecryptoPlayer, WordLists, Chair], Seat]


@dataclass(frozen=True, eq=False)
class DecryptoPlayer(GamePlayer):
    """One player; it can take every seat that its options make sense in.

    Its options are complete: what the experiment leaves out is filled in.
    """

    OPTIONS = "tomeval.games.decrypto.llm:DecryptoOptions"
    IF_SET = ("top_p", "top_k", "min_p", "lenient", "decide", "predict")

    @classmethod
    def kind_in(cls, entry: Mapping[str, Any]) -> str:
        """Return the kind of player that a table is of: one with an embedding plays over it."""
        return str(entry.get("kind", "embedding" if "embedding" in entry else LLM))

    @classmethod
    def scripted(
        cls, name: str, kind: str, entry: dict[str, Any], base: Path | None
    ) -> DecryptoPlayer:
        """Return a player with the options of its `PlayerKind`."""
        known = kind_of(kind).options
        check_options(kind, entry, known, ["kind"])
        entry = {**known, **entry}
        if "embedding" in known and not isinstance(entry["embedding"], str):
            raise TomevalError("needs 'embedding', the name of one or a file")
        return cls(name, kind, entry, base=base)

    def embedding(self, lists: WordLists) -> Embedding:
        """Return the embedding of a player that has one."""
        return _embedding(self.options["embedding"], lists, base=self.base)

    def spec(self, lists: WordLists) -> EmbeddingSpec:
        """Return an embedding player."""
        return EmbeddingSpec(self.embedding(lists), self.options["k"], self.options["matching"])

    def check(self, role: str, experiment: DecryptoExperiment) -> None:
        """Raise a `TomevalError` if the player cannot take a seat."""
        if not self.model:
            self.seat(experiment.lists, Chair(ROLES.index(role), np.random.default_rng(0)))
            return
        self.llm_options.strategy_in(role)
        if self.llm_options.conversation and experiment.records:
            raise TomevalError(
                "in a replay the past is the record's, not the player's own: "
                'use memory = "restated"'
            )
        _ = self.templates(role)

    def seat(self, lists: WordLists, chair: Chair) -> Seat:
        """Seat a player without a model."""
        return kind_of(self.kind).seat(self, lists, chair)


def _by_embedding(player: DecryptoPlayer, lists: WordLists, chair: Chair) -> Seat:
    spec, encodes = player.spec(lists), chair.seat == ALICE
    return EmbeddingEncoder(chair, spec, lists) if encodes else EmbeddingListener(spec)


EMBEDDING = PlayerKind(
    "hints near the keywords; guesses by cosine",
    {"embedding": None, "k": 16, "matching": "assignment"},
    _by_embedding,
)
RANDOM = PlayerKind("legal hints and codes at random", {}, lambda *made: ScriptedSeat(made[-1]))
KINDS = {"embedding": EMBEDDING, "random": RANDOM}


def kinds() -> dict[str, PlayerKind]:
    """Return all kinds of player without a model, those of extensions that can be loaded."""
    brought = parts("players").items()
    return KINDS | {n.removeprefix(_BROUGHT): k for n, k in brought if n.startswith(_BROUGHT)}


def kind_of(name: str) -> PlayerKind:
    """Return a kind of player; a `TomevalError` names a near match."""
    if (kind := KINDS.get(name) or part("players", f"{_BROUGHT}{name}")) is None:
        raise unknown("kind of player", name, [LLM, *kinds()], "kind")
    made: PlayerKind = kind
    return made


_embedding = cache(open_embedding)


@cache
def embedding_sha256(embedding: Embedding) -> str:
    """Return the hash of an embedding's words and vectors."""
    digest = hashlib.sha256("\n".join(embedding.words).encode())
    digest.update(embedding.vectors.tobytes())
    return digest.hexdigest()
