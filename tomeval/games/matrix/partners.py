"""Partners: checked finite-state tables, and the sets that an episode draws one from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.personas import Told

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Change:
    """A partner that plays `first`, then `second` from step `step`."""

    step: int  # the first step of the second policy, counted from 1; at least 2
    first: Partner
    second: Partner  # it begins anew, in its start state


@dataclass(frozen=True, eq=False)
class Partner:
    """The other player's policy: a finite-state machine.

    In state s the partner plays action b with probability ``emissions[s, b]``. When the subject
    played a at the same time, the next state is ``next_state[s, a, b]``.

    Parameters
    ----------
    name : str
        How experiments and tables write this partner, with its parameters.
    emissions : array_like, shape (S, m)
        Rows are probability distributions over the partner's actions.
    next_state : array_like of int, shape (S, n, m)
        Indices of states.
    start : int
        The state of step 1.
    states : tuple of str
        A name per state, for messages and records.
    title, source : str
        Full name; where the policy comes from.
    change : Change, optional
        For a partner that is made of two: the policies that it joins. The table alone says what it
        plays. One that counts steps, plays one action in all of them and another one for ever after
        has a change by itself.

    Raises
    ------
    TomevalError
        The table is incomplete (shapes), not stochastic, or has a state that no play reaches.

    Examples
    --------
    >>> stubborn = Partner("stubborn", [[0.0, 1.0]], [[[0, 0], [0, 0]]])
    >>> stubborn.is_deterministic
    True
    """

    name: str
    emissions: NDArray[np.float64]
    next_state: NDArray[np.int64]
    start: int = 0
    states: tuple[str, ...] = ()
    title: str = ""
    source: str = ""
    change: Change | None = None

    def __post_init__(self) -> None:
        emissions = np.array(self.emissions, dtype=np.float64)
        next_state = np.array(self.next_state)
        where = f"partner {self.name!r}"
        if emissions.ndim != 2 or 0 in emissions.shape:
            raise TomevalError(f"{where}: emissions have shape {emissions.shape}, need (S, m)")
        size, m = emissions.shape
        if next_state.ndim != 3 or next_state.shape[::2] != (size, m):
            raise TomevalError(
                f"{where}: incomplete, next_state has shape {next_state.shape}, "
                f"need ({size}, n, {m}): one next state for every state and joint action"
            )
        states = self.states or tuple(f"s{i}" for i in range(size))
        if len(states) != size:
            raise TomevalError(f"{where}: {len(states)} state names for {size} states")
        if not np.issubdtype(next_state.dtype, np.integer):
            raise TomevalError(f"{where}: next states must be whole numbers")
        outside = (next_state < 0) | (next_state >= size)
        if outside.any() or not 0 <= self.start < size:
            raise TomevalError(f"{where}: a next or start state is outside 0..{size - 1}")
        _check_stochastic(where, emissions, states)
        object.__setattr__(self, "emissions", emissions)
        object.__setattr__(self, "next_state", next_state.astype(np.int64))
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "title", self.title or self.name)
        emissions.setflags(write=False)
        self.next_state.setflags(write=False)
        object.__setattr__(self, "change", self.change or _shown_change(self))
        lost = np.flatnonzero(~reachable(emissions, self.next_state, self.start))
        if lost.size:
            raise TomevalError(
                f"{where}: unreachable from start state {states[self.start]!r}: "
                + ", ".join(repr(states[i]) for i in lost)
            )

    @property
    def is_deterministic(self) -> bool:
        """Whether every state plays one action for sure."""
        return bool((self.emissions.max(axis=1) == 1.0).all())

    @property
    def reacts(self) -> bool:
        """Whether the subject's moves can change what the partner plays later."""
        return not bool((self.next_state == self.next_state[:, :1, :]).all())

    @property
    def n(self) -> int:
        """Number of the subject's actions."""
        return int(self.next_state.shape[1])

    @property
    def m(self) -> int:
        """Number of the partner's actions."""
        return int(self.emissions.shape[1])

    def cumulative(self) -> NDArray[np.float64]:
        """Return cumulative emissions, shape (S, m - 1): action = how many a uniform draw passes.

        The last bound is left out, so rounding in the sum can never give an action beyond m - 1.
        """
        return np.cumsum(self.emissions, axis=1)[:, :-1]

    def fingerprint(self) -> str:
        """Return a SHA-256 of the table: equal for partners that play alike, state by state."""
        table = (self.emissions.tolist(), self.next_state.tolist(), self.start)
        return hashlib.sha256(repr(table).encode()).hexdigest()


