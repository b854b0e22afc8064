"""What every game of the arena answers: rules as pure functions on immutable states.

Seats are numbered from 0. A *stage* is one or more decisions that are due at once and hidden from
each other; chance moves after a stage. Nothing here draws, waits or knows of language models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

Action = Any
"""What a seat does: text, a number, None or a tuple of these; hashable, and JSON-ready but for
tuples, which JSON knows as lists (see `ArenaGame.read`)."""

S = TypeVar("S")

ERRORS = ("format", "rule", "target", "truncated", "refusal", "backend")
"""How an answer can break the rules: it has not the form that was asked for; it has, but is
forbidden; it names nobody, or somebody who cannot be meant; it was cut off; the player declined;
the model gave no reply. Games judge the first three, the others are what became of a reply."""


class Ask(NamedTuple):
    """One decision that is due: whose, and of what kind, such as ``talk`` or ``vote``."""

    seat: int
    kind: str


class Broken(NamedTuple):
    """How an answer breaks the rules: one of `ERRORS`, and a sentence without a full stop."""

    error: str
    text: str


class Event(NamedTuple):
    """Something that happened, as seats may learn of it.

    Attributes
    ----------
    kind : str
        In the game's words, such as ``talk``, ``moves`` or ``died``.
    seat : int or None
        Who did it, or to whom it happened; None: the game itself.
    data : Action
        What it was.
    to : tuple of int or None
        The seats that know it; None: everybody.
    """

    kind: str
    seat: int | None
    data: Action
    to: tuple[int, ...] | None = None

    def seen_by(self, seat: int) -> bool:
        """Tell whether a seat knows of it."""
        return self.to is None or seat in self.to


class Form(NamedTuple):
    """How an answer is written: a JSON object with one key, whose value is a list.

    Attributes
    ----------
    key : str
    kind : type
        Of every item: str or int.
    size : int
        Number of items; 0: any number.
    labels : tuple of str
        With size 1: all that may be said, as text, so that a model can score it; empty: too many.
    """

    key: str
    kind: type[str] | type[int]
    size: int = 1
    labels: tuple[str, ...] = ()

    def items(self, label: str) -> list[Any]:
        """Return the items that one of the labels stands for."""
        return [self.kind(label)]


class Probe(NamedTuple):
    """A literal question beside a decision: what others do, or who they are.

    Attributes
    ----------
    name : str
        Such as ``move``, ``allocation``, ``mafia``.
    about : int or None
        The seat that it is about; None if it is about none, or about all.
    given : Action
        What the seat has just decided, where the question is about what follows from that; see
        `ArenaGame.probes_after`.
    """

    name: str
    about: int | None = None
    given: Action = None

    @property
    def question(self) -> str:
        """Its name in the store, unique beside one decision."""
        return self.name if self.about is None else f"{self.name}_{self.about}"


class Stage(NamedTuple, Generic[S]):
    """A stage that is over: the state before it, and what every seat that was due did."""

    state: S
    actions: Mapping[int, Action]


class Stepwise(NamedTuple):
    """One-step payoffs of a decision, the other seats' actions of the stage held fixed.

    What the stage adds to the seat's reward: over a whole game those of what was done sum to the
    reward, but for a constant of the game.

    Attributes
    ----------
    chosen, best : float
        Of what was done, and of the best that could have been done.
    reply : float
        Of the best reply to what was stated of the others; NaN without.
    """

    chosen: float
    best: float
    reply: float = float("nan")


class View(Generic[S]):
    """What one seat may know of a state; each game adds properties of its own.

    Made in constant time: properties look things up when they are asked. A test of every game
    demands that what is hidden changes no property.
    """

    __slots__ = ("_state", "game", "seat")

    def __init__(self, game: ArenaGame[S], state: S, seat: int) -> None:
        self.game, self._state, self.seat = game, state, seat

    @property
    def events(self) -> tuple[Event, ...]:
        """All that the seat has learnt, oldest first."""
        return tuple(e for e in self.game.events(self._state) if e.seen_by(self.seat))


class ArenaGame(ABC, Generic[S]):
    """A game with its parameters; states are immutable, so any can be cloned by keeping it.

    Attributes
    ----------
    name : str
        As experiments name it.
    seats : int
    length : int
        The most decisions of a game, over all seats.
    usual : int
        Rounds, as `rounds` counts them, that a game without an error can be expected to last: its
        fixed number where it has one.
    without_chance : bool
        Whether neither the deal nor any stage leaves anything to chance.
    on_broken : tuple of str
        Which of ``forfeit``, ``eliminate`` and ``default`` the game knows; see `struck`, `default`.
    round_word : str
        What `rounds` counts, in the singular, such as ``day``.
    """

    name: ClassVar[str]
    round_word: ClassVar[str] = "round"
    without_chance: bool = False
    on_broken: ClassVar[tuple[str, ...]] = ("forfeit",)
    seats: int
    length: int
    usual: int

    # Rules

    @abstractmethod
    def deal(self, rng: np.random.Generator) -> S:
        """Draw all that chance decides before the first decision."""

    @abstractmethod
    def due(self, state: S) -> tuple[Ask, ...]:
        """Return the decisions of the coming stage, by seat; empty if the game is over."""

    @abstractmethod
    def outcomes(self, state: S, actions: Mapping[int, Action]) -> Sequence[tuple[float, S]]:
        """Return the states that may follow a stage, with probabilities that sum to 1.

        `actions` are legal, one for every seat that is due. Equal calls return equal lists, so that
        the place in the list is a record of chance.
        """

    def after(
        self, state: S, actions: Mapping[int, Action], rng: np.random.Generator
    ) -> tuple[int, S]:
        """Draw what follows a stage: its place among `outcomes`, and the state."""
        found = self.outcomes(state, actions)
        if len(found) == 1:
            return 0, found[0][1]
        bounds = np.cumsum([weight for weight, _ in found])
        place = min(int((rng.random() * bounds[-1] >= bounds).sum()), len(found) - 1)
        return place, found[place][1]

    @abstractmethod
    def fault(self, view: View[S], ask: Ask, action: Action) -> Broken | None:
        """Return how an action, of the right type, breaks the rules; None if it is legal."""

    def default(self, view: View[S], ask: Ask) -> Action:
        """Return the action that counts in place of a broken one under the policy ``default``.

        Asked for only if `on_broken` holds it.
        """
        raise NotImplementedError(f"{self.name} has no default action")

    @abstractmethod
    def random(self, view: View[S], ask: Ask, rng: np.random.Generator) -> Action:
        """Draw a legal action, uniformly where there are finitely many; talk says nothing."""

    @abstractmethod
    def struck(self, state: S, ask: Ask, how: str) -> S:
        """Return the state after a seat broke the rules for good: ``forfeit`` or ``eliminate``.

        ``forfeit`` ends the game, and the seat (with its team) has lost; ``eliminate`` takes the
        seat out, and the others go on if they can.
        """

    # What it came to

    @abstractmethod
    def rewards(self, state: S) -> tuple[float, ...]:
        """Return what every seat got in a game that is over."""

    @abstractmethod
    def wins(self, state: S) -> tuple[float, ...]:
        """Return every seat's share of the win in a game that is over: 1, 0 or between in a tie."""

    @abstractmethod
    def ending(self, state: S) -> str:
        """Return in one word with underscores how a game ended; see `Kind.endings`."""

    @abstractmethod
    def rounds(self, state: S) -> int:
        """Return how many rounds, days or turns were begun."""

    @abstractmethod
    def roles(self, state: S) -> tuple[str, ...]:
        """Return the role of every seat, such as ``villager``; one word for all without roles."""

    @abstractmethod
    def teams(self, state: S) -> tuple[tuple[int, ...], ...]:
        """Return the seats by team; without teams every seat is one of its own."""

    @property
    def rotations(self) -> tuple[tuple[int, ...], ...]:
        """Where players sit, game after game on one deal: entry i is the seat of player i.

        Player 0 takes every seat once. Default: everybody moves on by one seat.
        """
        return tuple(
            tuple((i + r) % self.seats for i in range(self.seats)) for r in range(self.seats)
        )

    # What seats know

    @abstractmethod
    def events(self, state: S) -> tuple[Event, ...]:
        """Return all that has happened, oldest first, hidden events too."""

    @abstractmethod
    def view(self, state: S, seat: int) -> View[S]:
        """Return what a seat may know, in constant time."""

    @abstractmethod
    def seat_name(self, seat: int) -> str:
        """Return what a seat is called at the table, such as ``Player 2`` or ``red spymaster``."""

    @abstractmethod
    def line(self, event: Event) -> str:
        """Return an event as a line for readers, such as ``Player 2 votes for Player 0``."""

    def silent(self, event: Event) -> bool:
        """Tell whether a seat had its say and said nothing, which readers need not be told."""
        return event.kind == "talk" and isinstance(event.data, str) and not event.data.strip()

    def acted(self, kind: str, action: Action) -> str:
        """Return what a decision of a kind came to in words for readers."""
        return words(action)

    def asked(self, probe: Probe) -> str:
        """Return what a probe asks for in words for readers, such as ``move of Player 2``."""
        name = probe.name.replace("_", " ")
        return name if probe.about is None else f"{name} of {self.seat_name(probe.about)}"

    def told(self, probe: Probe, answer: Action) -> str:
        """Return an answer to a probe, said or true, in words for readers."""
        return words(answer)

    # Questions and answers

    @abstractmethod
    def form(self, view: View[S], ask: Ask) -> Form:
        """Return how a decision is written."""

    @abstractmethod
    def read(self, view: View[S], ask: Ask, items: Sequence[Any]) -> Action | Broken:
        """Return the action that the items of a `Form` stand for, if it is legal."""

    @abstractmethod
    def written(self, view: View[S], ask: Ask, action: Action) -> list[Any]:
        """Return the items that `read` reads as an action."""

    @abstractmethod
    def probes(self, view: View[S], ask: Ask) -> tuple[Probe, ...]:
        """Return the literal questions that belong to a decision; empty if it has none."""

    def probes_after(self, view: View[S], ask: Ask, action: Action) -> tuple[Probe, ...]:
        """Return the literal questions on what follows from a decision, asked once it is made.

        They are asked of what the seat saw before the decision, and say in `Probe.given` what it
        decided. Default: none.
        """
        return ()

    @abstractmethod
    def probe_form(self, view: View[S], probe: Probe) -> Form:
        """Return how the answer to a probe is written."""

    @abstractmethod
    def read_probe(self, view: View[S], probe: Probe, items: Sequence[Any]) -> Action | Broken:
        """Return what the items of a `Form` say, if it can be true."""

    def written_probe(self, view: View[S], probe: Probe, action: Action) -> list[Any]:
        """Return the items that `read_probe` reads as an answer, as an oracle is told the truth.

        Default: the items of a tuple, or the answer itself.
        """
        return list(action) if isinstance(action, tuple) else [action]

    def answers(self, view: View[S], probe: Probe) -> tuple[Action, ...]:
        """Return all that a probe's answer can be, for beliefs to be drawn from.

        Empty if nothing is stated of it: there are too many answers, or they follow from others.
        Default: those of the labels that can be true.
        """
        form = self.probe_form(view, probe)
        found = [self.read_probe(view, probe, form.items(label)) for label in form.labels]
        return tuple(one for one in found if not isinstance(one, Broken))

    @abstractmethod
    def truth(self, probe: Probe, seat: int, trail: Sequence[Stage[S]], at: int, end: S) -> Action:
        """Return the true answer to a probe that `seat` was asked in stage `at` of a whole game.

        `trail` are the stages of the game and `end` its last state. None: it never showed.
        """

    def hit(self, probe: Probe, said: Action, truth: Action) -> float:
        """Return how right an answer is, from 0 to 1; default: 1 if it is the truth, else 0."""
        return float(said == truth)

    def step_reply(self, view: View[S], said: Mapping[Probe, Action]) -> Action | None:
        """Return the best reply to what a seat stated, as far as this stage's payoff goes.

        None where the game has no one-step payoffs, or where nothing follows from what was stated.
        """
        return None

    def replies_to(
        self, view: View[S], action: Action, said: Mapping[Probe, Action]
    ) -> bool | None:
        """Tell whether an action is a best reply to what was stated, in this stage's payoff.

        None where the game leaves it to `step_reply` and the solver, which know one best reply.
        """
        return None

    def stepwise(
        self, state: S, seat: int, actions: Mapping[int, Action], reply: Action | None
    ) -> Stepwise | None:
        """Return the one-step payoffs of a decision; None where the game has none.

        `actions` are those of the whole stage, `reply` is what `step_reply` returned.
        """
        return None


def words(action: Action) -> str:
    """Return an action or an answer in words: its parts with commas, ``nothing`` for None.

    Examples
    --------
    >>> words(("cooperate", "defect")), words(("sea", 2)), words(None)
    ('cooperate, defect', 'sea, 2', 'nothing')
    """
    if action is None:
        return "nothing"
    if isinstance(action, tuple | list):
        return ", ".join(map(words, action)) or "nothing"
    return str(action)


Verdict = Literal["valid", "default", "invalid", "fatal"]
"""What became of a decision: played as it was; replaced by the default; refused, so that the game
could not go on; refused, which cost the seat the game or its place in it."""
