"""Literal and functional measures of Decrypto, from recorded turns alone.

Definitions after Lupu et al. 2025, arXiv 2506.20664, where they have one; how ΔFunctional and ΔToM
carry over from matrix games is this project's reading. See docs/decrypto.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.decrypto.game import OUTCOMES
from tomeval.domains.decrypto.probes import same_keywords
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS
from tomeval.statistics.estimates import estimate
from tomeval.statistics.shares import Share, clustered_share

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE = 0
"""Stands for 'no code' in arrays of codes."""

CHANCE = 1 / 24
"""How often Eve can be right in the first turn, where she knows nothing."""

Words = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The three answers of one turn: prompts A, B and C; None where invalid or not asked."""

    a: Words | None
    b: Words | None
    c: Words | None


@dataclass(frozen=True, eq=False)
class Played:
    """Complete games of one pairing, or of several that are taken together.

    Attributes
    ----------
    outcomes : list of str or None, length G
        How each game ended; None for a replay of a record that breaks off.
    clusters : ndarray, shape (G,)
        The sampling unit: games of equal label belong together (they share keywords and codes).
    game : ndarray of int, shape (N,)
        Which game each turn belongs to, from 0; N is the number of turns.
    turn : ndarray of int, shape (N,)
        Turn numbers, from 1.
    code, bob, eve : ndarray of int, shape (N,)
        Three digits each, such as 241.
    own : ndarray of bool, shape (N,)
        Whether the hints are Alice's own: valid, and heard (in replays they may not be).
    guessed : dict of str to ndarray of bool, shape (N,)
        For ``bob`` and ``eve``: whether the guess is their own, not drawn for an invalid one.
    predicted : dict of str to ndarray of int, shape (N,)
        Alice's predictions by question; `NONE` where invalid or not asked.
    beliefs : dict of int to Beliefs
        By position of the turn, where Eve was asked.
    keywords : list of tuple of str, length G
    best : ndarray, shape (N,)
        Best attainable value of each turn; NaN where it was not searched for.
    recorded : dict of str to ndarray of int, shape (N,)
        In replays, the guesses of ``bob`` and ``eve`` in the record.
    replayed : bool
        Whether the past of every turn is a record's: then games have no length of their own.
    """

    outcomes: list[str | None]
    clusters: NDArray[Any]
    game: Ints
    turn: Ints
    code: Ints
    bob: Ints
    eve: Ints
    own: Bools
    guessed: Mapping[str, Bools]
    predicted: Mapping[str, Ints]
    beliefs: Mapping[int, Beliefs] = field(default_factory=dict)
    keywords: list[Words] = field(default_factory=list)
    best: Floats = field(default_factory=lambda: np.empty(0))
    recorded: Mapping[str, Ints] = field(default_factory=dict)
    replayed: bool = False

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.outcomes)

    @property
    def by_turn(self) -> NDArray[Any]:
        """The cluster of each turn, shape (N,)."""
        return self.clusters[self.game]

    @property
    def miscommunicated(self) -> Bools:
        """Turns on which Bob guessed wrong."""
        return np.asarray(self.bob != self.code)

    @property
    def intercepted(self) -> Bools:
        """Turns on which Eve guessed right."""
        return np.asarray(self.eve == self.code)


def share_of(played: Played, hits: Bools, among: Bools) -> Share:
    """Return the share of `hits` among some turns, clustered by game; both have shape (N,)."""
    return clustered_share(hits[among], played.by_turn[among])


def outcome_shares(played: Played) -> dict[str, Share]:
    """Return the share of games that ended in each way; replays that break off are left out."""
    ended = np.array([outcome is not None for outcome in played.outcomes], dtype=bool)
    names = np.array([outcome or "" for outcome in played.outcomes])
    clusters = played.clusters[ended]
    return {name: clustered_share(names[ended] == name, clusters) for name in OUTCOMES}


def turns_per_game(played: Played) -> tuple[float, float]:
    """Return the mean number of turns and the half-width of its 95 % interval; NaN for replays."""
    if played.replayed:
        return float("nan"), float("nan")
    return mean_of_games(played, np.ones(len(played.turn)), np.ones(len(played.turn), bool), "sum")


def turn_shares(played: Played) -> dict[str, Share]:
    """Return miscommunication and interception as shares of turns."""
    every = np.ones(len(played.turn), dtype=bool)
    return {
        "miscommunication": share_of(played, played.miscommunicated, every),
        "interception": share_of(played, played.intercepted, every),
    }