def _shown_change(partner: Partner) -> Change | None:
    """Return the change of a table that counts steps, with one action and then another for ever."""
    played, size = partner.emissions.argmax(axis=1), len(partner.emissions)
    counted = np.minimum(np.arange(size) + 1, size - 1)[:, None, None]
    if size < 2 or partner.start != 0 or (partner.next_state != counted).any():
        return None
    if not partner.is_deterministic or len(set(played[:-1])) > 1 or played[-1] == played[0]:
        return None
    nowhere = np.zeros((1, partner.n, partner.m), np.int64)
    first, second = (
        Partner(f"always({action})", np.eye(partner.m)[[action]], nowhere)
        for action in (played[0], played[-1])
    )
    return Change(size, first, second)


def _check_stochastic(where: str, emissions: NDArray[np.float64], states: tuple[str, ...]) -> None:
    """Raise unless every row of `emissions` is a probability distribution."""
    for name, row in zip(states, emissions, strict=True):
        if not np.isfinite(row).all() or (row < 0).any() or abs(row.sum() - 1) > _TOLERANCE:
            raise TomevalError(
                f"{where}: state {name!r} is not stochastic: its action probabilities "
                f"{[float(p) for p in row]} must be at least 0 and sum to 1"
            )


def reachable(
    emissions: NDArray[np.float64], next_state: NDArray[np.int64], start: int
) -> NDArray[np.bool_]:
    """Return which states some play by the subject can reach, shape (S,)."""
    seen = np.zeros(len(emissions), dtype=bool)
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if not seen[state]:
            seen[state] = True
            waiting.extend(np.unique(next_state[state][:, emissions[state] > 0]).tolist())
    return seen


@dataclass(frozen=True, eq=False)
class PartnerSet:
    """A distribution over partners; every episode draws one.

    Parameters
    ----------
    name : str
        How experiments and tables write the set.
    partners : tuple of Partner
        At least one; all for the same game; names unique.
    weights : tuple of float
        Probability of each partner: positive, sum 1. Empty: uniform.
    told : Told, optional
        What language models are told of each partner.
    chance : str
        What its draws are named after; default: `name`. Sets of the same partners of which other
        things are told meet the same chance.
    """

    name: str
    partners: tuple[Partner, ...]
    weights: tuple[float, ...] = ()
    told: Told | None = None
    chance: str = ""

    def __post_init__(self) -> None:
        where = f"partner set {self.name!r}"
        if not self.partners:
            raise TomevalError(f"{where}: needs at least one partner")
        names = [partner.name for partner in self.partners]
        if len(set(names)) < len(names):
            raise TomevalError(f"{where}: a partner appears twice: {', '.join(names)}")
        if len({(partner.n, partner.m) for partner in self.partners}) > 1:
            raise TomevalError(f"{where}: its partners are for games of different sizes")
        weights = tuple(self.weights) or (1 / len(names),) * len(names)
        if len(weights) != len(names):
            raise TomevalError(f"{where}: {len(weights)} weights for {len(names)} partners")
        if not all(np.isfinite(w) and w > 0 for w in weights) or abs(sum(weights) - 1) > 1e-6:
            raise TomevalError(f"{where}: weights {list(weights)} must be positive and sum to 1")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "chance", self.chance or self.name)

    def said(self, partner: Partner) -> dict[str, str]:
        """Return what is told of one of the partners, as options of a language model."""
        return self.told.of(self.partners.index(partner)) if self.told else {}

    def cumulative(self) -> NDArray[np.float64]:
        """Return cumulative weights, shape (partners - 1,)."""
        return np.cumsum(self.weights)[:-1]


class Tables:
    """The tables of some partners, one after another, for episodes that are played at once."""

    def __init__(self, partners: Sequence[Partner]) -> None:
        sizes = [len(partner.emissions) for partner in partners]
        self.offset = np.cumsum([0, *sizes[:-1]])
        self.start = self.offset + [partner.start for partner in partners]
        shifted = [
            partner.next_state + base for partner, base in zip(partners, self.offset, strict=True)
        ]
        self.next_state = np.concatenate(shifted)
        self.bounds = np.concatenate([partner.cumulative() for partner in partners])
        self.likely = np.concatenate([partner.emissions.argmax(axis=1) for partner in partners])
        fixed = [np.full(k, p.is_deterministic) for k, p in zip(sizes, partners, strict=True)]
        self.fixed = np.concatenate(fixed)
        self.deterministic = bool(self.fixed.all())

    def act(self, state: NDArray[np.int64], u: NDArray[np.float64] | None) -> NDArray[np.int64]:
        """Return the partners' actions, shape (E,), given uniform numbers if any partner draws."""
        likely: NDArray[np.int64] = self.likely[state]
        if u is None:
            return likely
        drawn = (u[:, None] >= self.bounds[state]).sum(axis=1)
        return np.where(self.fixed[state], likely, drawn)
