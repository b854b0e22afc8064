"""Diagnostic partners: machines that tell two subjects apart best, or pairs worth telling apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.machines import (
    Machines,
    as_machine,
    count_connected,
    every_machine,
    joined,
    one_of_a_kind,
)
from tomeval.domains.matrix.optima import relevance
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.played import FloatArray
from tomeval.extensions.design.pairs import losses, partners_of, unavoidable
from tomeval.extensions.design.separation import Separation, Subject, read_subject, separation
from tomeval.statistics.flips import pairs_needed

POWER = 0.8

MOST = 250_000
"""Machines that are scored at most."""

PAIR_STEPS = 40_000_000
"""Pairs of machines times steps at most: a minute or so."""

RANKED = 50
"""Pairs of the largest relevance that are ranked by unavoidable regret too."""

RANGES = {"states": (1, 12), "horizon": (1, 100_000), "top": (1, 100)}
"""Between what the numbers of a design lie."""


@dataclass(frozen=True, eq=False)
class Found:
    """A machine, or a set of machines that are equally likely, and what it can tell.

    Attributes
    ----------
    score, difference : float
        The expected `difference` of the subjects' ΔFunctional/T, and, in either direction, that
        over what its standard error would be with a single model call. Infinite where subjects
        differ and nothing varies; NaN without subjects.
    episodes, calls : int or None
        Episodes of each of the two with which a paired t test finds the difference in 80 of 100
        runs, at 5 %, and their model calls; None where there is no difference, or more than ten
        millions.
    relevance, unavoidable : float
        See `tomeval.domains.matrix.optima.relevance` and `unavoidable`; NaN with subjects.
    """

    partners: PartnerSet
    score: float = math.nan
    difference: float = math.nan
    episodes: int | None = None
    calls: int | None = None
    relevance: float = math.nan
    unavoidable: float = math.nan


@dataclass(frozen=True, eq=False)
class Design:
    """The best of a search, for two subjects (`between`) or none, and known ones (`beside`)."""

    game: MatrixGame
    horizon: int
    between: tuple[str, ...]
    best: list[Found]
    beside: list[Found]
    searched: str  # what was looked at, in words


def design(
    game: MatrixGame,
    states: int = 2,
    horizon: int = 30,
    *,
    between: Sequence[str] = (),
    beside: Sequence[str] | None = None,
    top: int = 5,
) -> Design:
    """Search deterministic machines for those with which a game tells most.

    Parameters
    ----------
    states, horizon, top : int
        States of a machine, at most; steps per episode; how many to return.
    between : sequence of str
        Two subjects to tell apart, see `read_subject`: then single machines are searched, for those
        that separate them best per model call. Without, pairs of machines for the largest
        relevance; of equal ones those with the least unavoidable regret come first.
    beside : sequence of str, optional
        Known sets of deterministic, equally likely partners, of which the same is said. Default:
        ``tit_for_tat``, if the game has as many actions on both sides, and ``single_action``.

    Raises
    ------
    TomevalError
        A number out of range, an unknown subject, or too many machines to compare.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> made = design(game, 2, 30, between=["simulated(p=0.9, q=0.3)", "simulated(p=0.9, q=0.9)"])
    >>> best = made.best[0]
    >>> best.partners.partners[0].next_state[:, :, 0].tolist(), best.episodes, best.calls
    ([[1, 0], [0, 0]], 4, 480)
    """
    for (name, (low, high)), value in zip(RANGES.items(), (states, horizon, top), strict=True):
        if not low <= value <= high:
            raise TomevalError(f"design: {name} must be from {low} to {high:,}, is {value}")
    if len(between) not in (0, 2):
        raise TomevalError(f"design: name two subjects after between, or none, not {len(between)}")
    subjects = [read_subject(spec, game) for spec in between]
    names = tuple(one.name for one in subjects)
    if len(set(names)) < len(names):
        raise TomevalError(f"design: a subject is named twice: {', '.join(names)}")
    if beside is None:
        beside = ["tit_for_tat"] * (game.n == game.m) + ["single_action"]
    known = [_known(spec, game) for spec in beside]
    if subjects:
        best, searched = _separating(game, subjects, states, horizon, top)
        shown = [_separated(one, _against(game, subjects, one, horizon)) for one in known]
    else:
        best, searched = _relevant(game, states, horizon, top)
        shown = [_worth_telling(game, one, horizon) for one in known]
    return Design(game, horizon, names, best, shown, searched)


def _known(spec: str, game: MatrixGame) -> PartnerSet:
    partners = get_partner_set(spec, game)
    if max(partners.weights) - min(partners.weights) > 1e-9:
        raise TomevalError(f"design: beside {partners.name!r}: its partners are not equally likely")
    if not all(partner.is_deterministic for partner in partners.partners):
        raise TomevalError(f"design: beside {partners.name!r}: a partner draws its moves")
    return partners


def _separating(
    game: MatrixGame, subjects: Sequence[Subject], states: int, horizon: int, top: int
) -> tuple[list[Found], str]:
    """Return the machines that separate the subjects best, and what was searched.

    Scores are the same for machines that become each other by renaming actions of the game, so one
    of them stands for all.
    """
    parts, total = _behaviours(game, states, MOST)
    machines = joined([one_of_a_kind(part, game) for part in parts])
    searched = f"all {total:,} ways to behave with up to {states} states"
    if machines.total < total:
        searched += f", {machines.total:,} of them up to renaming actions"
    apart = separation(game, subjects, machines, horizon)
    # Of certain differences the largest comes first.
    certain = np.where(np.isinf(apart.scores), rounded(np.abs(apart.mean)), 0.0)
    first = np.lexsort((-certain, -rounded(apart.scores)))[:top]
    partners = partners_of(machines.take(first), game, "designed")
    best = [
        _separated(
            PartnerSet("designed", (partner,)),
            Separation(apart.mean[[at]], apart.spread[[at]], apart.calls),
        )
        for at, partner in zip(first.tolist(), partners, strict=True)
    ]
    return best, searched


def _against(
    game: MatrixGame, subjects: Sequence[Subject], partners: PartnerSet, horizon: int
) -> Separation:
    machines = joined([as_machine(partner) for partner in partners.partners])
    return separation(game, subjects, machines, horizon).together()


def _separated(partners: PartnerSet, apart: Separation) -> Found:
    """Return what one machine, or one set, tells of the subjects."""
    [score], [difference], [spread] = apart.scores, apart.mean, apart.spread
    episodes = None
    if score > 0:
        episodes = 2 if spread == 0 else pairs_needed(abs(float(difference)) / float(spread), POWER)
    calls = None if episodes is None else episodes * apart.calls
    return Found(partners, float(score), float(difference), episodes, calls)


def _relevant(game: MatrixGame, states: int, horizon: int, top: int) -> tuple[list[Found], str]:
    """Return the pairs that are most worth telling apart, and what was searched."""
    parts, count = _behaviours(game, states, math.isqrt(PAIR_STEPS // horizon))
    machines = joined(parts)
    loss = losses(game, machines, horizon)
    pairs = np.column_stack(np.triu_indices(count, 1))
    relevances = (loss + loss.T)[tuple(pairs.T)]
    first = np.argsort(-rounded(relevances), kind="stable")[: max(RANKED, top)]
    best = []
    for members in pairs[first]:
        partners = partners_of(machines.take(members), game, "designed_{}")
        best.append(_worth_telling(game, PartnerSet("designed", tuple(partners)), horizon))

    def key(one: Found) -> tuple[float, float, int]:
        high, low = rounded(np.array([one.relevance, one.unavoidable])).tolist()
        return -high, low, sum(len(partner.states) for partner in one.partners.partners)

    searched = (
        f"all {len(pairs):,} pairs of all {count:,} ways to behave with up to {states} states"
    )
    return sorted(best, key=key)[:top], searched


def _worth_telling(game: MatrixGame, partners: PartnerSet, horizon: int) -> Found:
    return Found(
        partners,
        relevance=relevance(game, partners, horizon),
        unavoidable=unavoidable(game, partners, horizon),
    )


def _behaviours(game: MatrixGame, states: int, most: int) -> tuple[list[Machines], int]:
    """Return all machines of up to so many states, by size, and their number, `most` at most."""
    sizes = range(1, states + 1)
    # Machines whose states partly behave alike count here as well, before any is made.
    if sum(count_connected(game.n, game.m, size) for size in sizes) <= 2 * most:
        parts = [every_machine(game.n, game.m, size) for size in sizes]
        if (total := sum(part.total for part in parts)) <= most:
            return parts, total
    raise TomevalError(
        f"design: in {game.name} there are more than {most:,} ways to behave with up to {states} "
        "states, too many to compare: take fewer states"
    )


def rounded(values: FloatArray) -> FloatArray:
    """Return ten significant digits of values from 0, so that equal sums are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** np.floor(np.log10(values))
        finite = (values > 0) & np.isfinite(values)
        return np.where(finite, np.round(values / scale, 9) * scale, values)
