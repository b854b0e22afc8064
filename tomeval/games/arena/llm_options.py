"""The options of a player of kind ``llm``, and which prompting strategies fit which game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.games.arena.sampled import forms_met, scorable
from tomeval.games.game import ArenaGame
from tomeval.games.seated.options import SeatedOptions
from tomeval.strategies.compose import Strategy, parse_strategy
from tomeval.strategies.options import ScoredOptions

UNFIT = ("-history", "-payoffs", "-rewards")
"""Contexts without meaning here: what happened is all that there is to go by."""


@dataclass(frozen=True, kw_only=True)
class LLMOptions(SeatedOptions, ScoredOptions):
    """How language models play in the arena.

    `max_attempts` holds for probes and for what advice asks; the table says how often it asks for
    a decision.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parsed.context in UNFIT:
            raise TomevalError(
                f"strategy {self.parsed.name!r} cannot play in the arena: {self.parsed.context!r} "
                "has no meaning here; use QA, CoT, CoT + 3-Shot or LM, with S2A, Social QA, "
                "Social LM, Reflexion 1 to 3, Plans + Insights, Oracle or Oracle + Max"
            )
        if self.parsed.part.belief is not None:
            raise TomevalError(
                f"strategy {self.parsed.name!r} cannot play in the arena: beliefs can be planted "
                "only in matrix games and Decrypto; Oracle gives the true actions of others"
            )
        self.remembering(self.parsed)

    @cached_property
    def parsed(self) -> Strategy:
        """The strategy."""
        return parse_strategy(self.strategy)

    @property
    def scores(self) -> bool:
        """Whether any call scores labels."""
        return self.parsed.scores

    def check(self, name: str, game: ArenaGame[Any], is_subject: bool = True) -> None:
        """Raise a `TomevalError` if the strategy cannot play a game.

        Labels can be scored only where every decision (with ``Social LM``, every probe) is one of a
        few labels. The truth is told to the subject alone: two who wait for what the other does
        would wait for ever.
        """
        strategy = self.parsed
        if strategy.is_told and not is_subject:
            raise TomevalError(
                f"strategy {strategy.name!r} is only for the subject: it is told what others do"
            )
        free: list[str] = []
        if strategy.scores:
            decisions, probes = forms_met(game)
            if strategy.scored:
                free += [kind for kind, form in decisions.items() if not scorable(form)]
            if strategy.advice == "social_lm":
                free += [f"probe {name}" for name, form in probes.items() if not scorable(form)]
        if free:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play {name!r}: it scores labels, but the "
                f"answers to {', '.join(sorted(free))} are free text; use QA, CoT or Social QA"
            )
