"""Games and partners drawn from a seed: strata, what is rejected and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.domains.matrix.games import (
    GAMES,
    NEUTRAL,
    NONSENSE,
    Labels,
    MatrixGame,
)
from tomeval.domains.matrix.machines import Machines, as_partner, reduced
from tomeval.domains.matrix.optima import best_response, relevance, worst_response
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.extensions.fresh.classes import (
    DOMINANCE,
    affine_form,
    conflict,
    dominance,
    is_textbook,
    pure_equilibria,
)
from tomeval.extensions.fresh.keys import MOST_SEED, names, read_table, span, switch, whole

INTERESTS = ("zero_sum", "mixed", "common")
EQUILIBRIA = ("none", "one", "several")
SIZES = tuple(f"{n}x{m}" for n, m in product(range(2, 6), repeat=2))
ANY = "any"
MOST_STATES = 4
NAMED = "fresh "
"""What names of drawn games begin with."""
TRIES = 3_000
"""Tables drawn for one game before its stratum counts as empty."""
MACHINE_TRIES = 8
"""Sets of machines drawn for one table, and tables without any before the stratum is empty."""


@dataclass(frozen=True)
class Drawn:
    """What is to be drawn: the keys of a table ``fresh``, checked.

    Attributes
    ----------
    seed : int
        From 0 to `MOST_SEED`. The same seed gives the same games, and fewer of them are the first.
    count : int
        How many games, dealt to the strata in turn.
    sizes : list of str
        Own actions x the partner's, 2x2 to 5x5.
    payoffs : [int, int]
        The least and the most payoff that can be drawn, at most 1,000 in size.
    interest : list of {"zero_sum", "mixed", "common"}
        Whether payoffs are opposed, neither, or the same.
    equilibria : list of {"any", "none", "one", "several"}
        How many pure equilibria; where there is none, all mix.
    dominance : list of {"any", "none", "one", "both"}
        Which sides have a strictly dominant action.
    partners : int
        Machines that every game is played against, each equally likely.
    states : [int, int]
        The fewest and the most states of a machine, 1 to 4.
    horizon : int
        The steps that relevance, range and value are computed over.
    relevance, range, value : [number, number]
        Per step: what the best response to the wrong machine loses; the least over machines of what
        lies between the best and the worst response; the mean best reward.
    textbook : bool
        Whether games of a class that textbooks name may be drawn.
    """

    seed: int
    count: int = 10
    sizes: tuple[str, ...] = ("2x2", "3x3")
    payoffs: tuple[float, float] = (0, 9)
    interest: tuple[str, ...] = INTERESTS
    equilibria: tuple[str, ...] = (ANY,)
    dominance: tuple[str, ...] = (ANY,)
    partners: int = 3
    states: tuple[float, float] = (1, MOST_STATES)
    horizon: int = 20
    relevance: tuple[float, float] = (0.05, 1e6)
    range: tuple[float, float] = (0.5, 1e6)
    value: tuple[float, float] = (-1e6, 1e6)
    textbook: bool = False


DRAWN = {
    "seed": whole(0, MOST_SEED),
    "count": whole(1, 1_000),
    "sizes": names(SIZES),
    "payoffs": span(-1_000, 1_000, int),
    "interest": names(INTERESTS),
    "equilibria": names((ANY, *EQUILIBRIA)),
    "dominance": names((ANY, *DOMINANCE)),
    "partners": whole(1, 20),
    "states": span(1, MOST_STATES, int),
    "horizon": whole(1, 1_000),
    **dict.fromkeys(("relevance", "range", "value"), span(-1e6, 1e6)),
    "textbook": switch(),
}
"""The keys of a table ``fresh``."""


class Traits(NamedTuple):
    """What limits are set on in a game against its partners, in the subject's payoffs per step."""

    relevance: float
    range: float
    value: float


def traits(game: MatrixGame, partners: PartnerSet, horizon: int) -> Traits:
    """Return the traits of a game against a set of partners over T = `horizon` steps."""
    best = [best_response(game, one, horizon).value / horizon for one in partners.partners]
    worst = [worst_response(game, one, horizon).value / horizon for one in partners.partners]
    return Traits(
        relevance(game, partners, horizon),
        min(high - low for high, low in zip(best, worst, strict=True)),
        float(np.dot(best, partners.weights)),
    )


class Fresh(NamedTuple):
    """A game that was drawn, its partners, and its traits."""

    game: MatrixGame
    partners: PartnerSet
    traits: Traits


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


def read_drawn(spec: Any, where: str = "fresh") -> Drawn:
    """Check the keys of a table of drawn games; raise `TomevalError`."""
    return read_table(Drawn, DRAWN, spec, where, "seed = 1, count = 10")


def draw_games(told: Drawn) -> list[Fresh]:
    """Return the games of a seed, no two of which are one up to relabelling and affine change.

    Raises
    ------
    TomevalError
        A stratum is empty, or so thin that no game was among `TRIES` tables; says which, and why
        tables were rejected.
    """
    strata = list(product(told.sizes, told.interest, told.equilibria, told.dominance))
    seen = {affine_form(game) for game in GAMES.values()}
    made: list[Fresh] = []
    for index in range(told.count):
        one = _draw_one(told, strata[index % len(strata)], index, seen)
        seen.add(affine_form(one.game))
        made.append(one)
    return made


