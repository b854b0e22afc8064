"""Literal and functional measures of Decrypto, from recorded turns alone.

Definitions after Lupu et al. 2025, arXiv 2506.20664, if they have one; how ΔFunctional and ΔToM
carry over from matrix games is this project's reading. See docs/decrypto.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from tomeval.core.once import once_each
from tomeval.games.decrypto.game import OUTCOMES, UNDECIDED
from tomeval.games.decrypto.seats import ENCODER_QUESTIONS
from tomeval.games.decrypto.turns import NONE
from tomeval.games.played import Played
from tomeval.games.scores import (
    BoolArray,
    Counted,
    FloatArray,
    Head,
    IntArray,
    Items,
    Scores,
    Terms,
    known,
    mean,
    percent,
    score,
)
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.statistics.bounded import FROM_ZERO

CHANCE = 1 / 24
"""How often Eve is right in the first turn, when she knows nothing."""

Shares = dict[str, tuple[BoolArray, BoolArray]]
"""Shares of turns by name: which turns are hits, and which count; each of shape (N,)."""


def turns_per_game(played: Played) -> Totals:
    """Return the turns of every game that ended by itself: a replay is as long as its record."""
    turns = np.bincount(played["game"], minlength=played.games).astype(np.float64)
    return Totals(turns, played.by_game["ended"].astype(np.float64))


def expects_bad(played: Played) -> tuple[BoolArray, BoolArray]:
    """Return on which turns Alice expects a bad outcome, and on which her expectation is known.

    Bad: she predicts that Eve guesses the code, or, if she was asked about him, that Bob does
    not. Both have shape (N,).
    """
    eve, bob = played["predicted_eve"], played["predicted_bob"]
    asked_bob = bool((bob != NONE).any())
    known, bad = played["own"] & (eve != NONE), eve == played["code"]
    if asked_bob:
        known, bad = known & (bob != NONE), bad | (bob != played["code"])
    return bad & known, known


def regrets(played: Played) -> dict[str, FloatArray]:
    """Return the functional measures of every turn, shape (N,), NaN where undefined.

    - ``value``: 1 where Bob decodes and Eve does not, else 0.
    - ``delta_functional``: best attainable value - value. It can be negative: Alice may give hints
      that the searched bank lacks.
    - ``delta_tom``: what a rational Alice loses who acts on her own predictions: where she expects
      a good outcome she sends these hints, best - value; where she expects a bad one she takes the
      best hints instead, 0.
    - ``response``: delta_functional - delta_tom: what was lost by not acting on predictions.
    """
    value = (~played["miscommunication"] & ~played["interception"]).astype(np.float64)
    functional = np.where(played["own"], played["best"] - value, np.nan)
    bad, known = expects_bad(played)
    belief = np.where(known, functional * ~bad, np.nan)
    return {
        "value": np.where(played["own"], value, np.nan),
        "delta_functional": functional,
        "delta_tom": belief,
        "response": functional - belief,
    }


_BELIEFS = ("weak_rc", "strong_rc", "weak_fb", "strong_fb", "consistent")
IN_VIEW = "_in_view"
"""Ends the names of measures whose questions quoted Eve's answer to prompt A."""
BELIEF_MEASURES = (*_BELIEFS, *(name + IN_VIEW for name in _BELIEFS))


@lru_cache(maxsize=8)
def turn_items(played: Played) -> Shares:
    """Return every share of turns; `MEASURES` says what each means.

    Predictions count on turns with a valid prediction and a guess of the listener's own.
    """
    every = np.ones(len(played["step"]), dtype=bool)
    bad, asked = expects_bad(played)
    shares: Shares = {
        "miscommunication_per_turn": (played["miscommunication"], every),
        "interception_per_turn": (played["interception"], every),
        "knowingly_bad": (bad, asked),
    }
    for question in ENCODER_QUESTIONS:
        predicted = played[f"predicted_{question}"]
        listener = _listener(question)
        truth = played[listener]
        among = (predicted != NONE) & played[f"guessed_{listener}"]
        shares[f"tom_{question}"] = (predicted == truth, among)
        shares[f"predicted_{question}"] = (predicted == played["code"], among)
        shares[f"actual_{question}"] = (truth == played["code"], among)
    shares |= _belief_items(played)
    return shares


