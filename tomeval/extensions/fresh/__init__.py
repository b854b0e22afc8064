"""Games and partners drawn from a seed: none is famous, and no two are one game relabelled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from math import gcd
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.games.matrix.games import GAMES, NEUTRAL, NONSENSE, Labels, MatrixGame
from tomeval.games.matrix.optima import best_response, relevance, worst_response
from tomeval.games.matrix.partner_specs import GameSets, Partners
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.played import IntArray
from tomeval.runs.experiment import among, axis

Payoffs = NDArray[np.float64]
Moves = NDArray[np.int64]
Task = tuple[MatrixGame, Sequence[Any]]

WELL_KNOWN = ("TRPS", "TRSP", "TSRP", "TSPR", "TPRS", "RTPS", "RPTS", "RPST", "RSTP", "RTSP")
"""Symmetric strict 2x2 games that textbooks name: what both prefer, best first, of R (both play
the first action), P (both the second), T and S (one's own second against the first, and the
reverse). Prisoner's dilemma, chicken, battle of the sexes, hero, deadlock, stag hunt, assurance,
coordination, harmony and concord (Bruns 2015, Games 6, 495-520)."""

SIZES = tuple(f"{n}x{m}" for n, m in product(range(2, 6), repeat=2))
MOST_SEED = 2**32 - 1
MOST_PAYOFF, MOST_STATES = 9, 4
HORIZON = 20
"""The steps over which a game's partners must differ in what they ask for and can yield."""
LEAST_RELEVANCE, LEAST_RANGE = 0.05, 0.5
"""Per step: what the best response to the wrong machine loses, and what lies between the best and
the worst response to any machine."""
TRIES, MACHINE_TRIES = 3_000, 8
"""Tables drawn for one game, and sets of machines drawn for one table, before giving up."""


