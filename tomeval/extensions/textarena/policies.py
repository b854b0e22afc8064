"""Scripted players of any game of TextArena: they know texts and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.game import Action, Ask
from tomeval.domains.arena.policy import Choices, Memory, Policy, draw
from tomeval.extensions.textarena.state import TextArenaView

ORDERS = ("random", "cycle")


@dataclass(frozen=True)
class Texts(Policy):
    """Plays fixed texts.

    Attributes
    ----------
    texts : tuple of str
    order : str
        ``random``, every text with the same probability, or ``cycle``, one after the other.
    legal : bool
        Choose among the texts that the environment takes. If it takes none, or if this is False,
        the choice is among all.
    """

    texts: tuple[str, ...] = ()
    order: str = "random"
    legal: bool = True

    about = "plays texts from a list"

    def __post_init__(self) -> None:
        if isinstance(self.texts, list):  # as experiments give them
            object.__setattr__(self, "texts", tuple(self.texts))
        texts: object = self.texts
        if not isinstance(texts, tuple) or not texts:
            raise TomevalError(f"texts: {texts!r} is no list of texts")
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                raise TomevalError(f"texts: {text!r} is no text")
        if self.order not in ORDERS:
            raise unknown("order", self.order, ORDERS)
        if not isinstance(self.legal, bool):
            raise TomevalError(f"legal: {self.legal!r} is neither true nor false")

    def choices(self, view: TextArenaView, ask: Ask, memory: Memory) -> Choices:
        """Return the texts with their probabilities."""
        texts = tuple(dict.fromkeys(self.texts)) if self.order == "random" else self.texts
        if self.order == "cycle":
            first = view.acted % len(texts)
            texts = texts[first:] + texts[:first]
            for text in texts if self.legal else ():
                if view.game.fault(view, ask, text) is None:
                    return ((1.0, text),)
            return ((1.0, texts[0]),)
        if self.legal:
            texts = tuple(t for t in texts if view.game.fault(view, ask, t) is None) or texts
        return tuple((1 / len(texts), text) for text in texts)

    def act(
        self, view: TextArenaView, ask: Ask, memory: Memory, rng: np.random.Generator
    ) -> Action:
        """Draw one of `choices`, and try no more texts than that needs.

        The first legal text of a random order is every legal text with the same probability.
        """
        if self.order == "cycle" or not self.legal:
            return draw(self.choices(view, ask, memory), rng)
        texts = tuple(dict.fromkeys(self.texts))
        shuffled = [texts[i] for i in rng.permutation(len(texts))]
        for text in shuffled:
            if view.game.fault(view, ask, text) is None:
                return text
        return shuffled[0]