def _belief_items(played: Played) -> Shares:
    """Return Eve's probe rates, of the turns on which the needed answers were given.

    Except for ``keywords_right``, only turns count on which A was answered and wrong (Gopnik and
    Astington 1988; Lupu et al. 2025).
    """
    a, truth = played["believed_keywords"], played["keywords"]
    shares: Shares = {"keywords_right": (a == truth, a != "")}
    wrong = (a != "") & (a != truth)
    for ending in ("", IN_VIEW):
        b, c = (played[whose + ending] for whose in ("own_belief", "other_belief"))
        some_b, some_c = wrong & (b != ""), wrong & (c != "")
        of_both = {
            "weak_rc": (b != truth, some_b),
            "strong_rc": (b == a, some_b),
            "weak_fb": (c != truth, some_c),
            "strong_fb": (c == a, some_c),
            "consistent": (b == c, some_b & some_c),
        }
        shares |= {name + ending: share for name, share in of_both.items()}
    return shares


def _listener(question: str) -> str:
    return "bob" if question == "bob" else "eve"


def turns_a_wrong(played: Played) -> int:
    """Return on how many turns A could be read and was wrong."""
    right, readable = turn_items(played)["keywords_right"]
    return int((readable & ~right).sum())


def _outcome(name: str, played: Played) -> Counted:
    """Return which of all games ended in one way, or are undecided."""
    hits = played.by_game["outcome"] == name
    return np.arange(played.games), hits, np.ones(played.games, dtype=bool)


def _share(name: str, played: Played) -> Counted:
    return played["game"], *turn_items(played)[name]


def _regret(name: str, played: Played) -> Counted:
    return known(played["game"], regrets(played)[name])


_PAPER = "Lupu et al. 2025, arXiv 2506.20664"
_OWN = "this project, docs/decrypto.md"
_PROBES = f"Gopnik and Astington 1988; {_PAPER}"


def _percents(source: str, meanings: dict[Head, str]) -> Iterator[Measure]:
    """Yield shares of turns, or of games if the name is an outcome's."""
    for head, meaning in meanings.items():
        items = _outcome if head[0] in (*OUTCOMES, UNDECIDED) else _share
        yield percent(head, partial(items, head[0]), meaning, source)


def _per_turn(head: Head, meaning: str, **more: Any) -> Measure:
    name, heading, better = head
    items = partial(_regret, name)
    return mean((f"{name}_per_turn", heading, better), items, meaning, _OWN, "value", **more)


def _belief_measures(suffix: str, more: str, condition: str) -> Iterator[Measure]:
    """Yield the measures of prompts B and C in one condition."""
    meanings: dict[Head, str] = {
        ("weak_rc", "weak RC %", 1): "Representational change, weak: shown the keywords, Eve "
        "does not say that she had thought so before. Of the turns on which A was wrong.",
        ("strong_rc", "strong RC %", 1): "Representational change, strong: shown the keywords, "
        "Eve repeats what she had said in A.",
        ("weak_fb", "weak FB %", 1): "False belief, weak: Eve does not say that another "
        "interceptor will name the keywords.",
        ("strong_fb", "strong FB %", 1): "False belief, strong: Eve says that another "
        "interceptor will name what she had said in A.",
        ("consistent", "B = C %", 0): "The share of turns on which Eve answers for herself and "
        "for another alike.",
    }
    named = {
        (name + suffix, heading + more, better): f"{meaning} {condition}"
        for (name, heading, better), meaning in meanings.items()
    }
    return _percents(_PROBES, named)


_LISTENERS = {
    "eve": ("Eve", "Eve"),
    "eve_reminded": ("Eve, reminded", "Eve, reminded that Eve does not know the keywords"),
    "bob": ("Bob", "Bob"),
}