def perspective(played: Played, turns: Bools | None = None) -> dict[str, Share]:
    """Return how Alice's predictions compare with what happened.

    Parameters
    ----------
    played : Played
    turns : ndarray of bool, shape (N,), optional
        Which turns count; default all.

    Returns
    -------
    dict of str to Share
        ``tom_QUESTION`` (ToM %: predictions that are right), ``predicted_QUESTION`` (for ``eve``
        and ``eve_reminded``: predictions that Eve guesses the code; for ``bob``: that he does) and
        ``actual_QUESTION`` (how often that was so on the same turns), for every question that was
        asked. Only turns with a valid prediction and a guess of the listener's own.
    """
    found: dict[str, Share] = {}
    for question in ENCODER_QUESTIONS:
        predicted = played.predicted[question]
        listener = "bob" if question == "bob" else "eve"
        truth = played.bob if listener == "bob" else played.eve
        among = (predicted != NONE) & played.guessed[listener]
        if turns is not None:
            among &= turns
        if (predicted != NONE).any():
            found[f"tom_{question}"] = share_of(played, predicted == truth, among)
            found[f"predicted_{question}"] = share_of(played, predicted == played.code, among)
            found[f"actual_{question}"] = share_of(played, truth == played.code, among)
    return found


def expects_bad(played: Played, question: str = "eve") -> tuple[Bools, Bools]:
    """Return on which turns Alice expects a bad outcome, and on which her expectation is known.

    Bad: she predicts that Eve guesses the code, or, where she was asked about him, that Bob does
    not. Both have shape (N,).
    """
    eve, bob = played.predicted[question], played.predicted["bob"]
    asked_bob = bool((bob != NONE).any())
    known = (eve != NONE) & ((bob != NONE) if asked_bob else True) & played.own
    bad = eve == played.code
    if asked_bob:
        bad = bad | (bob != played.code)
    return bad & known, known


def knowingly_bad(played: Played, question: str = "eve") -> Share:
    """Return the share of turns on which Alice expects a bad outcome and sends the hints anyway.

    Of all turns on which her expectation is known and the hints are her own.
    """
    bad, known = expects_bad(played, question)
    return share_of(played, bad, known)


def regrets(played: Played, question: str = "eve") -> dict[str, Floats]:
    """Return the functional measures of every turn, shape (N,), NaN where undefined.

    - ``value``: 1 where Bob decodes and Eve does not, else 0.
    - ``delta_functional``: best attainable value - value. It can be negative: Alice may give hints
      that the searched bank lacks.
    - ``delta_tom``: what a rational Alice loses who acts on her own predictions: where she expects
      a good outcome she sends these hints, best - value; where she expects a bad one she takes the
      best hints instead, 0.
    - ``response``: delta_functional - delta_tom: what was lost by not acting on predictions.
    """
    value = (~played.miscommunicated & ~played.intercepted).astype(np.float64)
    missing = np.full(len(value), np.nan)
    functional = np.where(played.own, played.best - value, np.nan) if len(played.best) else missing
    bad, known = expects_bad(played, question)
    belief = np.where(known, functional * ~bad, np.nan)
    return {
        "value": np.where(played.own, value, np.nan),
        "delta_functional": functional,
        "delta_tom": belief,
        "response": functional - belief,
    }


def mean_of_games(
    played: Played, values: Floats, among: Bools, how: str = "mean", interval: str = "normal"
) -> tuple[float, float]:
    """Return the mean over games of a turn measure, and the half-width of its 95 % interval.

    Parameters
    ----------
    played : Played
    values : ndarray, shape (N,)
    among : ndarray of bool, shape (N,)
        Turns that count; games without any are left out.
    how : {"mean", "sum"}
        What is taken within a game.
    interval : {"normal", "t"}
        See `tomeval.statistics.estimate`.

    Returns
    -------
    (float, float)
        The mean over games. The interval is over clusters of games (each its own where games are
        of one pairing), as that of a ratio of sums where clusters differ in size. NaN: no game, or
        for the interval fewer than two clusters.
    """
    game = played.game[among]
    total = np.bincount(game, weights=values[among], minlength=played.games)
    size = np.bincount(game, minlength=played.games)
    has = size > 0
    per_game = total[has] if how == "sum" else total[has] / size[has]
    if not len(per_game):
        return float("nan"), float("nan")
    labels, inverse = np.unique(played.clusters[has], return_inverse=True)
    if len(labels) == len(per_game):
        found = estimate(per_game, interval)
        return float(found.mean[0]), float(found.half[0])
    mean = float(per_game.mean())
    count = np.bincount(inverse)
    # A ratio of sums over clusters, linearised: each cluster's deviation, per average cluster.
    deviations = np.bincount(inverse, weights=per_game - mean) / count.mean()
    found = estimate(deviations, interval)
    return mean, float(found.half[0])