class Drawn(BaseModel):
    """Games drawn from a seed, each with machines as partners.

    Attributes
    ----------
    seed : int
        The same seed gives the same games, and fewer of them are the first.
    count : int
        How many games, dealt to sizes and interests in turn.
    sizes : list of str
        Own actions x the partner's, 2x2 to 5x5.
    interest : list of {"zero_sum", "mixed", "common"}
        Whether payoffs are opposed, neither, or the same.
    partners : int
        Machines that every game is played against, each equally likely.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    seed: int = Field(ge=0, le=MOST_SEED)
    count: int = Field(10, ge=1, le=1_000)
    sizes: list[str] = ["2x2", "3x3"]
    interest: list[Literal["zero_sum", "mixed", "common"]] = ["zero_sum", "mixed", "common"]
    partners: int = Field(3, ge=1, le=20)

    _lists = field_validator("sizes", "interest", mode="before")(axis)

    @field_validator("sizes")
    @classmethod
    def _known_sizes(cls, sizes: list[str]) -> list[str]:
        return among("size", sizes, SIZES)


class Chance:
    """Whole numbers from one stream, the same on every machine and with every version of numpy."""

    def __init__(self, *purpose: str, seed: int, index: int = 0) -> None:
        self._rng = Stream.of(seed, *purpose).episode(index)

    def below(self, count: int, size: int | tuple[int, ...] = 1) -> np.ndarray:
        """Return whole numbers from 0 to `count` - 1, each equally likely."""
        drawn = np.floor(self._rng.random(size) * count).astype(np.int64)
        return np.minimum(drawn, count - 1)

    def shuffled(self, count: int) -> list[int]:
        """Return 0 to `count` - 1 in a drawn order."""
        return [int(i) for i in np.argsort(self._rng.random(count), kind="stable")]


def draw_games(drawn: Drawn) -> list[tuple[MatrixGame, PartnerSet]]:
    """Return the games of a seed with their partners, no two equal up to affine change and labels.

    Raises
    ------
    TomevalError
        There are not so many different games of a size and interest.
    """
    strata = list(product(drawn.sizes, drawn.interest))
    seen = {affine_form(game) for game in GAMES.values()}
    games = []
    for index in range(drawn.count):
        game, partners = _draw_one(drawn, *strata[index % len(strata)], index, seen)
        seen.add(affine_form(game))
        games.append((game, partners))
    return games


def _draw_one(
    drawn: Drawn, size: str, interest: str, index: int, seen: set[tuple[int, ...]]
) -> tuple[MatrixGame, PartnerSet]:
    """Draw tables until one is of its kind, new, and has machines that make it worth playing."""
    chance = Chance("fresh", size, interest, "any", "any", seed=drawn.seed, index=index)
    n, m = map(int, size.split("x"))
    letters = {"neutral": NEUTRAL, "nonsense": NONSENSE}
    labels = {name: Labels(name, tuple(of[:n]), tuple(of[:m])) for name, of in letters.items()}
    for _ in range(TRIES):
        payoffs = _table(n, m, interest, chance)
        if payoffs is None:
            continue
        name = f"fresh {drawn.seed}-{index + 1:02d}"
        source = f"drawn: fresh, seed {drawn.seed}, {size}, {interest}"
        game = MatrixGame(name, payoffs, labels, source=source)
        if is_textbook(game) or affine_form(game) in seen:
            continue
        for _ in range(MACHINE_TRIES):
            partners = PartnerSet("machines", draw_machines(drawn.partners, game, chance))
            if worth_playing(game, partners):
                return game, partners
    raise TomevalError(
        f"fresh: game {index + 1}: no new {size} game of interest {interest!r} in {TRIES:,} "
        "tables: ask for fewer games, or for other sizes too"
    )


def _table(n: int, m: int, interest: str, chance: Chance) -> Payoffs | None:
    """Draw payoffs, shape (n, m, 2); None if they are not of that interest, or all alike."""
    own = chance.below(MOST_PAYOFF + 1, (n, m))
    partner = chance.below(MOST_PAYOFF + 1, (n, m))
    if interest != "mixed":
        partner = own if interest == "common" else MOST_PAYOFF - own
    payoffs = np.stack([own, partner], axis=2).astype(float)
    if np.ptp(payoffs, axis=(0, 1)).min() == 0:
        return None
    return payoffs if interest != "mixed" or 0 < conflict(payoffs) < 1 else None


def worth_playing(game: MatrixGame, partners: PartnerSet) -> bool:
    """Return whether it matters how a game is played, and against which of its partners."""
    one_alone = len(partners.partners) == 1  # there is no other machine to take it for
    if not one_alone and round(relevance(game, partners, HORIZON), 9) < LEAST_RELEVANCE:
        return False
    for one in partners.partners:
        best, worst = (of(game, one, HORIZON).value for of in (best_response, worst_response))
        if round((best - worst) / HORIZON, 9) < LEAST_RANGE:
            return False
    return True


def draw_machines(count: int, game: MatrixGame, chance: Chance) -> tuple[Partner, ...]:
    """Draw deterministic machines that all behave differently and need all of their states.

    States that no play reaches, or that behave like another one, make a smaller machine, so the
    table is drawn again.
    """
    made: dict[bytes, tuple[Moves, Moves]] = {}
    while len(made) < count:
        size = 1 + int(chance.below(MOST_STATES)[0])
        plays = chance.below(game.m, size)
        machine = _smallest(plays, chance.below(size, (size, game.n)))
        if machine is not None:
            made.setdefault(b"".join(table.tobytes() for table in machine), machine)
    return tuple(_partner(game, f"machine {k}", *of) for k, of in enumerate(made.values(), 1))


def _smallest(plays: Moves, follows: Moves) -> tuple[Moves, Moves] | None:
    """Return a machine, shape (K,) and (K, n), with its states in the order of its table.

    None if some state is out of reach of the first one, or behaves like another one.
    """
    order = [0]
    for state in order:  # it grows by what the state leads to
        order += [s for s in dict.fromkeys(follows[state].tolist()) if s not in order]
    different = plays[:, None] != plays
    for _ in range(len(plays) - 1):
        different = different | different[follows[:, None], follows].any(axis=2)
    if len(order) < len(plays) or not (different | np.eye(len(plays), dtype=bool)).all():
        return None
    return plays[order], np.argsort(order)[follows[order]]


def _partner(game: MatrixGame, name: str, plays: Moves, follows: Moves) -> Partner:
    next_state = np.repeat(follows[:, :, None], game.m, axis=2)
    states = tuple(f"s{number + 1}" for number in range(len(plays)))
    return Partner(name, np.eye(game.m)[plays], next_state, 0, states)


def conflict(payoffs: Payoffs) -> float:
    """Return how far the two sides disagree: the share of pairs of outcomes that they order apart.

    From 0 (common interest) to 1 (zero-sum), of the pairs that neither is indifferent between; NaN
    without any.
    """
    one, other = (np.subtract.outer(flat, flat) for flat in payoffs.reshape(-1, 2).T)
    agreed = np.sign(one * other)[np.triu_indices(len(one), 1)]
    ordered = np.abs(agreed).sum()
    return float((agreed < 0).sum() / ordered) if ordered else float("nan")


def ranks(payoffs: Payoffs) -> IntArray:
    """Return each side's payoffs as ranks from 0, equal ones alike, in the shape given."""
    each = [np.unique(payoffs[..., k], return_inverse=True)[1].reshape(-1) for k in range(2)]
    return np.stack(each, axis=1).reshape(payoffs.shape).astype(np.int64)