def _draw_one(
    told: Drawn, stratum: tuple[str, ...], index: int, seen: set[tuple[int, ...]]
) -> Fresh:
    """Draw tables until one is of the stratum, new, and has machines within the limits."""
    chance = Chance("fresh", *stratum, seed=told.seed, index=index)
    why: Counter[str] = Counter()
    for _ in range(TRIES):
        one = _drawn_game(told, stratum, f"{NAMED}{told.seed}-{index + 1:02d}", chance)
        reason = one if isinstance(one, str) else _unwanted(told, one, seen)
        if isinstance(one, MatrixGame) and not reason:
            made = _with_partners(told, one, chance)
            if isinstance(made, Fresh):
                return made
            reason = made
            if why[reason] == MACHINE_TRIES:
                break
        why[reason] += 1
    said = ", ".join(f"{count} {reason}" for reason, count in why.most_common(3))
    words = ", ".join(word for word in stratum if word != ANY)
    raise TomevalError(
        f"fresh: game {index + 1}: the stratum {words} gave no game in {why.total():,} tables "
        f"({said}); leave it out or widen a range"
    )


def _drawn_game(
    told: Drawn, stratum: tuple[str, ...], name: str, chance: Chance
) -> MatrixGame | str:
    """Draw one table; return the game, or why it is not in its stratum."""
    size, interest, equilibria, dominated = stratum
    n, m = map(int, size.split("x"))
    low, high = map(int, told.payoffs)
    own = chance.below(high - low + 1, (n, m)) + low
    partner = chance.below(high - low + 1, (n, m)) + low
    if interest != "mixed":
        partner = own if interest == "common" else low + high - own
    payoffs = np.stack([own, partner], axis=2).astype(float)
    if np.ptp(payoffs, axis=(0, 1)).min() == 0:
        return "with one payoff only"
    kind = conflict(payoffs)
    if interest == "mixed" and not 0 < kind < 1:
        return "of common or opposed interest"
    count = EQUILIBRIA[min(pure_equilibria(payoffs), 2)]
    if equilibria not in (ANY, count):
        return f"with {count} pure equilibri{'um' if count == 'one' else 'a'}"
    if dominated not in (ANY, shown := dominance(payoffs)):
        return f"with dominance {shown}"
    letters = {"neutral": NEUTRAL, "nonsense": NONSENSE}
    labels = {k: Labels(k, tuple(of[:n]), tuple(of[:m])) for k, of in letters.items()}
    source = f"drawn: fresh, seed {told.seed}, {size}, {interest}"
    return MatrixGame(name, payoffs, labels, source=source)


def _unwanted(told: Drawn, game: MatrixGame, seen: set[tuple[int, ...]]) -> str:
    """Return why a game of its stratum is not taken; empty if it is."""
    if not told.textbook and is_textbook(game):
        return "of a class that textbooks name"
    return "drawn already" if affine_form(game) in seen else ""


def _with_partners(told: Drawn, game: MatrixGame, chance: Chance) -> Fresh | str:
    """Draw sets of machines until one is within the limits; return why none is, or the game."""
    why: Counter[str] = Counter()
    limits = {name: getattr(told, name) for name in ("relevance", "range", "value")}
    if told.partners == 1:
        del limits["relevance"]  # there is no other machine to take it for
    for _ in range(MACHINE_TRIES):
        partners = PartnerSet("machines", draw_machines(told, game, chance))
        said = traits(game, partners, told.horizon)
        out = [
            name
            for name, (low, high) in limits.items()
            if not low <= round(getattr(said, name), 9) <= high
        ]
        if not out:
            return Fresh(game, partners, said)
        why[out[0]] += 1
    return f"against no machines within {why.most_common(1)[0][0]}"


def draw_machines(told: Drawn, game: MatrixGame, chance: Chance) -> tuple[Partner, ...]:
    """Draw deterministic machines that all behave differently and need all of their states.

    States that no play reaches, or that behave like another one, make a smaller machine, so the
    table is drawn again.
    """
    low, high = map(int, told.states)
    made: dict[bytes, Machines] = {}
    for _ in range(1_000):
        size = low + int(chance.below(high - low + 1)[0])
        plays = chance.below(game.m, size)
        small = reduced(plays, chance.below(size, (size, game.n)))
        if small.plays.shape[1] == size:
            made.setdefault(bytes([size]) + small.keys()[0], small)
        if len(made) == told.partners:
            return tuple(
                as_partner(machine, game, f"machine {k + 1}")
                for k, machine in enumerate(made.values())
            )
    raise TomevalError(
        f"fresh: there are only {len(made)} machines of {low} to {high} states for "
        f"{game.n} x {game.m} actions, partners is {told.partners}; allow more states"
    )