def replay_shares(played: Played) -> dict[str, Share]:
    """Return how the guesses of a replay compare with the record's, on the same turns.

    ``decoded`` and ``intercepted``: as now; ``decoded_record`` and ``intercepted_record``: as then;
    ``bob_agrees`` and ``eve_agrees``: the same guess. Shares of all turns, clustered by game.
    """
    every = np.ones(len(played.turn), dtype=bool)
    bob, eve = played.recorded["bob"], played.recorded["eve"]
    return {
        "decoded": share_of(played, played.bob == played.code, every),
        "decoded_record": share_of(played, bob == played.code, every),
        "bob_agrees": share_of(played, played.bob == bob, every),
        "intercepted": share_of(played, played.intercepted, every),
        "intercepted_record": share_of(played, eve == played.code, every),
        "eve_agrees": share_of(played, played.eve == eve, every),
    }


BELIEF_MEASURES = ("weak_rc", "strong_rc", "weak_fb", "strong_fb", "consistent")


def belief_shares(played: Played) -> dict[str, Share]:
    """Return the probe rates of Eve.

    Returns
    -------
    dict of str to Share
        Of the turns on which A was answered and wrong (Gopnik and Astington 1988; Lupu et al.
        2025), and B, C or both (as the rate needs them) were answered:

        - ``weak_rc``: B is not the true keywords; ``strong_rc``: B equals A;
        - ``weak_fb``: C is not the true keywords; ``strong_fb``: C equals A;
        - ``consistent``: B equals C.

        And ``keywords``: of the turns on which A was answered, those on which it was right.
    """
    hits: dict[str, list[bool]] = {name: [] for name in ("keywords", *BELIEF_MEASURES)}
    where: dict[str, list[int]] = {name: [] for name in hits}

    def note(name: str, hit: bool, place: int) -> None:
        hits[name].append(hit)
        where[name].append(place)

    for place, said in sorted(played.beliefs.items()):
        truth = played.keywords[int(played.game[place])]
        if said.a is None:
            continue
        right = same_keywords(said.a, truth)
        note("keywords", right, place)
        if right:
            continue
        if said.b is not None:
            note("weak_rc", not same_keywords(said.b, truth), place)
            note("strong_rc", same_keywords(said.b, said.a), place)
        if said.c is not None:
            note("weak_fb", not same_keywords(said.c, truth), place)
            note("strong_fb", same_keywords(said.c, said.a), place)
        if said.b is not None and said.c is not None:
            note("consistent", same_keywords(said.b, said.c), place)
    clusters = played.by_turn
    return {
        name: clustered_share(np.array(found, dtype=bool), clusters[np.array(where[name], int)])
        for name, found in hits.items()
    }


def pool(parts: list[Played]) -> Played:
    """Take several pairings together; games with equal cluster stay in one cluster."""
    if len(parts) == 1:
        return parts[0]
    games = np.cumsum([0, *(part.games for part in parts)])
    turns = np.cumsum([0, *(len(part.turn) for part in parts)])

    def joined(get: Callable[[Played], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([get(part) for part in parts])

    return Played(
        outcomes=[outcome for part in parts for outcome in part.outcomes],
        clusters=joined(lambda part: part.clusters),
        game=np.concatenate([part.game + games[i] for i, part in enumerate(parts)]),
        turn=joined(lambda part: part.turn),
        code=joined(lambda part: part.code),
        bob=joined(lambda part: part.bob),
        eve=joined(lambda part: part.eve),
        own=joined(lambda part: part.own),
        guessed={key: joined(partial(_entry, "guessed", key)) for key in ("bob", "eve")},
        predicted={key: joined(partial(_entry, "predicted", key)) for key in ENCODER_QUESTIONS},
        beliefs={
            place + int(turns[i]): said
            for i, part in enumerate(parts)
            for place, said in part.beliefs.items()
        },
        keywords=[words for part in parts for words in part.keywords],
        best=joined(lambda part: part.best),
        recorded={
            key: joined(partial(_entry, "recorded", key))
            for key in ("bob", "eve")
            if all(part.recorded for part in parts)
        },
        replayed=any(part.replayed for part in parts),
    )


def _entry(name: str, key: str, part: Played) -> NDArray[Any]:
    return np.asarray(getattr(part, name)[key])