def canonical(table: IntArray) -> tuple[int, ...]:
    """Return what all tables have in common that relabelled actions and players make of one.

    `table` has the shape (n, m, 2). The least of all its forms, with its size first.

    Examples
    --------
    >>> pennies = GAMES["matching_pennies"].payoffs
    >>> canonical(ranks(pennies)) == canonical(ranks(pennies[::-1]))
    True
    """
    forms = []
    swapped = np.ascontiguousarray(table.transpose(1, 0, 2)[..., ::-1])
    # In the form with fewer rows than columns; square games have both.
    for one in (table, swapped):
        n, m = one.shape[:2]
        if n > m:
            continue
        rows, columns = (np.array(list(permutations(range(size)))) for size in (n, m))
        every = one[rows[:, None, :, None], columns[None, :, None, :]]
        flat = every.reshape(len(rows) * len(columns), -1)
        forms.append(min(map(tuple, flat.tolist())))
    return (*sorted(table.shape[:2]), *min(forms))


def affine_form(game: MatrixGame) -> tuple[int, ...]:
    """Return what is equal for games that are one up to relabelling and affine change."""
    whole = np.rint(game.payoffs).astype(np.int64)
    whole -= whole.min(axis=(0, 1))
    divisors = [max(1, gcd(*map(int, whole[..., k].ravel()))) for k in range(2)]
    return canonical(whole // np.array(divisors))


def from_preferences(order: str) -> Payoffs:
    """Return the symmetric 2x2 game of ranks 1 to 4 with these preferences, shape (2, 2, 2).

    Examples
    --------
    >>> from_preferences("TRPS").tolist()
    [[[3.0, 3.0], [1.0, 4.0]], [[4.0, 1.0], [2.0, 2.0]]]
    """
    worth = {letter: 4.0 - place for place, letter in enumerate(order)}
    own = np.array([[worth["R"], worth["S"]], [worth["T"], worth["P"]]])
    return np.stack([own, own.T], axis=2)


@cache
def _textbook_forms() -> frozenset[tuple[int, ...]]:
    tables = [*map(from_preferences, WELL_KNOWN), *(game.payoffs for game in GAMES.values())]
    return frozenset(canonical(ranks(table)) for table in tables)


def is_textbook(game: MatrixGame) -> bool:
    """Return whether a game orders outcomes as one that textbooks name, or as a built-in game."""
    return canonical(ranks(game.payoffs)) in _textbook_forms()


def _tasks(drawn: Drawn, partners: Partners, base: Path | None) -> list[Task]:
    return [(game, [machines]) for game, machines in draw_games(drawn)]


FRESH = GameSets(Drawn, _tasks, brings_partners=True)
"""The table ``fresh``."""
