"""What every game of the arena answers: rules as pure functions on immutable states.

Seats are numbered from 0. A *stage* is one or more decisions that are due at once and hidden from
each other; chance moves after a stage. Nothing here draws, waits or knows of language models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from tomeval.core.text import ascii_signs

Action = Any
"""What a seat does: text, a number, None or a tuple of these; hashable, and JSON-ready but for
tuples, which JSON knows as lists (see `ArenaGame.read`)."""

S = TypeVar("S")
T = TypeVar("T")

ERRORS = ("format", "rule", "target", "truncated", "empty", "refusal", "backend")
"""How an answer can break the rules: it has not the form that was asked for; it has, but is
forbidden; it names nobody, or somebody who cannot be meant; it was cut off; it says nothing; the
player declined; the model gave no reply. Games judge the first three, the others are what became of
a reply."""


GUESSES = 200
"""Answers in words that are drawn for what they score by chance."""

TIE = 1e-12
"""By how much equal chances or values may differ, by rounding."""


class Ask(NamedTuple):
    """One decision that is due: whose, and of what kind, such as ``talk`` or ``vote``."""

    seat: int
    kind: str


class Broken(NamedTuple):
    """How an answer breaks the rules: one of `ERRORS`, and a sentence without a full stop."""

    error: str
    text: str


class Event(NamedTuple):
    """Something that happened, as seats may learn of it."""

    kind: str  # in the game's words, such as ``talk``, ``moves`` or ``died``
    seat: int | None  # who did it, or to whom it happened; None: the game itself
    data: Action  # what it was
    to: tuple[int, ...] | None = None  # the seats that know it; None: everybody

    def seen_by(self, seat: int) -> bool:
        """Return whether a seat knows of it."""
        return self.to is None or seat in self.to


class Form(NamedTuple):
    """How an answer is written: a JSON object with one key, whose value is a list."""

    key: str
    kind: type[str] | type[int]  # of every item: str or int
    size: int = 1  # number of items; 0: any number
    # All that may be said, as text, so that a model can score it, several items with hyphens
    # between; empty: too many.
    labels: tuple[str, ...] = ()
    limit: int = 0  # the most characters of a text; 0: any number

    def items(self, label: str) -> list[Any]:
        """Return the items that one of the labels stands for."""
        return [self.kind(item) for item in (label.split("-") if self.size > 1 else [label])]

    @property
    def any_items(self) -> list[Any]:
        """Some items of this form: of the first label, if it has labels."""
        if self.labels:
            return self.items(self.labels[0])
        return ["word" if self.kind is str else 0] * (self.size or 1)

    def fault(self, items: Sequence[Any]) -> Broken | None:
        """Return how items have not this form: how many they are, and their type."""
        if self.size and len(items) != self.size:
            return Broken("format", f"{self.size} expected, {len(items)} given")
        for item in items:
            if type(item) is not self.kind:
                what = "text" if self.kind is str else "whole number"
                return Broken("format", f"{item!r} is not a {what}")
        return None


class Probe(NamedTuple):
    """A literal question beside a decision: what others do, or who they are."""

    name: str  # such as ``move``, ``allocation``, ``mafia``
    about: int | None = None  # the seat that it is about; None if it is about none, or about all
    # What the question itself tells, such as what the seat has just decided, where it is about what
    # follows from that.
    given: Action = None

    @property
    def kind(self) -> str:
        """Its name, as `Ask` has a kind: what forms, options and templates are found by."""
        return self.name

    @property
    def question(self) -> str:
        """Its name in the store, unique beside one decision."""
        return self.name if self.about is None else f"{self.name}_{self.about}"


What = Ask | Probe
"""What is to be answered: a decision or a literal question."""

Said = Mapping[Probe, Action]
"""What a seat answered to its literal questions."""


class Stage(NamedTuple, Generic[S]):
    """A stage that is over: the state before it, and what every seat that was due did."""

    state: S
    actions: Mapping[int, Action]


class Stepwise(NamedTuple):
    """One-step payoffs of a decision, the other seats' actions of the stage held fixed.

    What the stage adds to the seat's reward: over a whole game those of what was done sum to the
    reward, but for a constant of the game.
    """

    chosen: float  # of what was done, and of the best that could have been done
    best: float
    reply: float = float("nan")  # of the best reply to what was stated of the others; NaN without


class View(Generic[S]):
    """What one seat may know of a state; each game adds properties of its own.

    Made in constant time: properties look things up when they are asked. A test of every game
    demands that what is hidden changes no property.
    """

    __slots__ = ("_state", "game", "seat")

    def __init__(self, game: Any, state: S, seat: int) -> None:
        self.game, self._state, self.seat = game, state, seat

    @property
    def events(self) -> tuple[Event, ...]:
        """All that the seat has learnt, oldest first."""
        return tuple(e for e in self.game.events(self._state) if e.seen_by(self.seat))


class Public(Generic[T]):
    """A property of views that everybody may know: the field of the state with its name.

    Or with another one, such as ``turn = Public[int]("begun")``.
    """

    def __init__(self, field: str = "") -> None:
        self.field = field

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the property, unless the field has one of its own."""
        self.field = self.field or name

    def __get__(self, view: View[Any] | None, owner: type) -> T:
        """Return the field; of the class itself, the property."""
        shown: T = self if view is None else getattr(view._state, self.field)  # type: ignore[assignment]
        return shown