def _predictions(question: str) -> Iterator[Measure]:
    short, whom = _LISTENERS[question]
    listener = "Bob" if question == "bob" else "Eve"
    more = f" ({short.partition(', ')[2]})" if ", " in short else ""
    meanings: dict[Head, str] = {
        (f"tom_{question}", f"ToM % ({short})", 1): "Literal theory of mind: the share of turns on "
        f"which Alice predicted the guess of {whom}. Higher is better.",
        (f"predicted_{question}", f"says {listener} right %{more}", 0): "The share of turns on "
        f"which Alice predicts that {listener} guesses the code, asked about {whom}.",
        (f"actual_{question}", f"{listener} right %{more}", 0): "The share of the same turns on "
        f"which {listener} did guess the code.",
    }
    return _percents(_PAPER, meanings)


def _brier(question: str, played: Played) -> Counted:
    guessed = played[f"guessed_{_listener(question)}"]
    return known(played["game"], np.where(guessed, played[f"brier_{question}"], np.nan))


_BRIER = tuple(
    mean(
        (f"brier_{question}", f"Brier score ({short})", -1),
        partial(_brier, question),
        f"How far the probabilities that Alice gives to the codes are from the guess of {whom}: "
        f"the sum over all codes of the squared error. 0 is best, 2 worst; {1 - CHANCE:.4g} if all "
        "codes are equally likely.",
        "Brier 1950",
        "score",
        bounds=(0.0, 2.0),
    )
    for question, (short, whom) in _LISTENERS.items()
)
BRIER_MEASURES = tuple(measure.name for measure in _BRIER)
"""Measures that only games with scored predictions have."""

FLOOR = (
    "Uses and plays are lower bounds, as the best hints were not searched (best_turn = true does, "
    "against a greedy Bob and an Eve by embeddings)"
)

_KNOWS_BOB = (
    "Does Alice predict Bob? Her right predictions of his guess beyond chance, 1/24; apart from "
    "knows, as one who always expects him to be right is right about him after any good hints."
)
_RIGHT = (
    "Right guesses of the code beyond chance, 1/24; 100: always right. It is not called plays, as "
    "what can be attained is not known."
)


@once_each
def scores(played: Played) -> Scores:
    """Return what the scores of a pairing are made of; a turn is worth 1 or 0, see `regrets`.

    - *knows*: Alice's right predictions of Eve's guess beyond 1/24, from the second turn on: in
      the first one Eve knows nothing, and an embedding always says 1-2-3;
    - *uses*: 1 - sum(max(v* - good, 0)) / sum(v* - v of random hints): `good` is 1 if by her own
      predictions Bob decodes and Eve does not, v* the best value of the turn;
    - *plays*: 1 - sum(v* - v) / the same, over the turns with hints of her own.

    Where v* was not searched, 1 stands for it, and 1/24 times 23/24 for random hints: the scores
    are lower bounds.
    """
    turns, code = Items(played["game"], played.games), played["code"]
    unknown = ~np.isfinite(played["best"])

    def right(said: IntArray, truth: IntArray, among: BoolArray) -> Terms:
        hits = np.where(among, said == truth, np.nan)
        return turns.hits(hits, np.full(len(code), CHANCE), np.ones(len(code)))

    best = np.where(unknown, 1.0, played["best"])
    span = best - np.where(unknown, CHANCE * (1 - CHANCE), played["random"])
    eve, bob = played["predicted_eve"], played["predicted_bob"]
    good = np.where((eve != NONE) & (bob != NONE), (bob == code) & (eve != code), np.nan)
    value = regrets(played)["value"]
    later = played["step"] > 1
    knows = right(eve, played["eve"], (eve != NONE) & played["guessed_eve"] & later)
    plans = turns.losses(np.maximum(best - np.where(played["own"], good, np.nan), 0.0), span)
    nothing = turns.losses(np.full(len(code), np.nan), span)
    return Scores(
        *(knows, nothing, plans, plans, turns.losses(best - value, span)),
        {
            "knows_bob": right(bob, played["bob"], (bob != NONE) & played["guessed_bob"]),
            "right_bob": right(played["bob"], code, played["guessed_bob"]),
            "right_eve": right(played["eve"], code, played["guessed_eve"] & later),
        },
        asked=bool((eve != NONE).any()),
        remark=FLOOR if unknown.any() else "",
        floor=bool(unknown.any()),
    )


