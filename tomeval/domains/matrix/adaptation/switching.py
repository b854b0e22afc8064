"""Partners that give up one policy for another at a step that the experiment chooses or draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.partner_files import MAX_STATES
from tomeval.domains.matrix.partners import Change, Partner, PartnerSet

KEYS = ("switch", "at", "name")
"""The keys of a partner set that switches."""

RANGE = ("from", "to", "every")

SET_STATES = 20_000
"""States of all partners of a set together; they are stored with every cell."""


def switching(first: Partner, second: Partner, step: int, name: str = "") -> Partner:
    """Return the partner that plays `first`, and `second` from a step on.

    `second` begins anew at that step, in its start state, whatever was played before. The table is
    that of both machines with a counter of steps, so optima against it are exact. They know the
    change: a best response prepares for it.

    Parameters
    ----------
    first, second : Partner
        For games of one size.
    step : int
        The first step of `second`, counted from 1; at least 2.
    name : str
        Default: one that tells both and the step.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> both = [get_partner(text, game) for text in ("tit_for_tat", "always(1)")]
    >>> late = switching(*both, step=3)
    >>> late.name, late.states
    ('tit_for_tat > always(1) at 3', ('1: start', '2: after 0', '2: after 1', 'then turn 1'))
    """
    name = name or f"{first.name} > {second.name} at {step}"
    if isinstance(step, bool) or not isinstance(step, int) or not 2 <= step <= MAX_STATES:
        raise TomevalError(
            f"partner {name!r}: the step of a change must be a whole number from 2 to "
            f"{MAX_STATES}, is {step!r}"
        )
    if (first.n, first.m) != (second.n, second.m):
        raise TomevalError(f"partner {name!r}: its two policies are for games of different sizes")
    layers = _layers(first, step)
    starts = np.cumsum([0, *map(len, layers)])
    size = int(starts[-1]) + len(second.emissions)
    if size > MAX_STATES:
        raise TomevalError(f"partner {name!r}: has {size:,} states, at most {MAX_STATES:,} work")
    emissions = np.concatenate([*(first.emissions[layer] for layer in layers), second.emissions])
    next_state = np.empty((size, first.n, first.m), dtype=np.int64)
    place = np.zeros(len(first.emissions), dtype=np.int64)
    for t, layer in enumerate(layers):
        mine = slice(starts[t], starts[t + 1])
        if t + 1 < len(layers):
            place[layers[t + 1]] = np.arange(starts[t + 1], starts[t + 2])
            # What no play reaches leads anywhere; it is the state's own place that counts.
            possible = first.emissions[layer] > 0
            reached = place[first.next_state[layer]]
            next_state[mine] = np.where(possible[:, None, :], reached, starts[t + 1])
        else:
            next_state[mine] = starts[-1] + second.start
    next_state[starts[-1] :] = second.next_state + starts[-1]
    names = [f"{t + 1}: {first.states[s]}" for t, layer in enumerate(layers) for s in layer]
    return Partner(
        name,
        emissions,
        next_state,
        int(starts[-1]) + second.start if not layers else 0,
        (*names, *(f"then {state}" for state in second.states)),
        title=f"{first.title}; from step {step} on: {second.title}",
        source="two policies joined, docs/partners.md",
        change=Change(step, first, second),
    )


def _layers(first: Partner, step: int) -> list[NDArray[np.int64]]:
    """Return the states that `first` can be in, for every step before the change."""
    layers = [np.array([first.start])]
    for _ in range(step - 2):
        layer = layers[-1]
        possible = first.emissions[layer] > 0
        following = first.next_state[layer].swapaxes(1, 2)[possible]
        layers.append(np.unique(following))
        if sum(map(len, layers)) > MAX_STATES:
            break
    return layers


def switching_set(
    policies: Sequence[tuple[float, Partner, Partner]], steps: Sequence[int], name: str
) -> PartnerSet:
    """Return the set of all pairs of policies with all change points.

    Parameters
    ----------
    policies : sequence of (weight, first, second)
        Weights sum to 1.
    steps : sequence of int
        Change points, each equally likely.

    Raises
    ------
    TomevalError
        More than `SET_STATES` states together.
    """
    partners, weights = [], []
    total = len(policies) * sum(steps)  # at least a state per step
    for weight, first, second in policies:
        for step in steps:
            if total > SET_STATES:
                raise TomevalError(
                    f"partner set {name!r}: its change points make more than {SET_STATES:,} "
                    "states; name fewer of them"
                )
            partner = switching(first, second, step)
            total += len(partner.emissions) - step
            partners.append(partner)
            weights.append(weight / len(steps))
    return PartnerSet(name, tuple(partners), tuple(weights))


def change_points(at: Any) -> tuple[list[int], str]:
    """Read the key `at`: one step, a list of steps, or a range; return the steps and their words.

    Examples
    --------
    >>> change_points({"from": 20, "to": 40, "every": 10})
    ([20, 30, 40], '20-40 by 10')
    >>> change_points([21, 61])
    ([21, 61], '21, 61')
    """
    if isinstance(at, Mapping):
        given = {"every": 1, **at}
        if set(given) != set(RANGE):
            raise TomevalError(
                f"partner set: at must have from, to and perhaps every, has {', '.join(at)}"
            )
        low, high, every = (_step(given[key], f"at.{key}", key) for key in RANGE)
        if high < low:
            raise TomevalError(f"partner set: at.to must be at least {low}, is {high}")
        by = f" by {every}" if every > 1 else ""
        return list(range(low, high + 1, every)), f"{low}-{high}{by}"
    listed = at if isinstance(at, list) else [at]
    if not listed:
        raise TomevalError("partner set: at is an empty list")
    steps = [_step(step, "at") for step in listed]
    if len(set(steps)) < len(steps):
        raise TomevalError(f"partner set: at names a step twice: {', '.join(map(str, steps))}")
    return steps, ", ".join(map(str, steps))


def _step(value: Any, where: str, key: str = "") -> int:
    least = 1 if key == "every" else 2
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_STATES:
        raise TomevalError(
            f"partner set: {where} must be a whole number from {least} to {MAX_STATES}, is "
            f"{value!r}"
        )
    return value


def pairs_of(partners: PartnerSet) -> list[tuple[float, Partner, Partner]]:
    """Return every pair of two partners of a set, drawn without replacement by their weights."""
    if len(partners.partners) < 2:
        raise TomevalError(
            f"partner set: switch needs two policies, {partners.name!r} is one; "
            'write switch = ["FIRST", "SECOND"]'
        )
    drawn = list(zip(partners.partners, partners.weights, strict=True))
    return [
        (p * q / (1 - p), first, second)
        for first, p in drawn
        for second, q in drawn
        if first is not second
    ]


@lru_cache(maxsize=4096)
def change_of(partner: Partner) -> Change | None:
    """Return the change of a partner: the one it was made with, or the one that its table shows.

    A table shows a change if it counts steps, plays one action in all of them and another one for
    ever after: that of the shipped `switcher`. None for every other partner.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> change_of(get_partner("switcher(0, 1, k=30)", get_game("IPD"))).step
    30
    >>> change_of(get_partner("alternator", get_game("IPD"))) is None
    True
    """
    if partner.change is not None:
        return partner.change
    if not _counts_once(partner.emissions, partner.next_state, partner.start):
        return None
    played = partner.emissions.argmax(axis=1)
    first, second = (_always(partner, int(played[place])) for place in (0, -1))
    return Change(len(played), first, second)


def table_change(told: Mapping[str, Any]) -> int | None:
    """Return the step of the change of a partner as definitions of cells have it; None: none."""
    if "change" in told:
        return int(told["change"]["step"])
    table = np.array(told["emissions"])
    counts = _counts_once(table, np.array(told["next_state"]), told["start"])
    return len(table) if counts else None


def _counts_once(emissions: NDArray[np.float64], next_state: NDArray[np.int64], start: int) -> bool:
    """Tell whether a table counts steps with one action for sure, then plays another for ever."""
    size = len(emissions)
    counted = np.minimum(np.arange(size) + 1, size - 1)
    if size < 2 or start != 0 or (next_state != counted[:, None, None]).any():
        return False
    if (emissions.max(axis=1) != 1.0).any():
        return False
    played = emissions.argmax(axis=1)
    return bool((played[:-1] == played[0]).all() and played[-1] != played[0])


def _always(partner: Partner, action: int) -> Partner:
    """Return the partner of the same game that plays one action."""
    table = np.eye(partner.m)[[action]]
    return Partner(f"always({action})", table, np.zeros((1, partner.n, partner.m), np.int64))
