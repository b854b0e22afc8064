"""What one game leaves behind: its decisions, its probes, how it ended; and how it is replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tomeval.core.outcomes import COMPLETE
from tomeval.games.game import Action, Broken, Probe, Stepwise, Verdict
from tomeval.games.seats import Answer
from tomeval.games.solver import Bound, Values

Mark = int | tuple[int, str, str]
"""What followed a stage: the place of chance among `ArenaGame.outcomes`, or whose decision of which
kind broke the rules for good, and what that cost (see `ArenaGame.struck`)."""


@dataclass
class Worth:
    """What a decision of the subject was worth, where that is known.

    Attributes
    ----------
    best, chosen : Bound or None
        V* and Q* of what was done; `chosen` is None if it was not the subject's own doing.
    regret : Bound or None
        V* - Q*.
    reply : Action
        The best reply to what the subject stated; None without.
    tom_regret : Bound or None
        V* - Q* of that reply.
    step_reply : Action
        The best reply to what was stated as far as one stage goes; None without.
    step : Stepwise or None
        One-step payoffs.
    counted : Bound or None
        V* - Q* of what counted, also where that was a default or drawn; not stored.
    """

    best: Bound | None = None
    chosen: Bound | None = None
    regret: Bound | None = None
    reply: Action = None
    tom_regret: Bound | None = None
    step_reply: Action = None
    step: Stepwise | None = None
    counted: Bound | None = None


@dataclass
class Probed:
    """A literal question that the subject was asked, and its answer.

    Attributes
    ----------
    truth
        None if it never showed.
    hit : float or None
        From 0 to 1; None without a truth or a valid answer.
    probability : float or None
        What the subject gave to the truth, if labels were scored; None of an answer that is not
        given as probabilities.
    brier : float or None
        The Brier score of its probabilities, from 0 to 2: the sum over outcomes.
    attainable : float or None
        The most that an answer can score in expectation, see `solver.Values.attainable`.
    observer : float or None
        What the exact Bayesian observer gave to the truth.
    observer_brier : float or None
        The Brier score of the observer.
    """

    probe: Probe
    answer: Answer
    truth: Action = None
    hit: float | None = None
    probability: float | None = None
    brier: float | None = None
    attainable: float | None = None
    observer: float | None = None
    observer_brier: float | None = None


@dataclass
class Decision:
    """One decision of one seat.

    Attributes
    ----------
    number : int
        From 1, in the order of the table.
    stage : int
        In which entry of `PlayedGame.record` it counts, from 0.
    round : int
    seat, slot : int
        Where the player sits, and which player it is; 0 is the subject.
    kind : str
    answer : Answer
    verdict : str
        See `game.Verdict`.
    action
        What counted; None if nothing did.
    at : int or None
        Its place among the stages that were completed, from 0; None if it had no effect.
    told : bool
        Whether the subject learned what its view does not show.
    values : Values or None
        What it could be worth, before it was made; not stored.
    """

    number: int
    stage: int
    round: int
    seat: int
    slot: int
    kind: str
    answer: Answer
    verdict: Verdict = "valid"
    action: Action = None
    at: int | None = None
    worth: Worth | None = None
    probed: list[Probed] = field(default_factory=list)
    told: bool = False
    values: Values | None = None

    @property
    def error(self) -> Broken:
        """What was wrong with the last refused attempt; empty without one."""
        return self.answer.tries[-1] if self.answer.tries else Broken("", "")


@dataclass
class PlayedGame:
    """A game as it goes to the store.

    Attributes
    ----------
    index, deal : int
        The episode, and the number of the deal that it was played on.
    seats : tuple of int
        The seat of every player, the subject first.
    record : list of Mark
        Stage by stage; with deal and actions it replays the game.
    rewards, wins : tuple of float
        By seat; empty for games that are not complete.
    roles : tuple of str
        By seat.
    teams : tuple of tuple of int
    rounds : int
    ending : str
        Empty for games that are not complete.
    calls : list of (decision number, slot, form, record)
    """

    index: int
    deal: int
    seats: tuple[int, ...]
    status: str = COMPLETE
    decisions: list[Decision] = field(default_factory=list)
    record: list[Mark] = field(default_factory=list)
    rewards: tuple[float, ...] = ()
    wins: tuple[float, ...] = ()
    roles: tuple[str, ...] = ()
    teams: tuple[tuple[int, ...], ...] = ()
    rounds: int = 0
    ending: str = ""
    calls: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)


def frozen(value: Any) -> Action:
    """Return what JSON made of an action as the action: lists are tuples."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


COUNTED = ("valid", "default")
"""The verdicts on decisions whose action counted; an action can be null."""
