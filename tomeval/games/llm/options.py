"""The options of a player of kind ``llm``, and which prompting strategies have a meaning."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError
from tomeval.games.game import ArenaGame
from tomeval.games.llm.seat import LLMSeat
from tomeval.games.sampled import forms_met
from tomeval.games.seats import Chair
from tomeval.strategies.compose import Strategy, parse_strategy
from tomeval.strategies.options import ModelOptions
from tomeval.strategies.templates import Prompts


@dataclass(frozen=True, kw_only=True)
class LLMOptions(ModelOptions):
    """How language models play at a table, beside the options that all games share.

    With the memory ``restated``, every step is one question that tells the rules and all that the
    seat has seen; with ``conversation``, the rules are told once, then what is new with the
    player's own replies. `probe_temperature` is for probes alone. `max_attempts` holds for what
    the table does not count itself. Options of one game say of what class its seats are (`SEAT`),
    where its prompts are (`DOMAIN`), and which strategy plays in a slot.
    """

    SEAT: ClassVar[type[LLMSeat]] = LLMSeat
    DOMAIN: ClassVar[str]

    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {
        **ModelOptions.LIMITS,
        "probe_temperature": ModelOptions.LIMITS["temperature"],
    }

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **ModelOptions.CHOICES,
        "memory": ("restated", "conversation"),
    }

    @property
    def conversation(self) -> bool:
        """Whether a player goes on with its own replies."""
        return self.memory == "conversation"

    def strategy_in(self, slot: str = "") -> Strategy:
        """Return the strategy of a slot; a `TomevalError` if it has no meaning there."""
        raise NotImplementedError

    def prompts_in(self, slot: str, base: Path | None) -> Prompts:
        """Return the templates that a slot uses; a relative folder starts from `base`."""
        return self.templates(self.DOMAIN, base)

    def seat(self, chair: Chair, slot: str = "") -> LLMSeat:
        """Seat a language model."""
        prompts = self.prompts_in(slot, chair.base)
        return self.SEAT(chair, self, self.strategy_in(slot), prompts)

    def fitting(self, spec: Any, where: str, unfit: Collection[str], use: str) -> Strategy:
        """Return a strategy; a `TomevalError` if its context is `unfit`, or the memory is.

        `where` is what it is to play, `use` which strategies can.
        """
        strategy = parse_strategy(spec)
        if strategy.part.belief is not None:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play {where}: beliefs can be planted only in "
                "matrix games; Oracle gives the true actions of others"
            )
        if strategy.context in unfit:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play {where}: {strategy.context!r} has no "
                f"meaning here; use {use}"
            )
        if self.conversation and (strategy.summarises or not strategy.shows_history):
            gone = "rewrites" if strategy.summarises else "leaves out"
            what = "S2A" if strategy.summarises else "-History"
            raise TomevalError(f"{what} {gone} the past, a conversation keeps it: choose one")
        return strategy


@dataclass(frozen=True, kw_only=True)
class ArenaOptions(LLMOptions):
    """How language models play in the arena; what happened is all that there is to go by."""

    DOMAIN = "arena"

    def strategy_in(self, slot: str = "") -> Strategy:
        """Return the strategy, the same in every slot."""
        use = "QA, CoT, CoT + 3-Shot or LM, with S2A, Social QA, Social LM, Reflexion 1 to 3, "
        use += "Plans + Insights, Oracle or Oracle + Max"
        unfit = ("-history", "-payoffs", "-rewards")
        return self.fitting(self.strategy, "in the arena", unfit, use)

    def check(self, name: str, game: ArenaGame[Any], is_subject: bool = True) -> None:
        """Raise a `TomevalError` if the strategy cannot play a game.

        Labels can be scored only where every decision (with ``Social LM``, every probe) is one of a
        few labels. The truth is told to the subject alone: two who wait for what the other does
        would wait for ever.
        """
        strategy = self.strategy_in()
        if strategy.part.is_told and not is_subject:
            raise TomevalError(
                f"strategy {strategy.name!r} is only for the subject: it is told what others do"
            )
        free: list[str] = []
        if strategy.scores:
            decisions, probes = forms_met(game)
            if strategy.scored:
                free += [kind for kind, form in decisions.items() if not form.labels]
            if strategy.advice == "social_lm":
                free += [f"probe {name}" for name, form in probes.items() if not form.labels]
        if free:
            raise TomevalError(
                f"strategy {strategy.name!r} cannot play {name!r}: it scores labels, but the "
                f"answers to {', '.join(sorted(free))} are free text; use QA, CoT or Social QA"
            )