class ArenaGame(ABC, Generic[S]):
    """A game with its parameters; states are immutable, so any can be cloned by keeping it.

    What a game must say is abstract. All else has a default, from what the game declares: class
    attributes, `options` of its decisions and probes, and the fields ``log`` (events), ``round``
    (rounds begun), ``ending`` (empty while the game goes on) and ``lost`` (seats that forfeited) of
    its states, which are named tuples.
    """

    name: ClassVar[str]  # as experiments name it
    round_word: ClassVar[str] = "round"  # what `rounds` counts, in the singular, such as ``day``
    without_chance: bool = False  # whether neither the deal nor any stage leaves anything to chance
    # Which of ``forfeit``, ``eliminate`` and ``default`` the game knows; see `struck`, `default`.
    on_broken: ClassVar[tuple[str, ...]] = ("forfeit",)
    # What seats see; policies and the methods below get views of this type.
    views: ClassVar[type[View[Any]]] = View
    role: ClassVar[str | tuple[str, ...]] = "player"  # the role of all seats, or of each
    # The seats by team; empty: every seat is one of its own.
    sides: ClassVar[tuple[tuple[int, ...], ...]] = ()
    # How decisions (by kind) and answers to probes (by name) are written that are not one of their
    # `options`, or that are written under another key.
    forms: Mapping[str, Form] = {}
    # What probes ask for, in words for readers, such as ``move of {}``; see `asked`.
    questions: ClassVar[Mapping[str, str]] = {}
    # Events by kind as lines for readers, with ``{who}``, ``{what}`` and ``{data}``; see `line`.
    lines: ClassVar[Mapping[str, str]] = {}
    endings: ClassVar[Mapping[str, str]] = {}  # what the words of `ending` mean
    # Names of probes whose answers count as decisions do: an unreadable one ends the game, stops
    # the run or is drawn, as `on_invalid` says.
    binding: ClassVar[tuple[str, ...]] = ()
    # Kinds of events that only sum up others, and tell a seat nothing new; see `essence`.
    sums: ClassVar[tuple[str, ...]] = ()
    # Names of probes that no reply follows from: they ask what comes of a decision.
    consequences: ClassVar[tuple[str, ...]] = ()
    # A folder with its prompts, ``arena/NAME/rules.j2`` and so on; None: they are in ``prompts``.
    templates: ClassVar[Path | None] = None
    seats: int
    length: int  # the most decisions of a game, over all seats
    # Rounds, as `rounds` counts them, that a game without an error can be expected to last: its
    # fixed number where it has one.
    usual: int

    # Rules

    @abstractmethod
    def deal(self, rng: np.random.Generator) -> S:
        """Draw all that chance decides before the first decision."""

    def starts(self) -> Sequence[tuple[float, S]]:
        """Return all that may be dealt, with probabilities, for exact values; empty: not listed.

        Default: the one deal of a game without chance.
        """
        return ((1.0, self.deal(np.random.default_rng(0))),) if self.without_chance else ()

    def essence(self, state: S, seat: int) -> tuple[S, float]:
        """Return a state without what no longer matters to anybody, for exact values.

        Everybody must play on from it as from `state`. With it goes what the seat has earned for
        good, if the rewards of the state that is returned leave that out. Default: all matters.
        """
        return state, 0.0

    def distinct(self, view: Any, ask: Ask) -> Sequence[Action]:
        """Return actions of which no two lead to the same, for exact values; see `like`.

        In the order that breaks ties; of messages one for all that count alike. Default: `options`
        """
        return self.options(view, ask)

    def like(self, view: Any, ask: Ask, action: Action) -> Action:
        """Return the one of the `distinct` actions that leads to the same as an action."""
        return action

    @abstractmethod
    def due(self, state: S) -> tuple[Ask, ...]:
        """Return the decisions of the coming stage, by seat; empty if the game is over."""

    def then(self, state: S, actions: Mapping[int, Action]) -> S:
        """Return the state after a stage that leaves nothing to chance; see `outcomes`."""
        raise NotImplementedError(f"{self.name} defines neither `then` nor `outcomes`")

    def outcomes(self, state: S, actions: Mapping[int, Action]) -> Sequence[tuple[float, S]]:
        """Return the states that may follow a stage, with probabilities that sum to 1.

        `actions` are legal, one for every seat that is due. Equal calls return equal lists, so that
        the place in the list is a record of chance. Default: the one state of `then`.
        """
        return ((1.0, self.then(state, actions)),)

    def after(
        self, state: S, actions: Mapping[int, Action], rng: np.random.Generator
    ) -> tuple[int, S]:
        """Draw what follows a stage: its place among `outcomes`, and the state."""
        outcomes = self.outcomes(state, actions)
        if len(outcomes) == 1:
            return 0, outcomes[0][1]
        bounds = np.cumsum([weight for weight, _ in outcomes])
        index = min(int((rng.random() * bounds[-1] >= bounds).sum()), len(outcomes) - 1)
        return index, outcomes[index][1]

    def options(self, view: Any, what: What) -> Sequence[Action]:
        """Return all that can be answered, in the order that breaks ties; empty: it is not listed.

        Of a decision these are the legal actions. Default: the labels of its form in `forms`.
        """
        form = self.forms.get(what.kind)
        return tuple(form.items(label)[0] for label in form.labels) if form else ()

    def fault(self, view: Any, ask: Ask, action: Action) -> Broken | None:
        """Return how an action, of the right type, breaks the rules; None if it is legal.

        Default: one that is not among the `options`; a text above the `limit` of its form.
        """
        if options := self.options(view, ask):
            if action in options:
                return None
            known = dict.fromkeys(i for one in options for i in self.written(view, ask, one))
            items = self.written(view, ask, action)
            wrong = next((item for item in items if item not in known), words(action))
            return Broken("format", f"{wrong!r} is not one of {_shown(known)}")
        limit = self.form(view, ask).limit
        if limit and len(action) > limit:
            return Broken("rule", f"the message has {len(action):,} characters, limit {limit:,}")
        return None

    def default(self, view: Any, ask: Ask) -> Action:
        """Return the action that counts in place of a broken one under the policy ``default``.

        Default: the first of the `options`; without, silence.
        """
        return next(iter(self.options(view, ask)), "")

    def random(self, view: Any, ask: Ask, rng: np.random.Generator) -> Action:
        """Draw a legal action, uniformly where there are finitely many; talk says nothing."""
        options = self.options(view, ask)
        return options[int(rng.integers(len(options)))] if options else ""

    def struck(self, state: S, ask: Ask, how: str) -> S:
        """Return the state after a seat broke the rules for good: ``forfeit`` or ``eliminate``.

        ``forfeit`` ends the game, and the seat (with its team) has lost; ``eliminate`` takes the
        seat out, and the others go on if they can. Default: the first.
        """
        now: Any = state
        struck: S = now._replace(
            ending="forfeit",
            lost=(*now.lost, ask.seat),
            log=(*now.log, Event("struck", ask.seat, how)),
        )
        return struck

    # What it came to

    @abstractmethod
    def rewards(self, state: S) -> tuple[float, ...]:
        """Return what every seat got in a game that is over."""

    def wins(self, state: S) -> tuple[float, ...]:
        """Return every seat's share of the win in a game that is over: 1, 0 or between in a tie.

        Default: the teams with the highest reward share it, and each of their seats has the share;
        the seats of a team are taken to be paid alike.
        """
        rewards, teams = self.rewards(state), self.teams(state)
        top = max(rewards)
        first = [team for team in teams if rewards[team[0]] == top]
        return tuple(
            1 / len(first) if any(seat in team for team in first) else 0.0
            for seat in range(self.seats)
        )

    def ending(self, state: S) -> str:
        """Return in one word with underscores how a game ended, one of `endings`."""
        return str(getattr(state, "ending"))  # noqa: B009 (a convention, not a type)

    def rounds(self, state: S) -> int:
        """Return how many rounds, days or turns were begun."""
        return int(getattr(state, "round"))  # noqa: B009

    def roles(self, state: S) -> tuple[str, ...]:
        """Return the role of every seat, such as ``villager``; one word for all without roles."""
        return (self.role,) * self.seats if isinstance(self.role, str) else self.role

    def teams(self, state: S) -> tuple[tuple[int, ...], ...]:
        """Return the seats by team; without teams every seat is one of its own."""
        return self.sides or tuple((seat,) for seat in range(self.seats))

    @property
    def rotations(self) -> tuple[tuple[int, ...], ...]:
        """Where players sit, game after game on one deal: entry i is the seat of player i.

        Player 0 takes every seat once. Default: everybody moves on by one seat.
        """
        return tuple(
            tuple((i + r) % self.seats for i in range(self.seats)) for r in range(self.seats)
        )

    # What seats know

    def events(self, state: S) -> tuple[Event, ...]:
        """Return all that has happened, oldest first, hidden events too."""
        log: tuple[Event, ...] = getattr(state, "log")  # noqa: B009
        return log

    def view(self, state: S, seat: int) -> Any:
        """Return what a seat may know, in constant time."""
        return self.views(self, state, seat)

    def seat_name(self, seat: int) -> str:
        """Return what a seat is called at the table, such as ``Player 2`` or ``red spymaster``."""
        return f"Player {seat}"

    def line(self, event: Event) -> str:
        """Return an event as a line for readers, such as ``Player 2 votes for Player 0``."""
        who = "" if event.seat is None else self.seat_name(event.seat)
        line = {**_LINES, **self.lines}[event.kind]
        return line.format(who=who, what=words(event.data) or "(nothing)", data=event.data)

    def asked(self, probe: Probe) -> str:
        """Return what a probe asks for in words for readers, such as ``move of Player 2``."""
        plain = probe.name.replace("_", " ")
        if probe.about is None:
            return self.questions.get(probe.name, plain)
        return self.questions.get(probe.name, plain + " of {}").format(self.seat_name(probe.about))

    def told(self, kind: str, answer: Action) -> str:
        """Return a decision of a kind, or an answer to a probe of a name, in words for readers."""
        return words(answer)

    # Questions and answers

    def form(self, view: Any, what: What) -> Form:
        """Return how an answer is written. Default: as `forms` says, or as one of its options."""
        return self.forms.get(what.kind) or _form_of(
            what.kind, [self.written(view, what, one) for one in self.options(view, what)]
        )

    def read(self, view: Any, what: What, items: Sequence[Any]) -> Action | Broken:
        """Return what the items of a `Form` stand for, if it is legal, or can be true."""
        action = self.form(view, what).fault(items) or self.meant(view, what, items)
        if isinstance(action, Broken) or isinstance(what, Probe):
            return action
        return self.fault(view, what, action) or action

    def meant(self, view: Any, what: What, items: Sequence[Any]) -> Action | Broken:
        """Return what items of the right number and type stand for.

        A decision may be illegal, an answer to a probe must be one that can be true. Default: the
        option that is written so, whatever the case; else, of a decision, the item, or all of them.
        """
        options = self.options(view, what)
        for option in options:
            if _folded(self.written(view, what, option)) == _folded(items):
                return option
        if isinstance(what, Probe):
            return Broken("format", f"{words(tuple(items))!r} is not one of {_shown(options)}")
        return items[0] if len(items) == 1 else tuple(items)

    def written(self, view: Any, what: What, action: Action) -> list[Any]:
        """Return the items that `read` reads as an answer; oracles are told the truth in them."""
        return list(action) if isinstance(action, tuple) else [action]

    def probes(self, state: S, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return the literal questions beside a decision; asked again until none is new.

        Before a decision (`done` is None), and after it of what follows from what was `done`: these
        are asked of what the seat saw before, and have it in `Probe.given`. Some follow from what
        was `said` so far (None: nothing that could be read). Default: none.
        """
        return ()

    def truth(self, probe: Probe, seat: int, trail: Sequence[Stage[S]], at: int, end: S) -> Action:
        """Return the true answer to a probe that `seat` was asked in stage `at` of a whole game.

        `trail` are the stages of the game and `end` its last state. None: it never showed. Default:
        the `fact` of the stage.
        """
        if at >= len(trail):
            return None
        after = trail[at + 1].state if at + 1 < len(trail) else end
        return self.fact(self.view(trail[at].state, seat), probe, trail[at], after)

    def fact(self, view: Any, probe: Probe, stage: Stage[S], after: S) -> Action:
        """Return the true answer to a probe, given its stage and the state that follows.

        `view` is that of the seat that was asked. The state before may be an `essence`. Default:
        what the seat that the probe is about did in the stage.
        """
        return None if probe.about is None else stage.actions.get(probe.about)

    def likeliest(self, probe: Probe, chances: Mapping[Action, float]) -> Action:
        """Return the answer with the highest expected `hit`, given what is how likely to be true.

        Default: the likeliest, of several the first in the order of their text.
        """
        most = max(chances.values()) - TIE
        return next(said for said in sorted(chances, key=str) if chances[said] >= most)

    def guess(self, view: Any, probe: Probe, rng: np.random.Generator) -> Action:
        """Draw an answer to a probe that can be true. Default: one of its `options`."""
        options = self.options(view, probe)
        return options[int(rng.integers(len(options)))]

    def chance(
        self, view: Any, probe: Probe, truth: Action, rng: np.random.Generator
    ) -> float | None:
        """Return what an answer of `guess` scores in expectation; None: it has no meaning here.

        Default: the mean over the `options`, or over `GUESSES` draws where there are none.
        """
        said = self.options(view, probe) or [self.guess(view, probe, rng) for _ in range(GUESSES)]
        return sum(self.hit(probe, one, truth) for one in said) / len(said)

    def hit(self, probe: Probe, said: Action, truth: Action) -> float:
        """Return how right an answer is, from 0 to 1; default: 1 if it is the truth, else 0."""
        return float(said == truth)

    # One-step payoffs

    def payoff(self, state: S, seat: int, actions: Mapping[int, Action]) -> float | None:
        """Return what a stage adds to a seat's reward; None where the game has no such payoffs."""
        return None

    def supposed(self, view: Any, said: Said) -> Mapping[int, Action] | None:
        """Return what the others do in the stage if what a seat stated is true.

        None if that does not follow. Default: answers are the actions of whom probes are about.
        """
        others = {ask.seat for ask in self.due(view._state)} - {view.seat}
        stated = {probe.about: answer for probe, answer in said.items() if probe.about in others}
        return stated if stated.keys() == others else None

    def step_worths(self, view: Any, said: Said) -> Mapping[Action, float]:
        """Return what each option adds to the reward in this stage if what a seat stated is true.

        Empty where the game has no one-step payoffs, or where nothing follows from what was stated.
        Default: the `payoff` of its `options` against what is `supposed`.
        """
        supposed, state, seat = self.supposed(view, said), view._state, view.seat
        ask = next((ask for ask in self.due(state) if ask.seat == seat), None)
        if supposed is None or ask is None:
            return {}
        paid = {
            action: self.payoff(state, seat, {**supposed, seat: action})
            for action in self.options(view, ask)
        }
        return {action: worth for action, worth in paid.items() if worth is not None}

    def step_reply(self, view: Any, said: Said) -> Action | None:
        """Return the best reply to what a seat stated, as far as this stage's payoff goes.

        None where there is none. Default: the first of the best by `step_worths`.
        """
        worths = self.step_worths(view, said)
        return max(worths, key=worths.__getitem__) if worths else None

    def stepwise(
        self, state: S, seat: int, actions: Mapping[int, Action], reply: Action | None
    ) -> Stepwise | None:
        """Return the one-step payoffs of a decision, or None if the game does not define them.

        `actions` are those of the whole stage, `reply` is what `step_reply` returned. Default: by
        `payoff`; where no `options` are listed, such as for talk, all actions are taken to pay the
        same.
        """
        chosen = self.payoff(state, seat, actions)
        if chosen is None:
            return None
        ask = next(ask for ask in self.due(state) if ask.seat == seat)
        paid = {
            action: self.payoff(state, seat, {**actions, seat: action}) or 0.0
            for action in self.options(self.view(state, seat), ask)
        }
        if not paid:
            return Stepwise(chosen, chosen, chosen)
        return Stepwise(chosen, max(paid.values()), paid.get(reply, float("nan")))


_LINES = {"talk": "{who}: {what}", "struck": "{who} broke the rules and is out"}
"""Lines of events that no game has to word itself."""


LABELS = 64
"""The most options that are listed in a question, and that a model can be made to score."""


def _form_of(key: str, written: Sequence[list[Any]]) -> Form:
    """Return the form of an answer that is one of a list, given as items."""
    first = written[0]
    few = len(first) == 1 and len(written) <= LABELS
    labels = tuple(str(items[0]) for items in written) if few else ()
    return Form(key, type(first[0]), len(first), labels)


def _shown(options: Iterable[Action]) -> str:
    """Return what can be chosen, in words; of many the first and the last."""
    texts = [words(option) for option in options]
    return ", ".join(texts if len(texts) <= LABELS else [*texts[:3], "...", texts[-1]])


def _folded(items: Sequence[Any]) -> list[Any]:
    """Return items with texts in one case and without needless blanks."""
    return [" ".join(ascii_signs(i).casefold().split()) if isinstance(i, str) else i for i in items]


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

COUNTED = ("valid", "default")
"""Those on decisions whose action counted; an action can be null."""
