"""Decrypto as the loop of all games plays it: Alice gives hints, then Bob and Eve guess at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import (
    CODES,
    DIGITS,
    ENDINGS,
    MAX_HINT_LENGTH,
    Deal,
    Game,
    Guess,
    Hints,
    Rules,
    Turn,
    View,
    as_code,
    clean_hint,
    hint_fault,
    outcome_of,
)
from tomeval.games.decrypto.seats import (
    ALICE,
    BELIEFS,
    BOB,
    DECODE,
    ENCODE,
    ENCODER_QUESTIONS,
    EVE,
    INTERCEPT,
    INTERCEPTOR_QUESTIONS,
    NAMES,
    ROLES,
    Probes,
    comparable,
)
from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Broken,
    Event,
    Form,
    Probe,
    Said,
    Stage,
    What,
)
from tomeval.lexicon.words import WordLists


def shown(code: Guess) -> str:
    """Return a code as people write it; no guess is "nothing".

    Examples
    --------
    >>> shown((2, 4, 1))
    '2-4-1'
    """
    return "-".join(map(str, code)) or "nothing"


def result_text(turn: Turn) -> str:
    """Return how a turn ended, as a sentence.

    Examples
    --------
    >>> result_text(Turn((2, 4, 1), ("a", "b", "c"), (2, 4, 1), (1, 2, 3)))
    'The code was 2-4-1. Bob guessed 2-4-1: right. Eve guessed 1-2-3: no interception.'
    """
    bob = "wrong, a miscommunication" if turn.miscommunicated else "right"
    eve = "an interception" if turn.intercepted else "no interception"
    return (
        f"The code was {shown(turn.code)}. Bob guessed {shown(turn.bob)}: {bob}. "
        f"Eve guessed {shown(turn.eve)}: {eve}."
    )


_ABOUT = {"eve": EVE, "eve_reminded": EVE, "bob": BOB}


_CODE = Form("code", int, 3, tuple(map(shown, CODES)))
_NO_CODE = Broken("format", "a code is three different digits from 1 to 4")


class Decrypto(ArenaGame[Game]):
    """The game with its parameters; a turn is a round of two stages.

    Parameters
    ----------
    lists : WordLists
        What keywords are dealt from, and hints at random drawn from.
    wanted : Probes
        The literal questions: Alice's follow from her hints, Eve's B and C from her answer to A.
    """

    name = "decrypto"
    round_word = "turn"
    on_broken: ClassVar[tuple[str, ...]] = ()
    role = ROLES
    sides = ((ALICE, BOB), (EVE,))
    endings = ENDINGS
    rotations = ((ALICE, BOB, EVE),)
    seats = 3
    questions: ClassVar[Mapping[str, str]] = {
        "eve": "Eve's guess",
        "eve_reminded": "Eve's guess, reminded of what she does not know",
        "bob": "Bob's guess",
    }
    forms: Mapping[str, Form] = {
        ENCODE: Form("hints", str, 3),
        **dict.fromkeys((DECODE, INTERCEPT, *ENCODER_QUESTIONS), _CODE),
        **dict.fromkeys(INTERCEPTOR_QUESTIONS, Form("keywords", str, 4)),
    }

    def __init__(self, lists: WordLists, rules: Rules, wanted: Probes) -> None:
        self.lists, self.rules, self.wanted = lists, rules, wanted
        self.length, self.usual = 3 * rules.turns, rules.turns

    def deal(self, rng: np.random.Generator) -> Game:
        """Draw four different keywords, and a code for every turn, no code twice.

        The order of the list matters to the draw.
        """
        keywords = self.lists.keywords
        places = rng.choice(len(keywords), size=len(DIGITS), replace=False)
        order = rng.permutation(len(CODES))[: self.rules.turns]
        one, two, three, four = (keywords[i] for i in places)
        return Game(Deal((one, two, three, four), tuple(CODES[i] for i in order)), self.rules)

    def due(self, state: Game) -> tuple[Ask, ...]:
        """Return Alice, and once there are hints Bob and Eve."""
        if self.over(state.turns, state.rules):
            return ()
        if state.hints is None:
            return (Ask(ALICE, ENCODE),)
        return Ask(BOB, DECODE), Ask(EVE, INTERCEPT)

    def over(self, turns: Sequence[Turn], rules: Rules) -> bool:
        """Return whether nothing is due after some turns."""
        return outcome_of(turns, rules) is not None

    def then(self, state: Game, actions: Mapping[int, Action]) -> Game:
        """Return the game with hints, or after the turn."""
        if state.hints is None:
            return replace(state, hints=actions[ALICE])
        return state.after(state.hints, actions[BOB], actions[EVE])

    def options(self, view: Any, what: What) -> Sequence[Action]:
        """Return the codes; hints and keywords are not listed."""
        return CODES if self.forms[what.kind].labels else ()

    def fault(self, view: Any, ask: Ask, action: Action) -> Broken | None:
        """Return why hints, or a code, are against the rules."""
        if ask.kind != ENCODE:
            return None if action in CODES else _NO_CODE
        wrong = hint_fault(action, view.keywords)
        return None if wrong is None else Broken("rule", wrong)

    def meant(self, view: Any, what: What, items: Sequence[Any]) -> Action | Broken:
        """Return hints and keywords trimmed, and codes."""
        if self.forms[what.kind].kind is int:
            return as_code(items) or _NO_CODE
        words = tuple(map(clean_hint, items))
        if what.kind == ENCODE:
            return words
        if all(0 < len(word) <= MAX_HINT_LENGTH and word.isprintable() for word in words):
            return words
        return Broken("format", f"a keyword must be a text of 1 to {MAX_HINT_LENGTH} characters")

    def random(self, view: Any, ask: Ask, rng: np.random.Generator) -> Action:
        """Draw three legal hints, or a code."""
        if ask.kind == ENCODE:
            return random_hints(view, self.lists.hints, rng)
        return CODES[int(rng.integers(len(CODES)))]

    # What it came to

    def rewards(self, state: Game) -> tuple[float, ...]:
        """Return the turns on which Bob decodes and Eve does not; less as many for Eve."""
        good = float(sum(not turn.miscommunicated and not turn.intercepted for turn in state.turns))
        return good, good, -good

    def wins(self, state: Game) -> tuple[float, ...]:
        """Return who won: Alice and Bob if they survived, else Eve."""
        survived = float(state.outcome == "survived")
        return survived, survived, 1.0 - survived

    def ending(self, state: Game) -> str:
        """Return one of `game.OUTCOMES`; empty if the game goes on."""
        return state.outcome or ""

    def rounds(self, state: Game) -> int:
        """Return the turns that were begun."""
        return len(state.turns) + (state.outcome is None)

    # What seats know

    def seat_name(self, seat: int) -> str:
        """Return Alice, Bob or Eve."""
        return NAMES[ROLES[seat]]

    def events(self, state: Game) -> tuple[Event, ...]:
        """Return the keywords, and the turns that are over."""
        dealt = Event("keywords", None, state.deal.keywords, (ALICE, BOB))
        return dealt, *(Event("turn", None, turn) for turn in state.turns)

    def line(self, event: Event) -> str:
        """Return the keywords, or the hints that were heard and what the turn came to."""
        if event.kind == "keywords":
            return f"keywords {', '.join(event.data)}"
        return f"{', '.join(event.data.hints)}. {result_text(event.data)}"

    def view(self, state: Game, seat: int) -> View:
        """Return what a seat may know; listeners see the last hints."""
        return replace(state.view(seat, state.hints or ("", "", "")), game=self)

    # Literal questions

    def probes(self, state: Game, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return Alice's predictions of the guesses; of Eve A, then B and C if A was wrong.

        Eve is asked from the second turn on; B and C show the keywords, and some her answer to A.
        """
        if ask.seat == ALICE:
            names = [name for name in ENCODER_QUESTIONS if getattr(self.wanted, name)]
            made = done is not None
            return tuple(Probe(name, None, done) for name in names) if made else ()
        wanted = [name for name in BELIEFS if getattr(self.wanted, name)]
        if ask.seat != EVE or done is not None or not wanted or not state.turns:
            return ()
        first, true = Probe("keywords"), state.deal.keywords
        answer = said.get(first)
        if answer is None or self.hit(first, answer, true):
            return (first,)
        shown = {"beliefs": (true,), "beliefs_in_view": (true, answer)}
        return (first, *(Probe(q, None, shown[name]) for name in wanted for q in BELIEFS[name]))

    def step_worths(self, view: Any, said: Mapping[Probe, Action]) -> Mapping[Action, float]:
        """Return nothing: a turn has no payoffs before the guesses."""
        return {}

    def stepwise(self, *stage: Any) -> None:
        """Return nothing, likewise."""
        return None

    def truth(
        self, probe: Probe, seat: int, trail: Sequence[Stage[Game]], at: int, end: Game
    ) -> Action:
        """Return the guess that followed, if it is one, or the keywords; B, C are held to A."""
        if probe.name not in _ABOUT:
            return trail[at].state.deal.keywords if probe.name == "keywords" else None
        guess = trail[at + 1].actions.get(_ABOUT[probe.name]) if at + 1 < len(trail) else None
        return guess if guess in CODES else None

    def chance(
        self, view: Any, probe: Probe, truth: Action, rng: np.random.Generator
    ) -> float | None:
        """Return how likely a random code is the right one; keywords have no such chance."""
        return 1 / len(CODES) if probe.name in _ABOUT else None

    def hit(self, probe: Probe, said: Action, truth: Action) -> float:
        """Return whether it is the same code, or the same keywords whatever their case."""
        return float(
            said == truth if probe.name in _ABOUT else comparable(said) == comparable(truth)
        )


def random_hints(view: View, words: Sequence[str], rng: np.random.Generator) -> Hints:
    """Draw three hints uniformly until they are legal."""
    for _ in range(1000):
        one, two, three = (words[int(i)] for i in rng.integers(len(words), size=3))
        hints = (one, two, three)
        if hint_fault(hints, view.keywords) is None:
            return hints
    raise TomevalError("almost no hint words are legal hints")