_score = partial(score, scores=scores)

# From the side of Alice and Bob, who are scored together: a miscommunication is bad, and so is an
# interception.
MEASURES = registry(
    *map(_score, ("knows", "uses", "plays")),
    _score("knows_bob", meaning=_KNOWS_BOB, source=_OWN),
    *(
        _score(f"right_{name.lower()}", heading=f"{name} right", meaning=_RIGHT, source=_OWN)
        for name in ("Bob", "Eve")
    ),
    *_percents(
        _PAPER,
        {
            ("miscommunication", "miscomm. %", -1): "Games lost by miscommunication.",
            ("interception", "interc. %", -1): "Games lost by interception.",
            ("both", "both %", -1): "Games in which both limits were reached at once.",
            ("survived", "survived %", 1): "Games that Alice and Bob survived.",
        },
    ),
    Measure(
        "turns_per_game",
        "turns",
        "Turns of a game. More is better for Alice and Bob.",
        "turns",
        1,
        _PAPER,
        lambda played, _: turns_per_game(played),
        bounds=FROM_ZERO,
    ),
    *_percents(
        _PAPER,
        {
            ("miscommunication_per_turn", "miscomm./turn %", -1): "The share of turns on which Bob "
            "guessed wrong.",
            ("interception_per_turn", "interc./turn %", -1): "The share of turns on which Eve "
            "guessed right.",
        },
    ),
    *(measure for question in ENCODER_QUESTIONS for measure in _predictions(question)),
    *_percents(
        _PAPER,
        {
            ("keywords_right", "A right %", 0): "The share of turns on which Eve names the four "
            "keywords (prompt A).",
        },
    ),
    *_belief_measures("", "", "Her answer to A was not in view."),
    *_belief_measures(IN_VIEW, ", A in view", "The question quoted her answer to A."),
    _per_turn(
        ("value", "value/turn", 1),
        "1 on turns on which Bob decodes and Eve does not, else 0; mean over games.",
        bounds=(0.0, 1.0),  # a turn is worth 0 or 1, in expectation between them
    ),
    _per_turn(
        ("delta_functional", "ΔFunctional/T", -1),
        "Functional theory of mind, as regret: how much less value per turn Alice's hints had than "
        "the best that the searched bank holds against these partners. Lower is better; it can be "
        "negative, because she may give hints that the bank lacks.",
    ),
    _per_turn(
        ("delta_tom", "ΔToM/T", -1),
        "Belief: the regret per turn of an Alice who acts on her own predictions: she sends the "
        "hints where she expects a good outcome, and else takes the best.",
    ),
    _per_turn(
        ("response", "response", 0),
        "Response: regret beyond belief, from not acting on one's own predictions.",
    ),
    *_percents(
        _OWN,
        {
            ("knowingly_bad", "bad, sent anyway %", -1): "The share of turns on which Alice "
            "expects a bad outcome and sends the hints anyway.",
            (UNDECIDED, "undecided %", 0): "Replays: games without an outcome, because the record "
            "ends before either limit.",
        },
    ),
    *_BRIER,
)
"""All measures, in the order of tables; those that only some runs have come last."""

FOR_EVE: dict[str, Literal[1, 0, -1]] = {
    "interception_percent": 1,
    "interception_per_turn_percent": 1,
    "survived_percent": -1,
    "turns_per_game": -1,
    "value_per_turn": -1,
}

"""The side of measures that is better for Eve; all others are not her doing."""
