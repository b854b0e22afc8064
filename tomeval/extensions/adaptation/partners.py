"""Partners that give up one policy for another at a step that the experiment chooses or draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import MatrixGame, check_keys
from tomeval.domains.matrix.partner_files import MAX_STATES
from tomeval.domains.matrix.partner_specs import PartnerSets, get_partner, get_partner_set
from tomeval.domains.matrix.partners import Change, Partner, PartnerSet

KEYS = ("switch", "at", "name")
"""The keys of a partner set that switches."""

RANGE = ("from", "to")

SET_STATES = 20_000
"""States of all partners of a set together; they are stored with every cell."""


def switching(first: Partner, second: Partner, step: int) -> Partner:
    """Return the partner that plays `first`, and `second` from a step on.

    `second` begins anew at that step, in its start state, whatever was played before. The table is
    that of both machines with a counter of steps, so optima against it are exact. They know the
    change: a best response prepares for it.

    `step` is the first of `second`, counted from 1, at least 2.

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
    name = f"{first.name} > {second.name} at {step}"
    layers = _layers(first, step)
    starts = np.cumsum([0, *map(len, layers)])
    size = int(starts[-1]) + len(second.emissions)
    if size > MAX_STATES:
        raise TomevalError(f"partner {name!r}: has {size:,} states (limit: {MAX_STATES:,})")
    emissions = np.concatenate([*(first.emissions[layer] for layer in layers), second.emissions])
    next_state = np.empty((size, first.n, first.m), dtype=np.int64)
    number = np.zeros(len(first.emissions), dtype=np.int64)
    for t, layer in enumerate(layers):
        mine = slice(starts[t], starts[t + 1])
        if t + 1 < len(layers):
            number[layers[t + 1]] = np.arange(starts[t + 1], starts[t + 2])
            # What no play reaches leads anywhere; it is the state's own place that counts.
            possible = first.emissions[layer] > 0
            reached = number[first.next_state[layer]]
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


def change_points(at: Any) -> tuple[list[int], str]:
    """Read the key `at`: one step, a list of steps, or a range; return the steps and their words.

    Examples
    --------
    >>> change_points({"from": 20, "to": 23})
    ([20, 21, 22, 23], '20-23')
    >>> change_points([21, 61])
    ([21, 61], '21, 61')
    """
    if isinstance(at, Mapping):
        check_keys("partner set: at", at, RANGE, RANGE)
        low, high = (_step(at[key], f"at.{key}") for key in RANGE)
        if high < low:
            raise TomevalError(f"partner set: at.to must be at least {low}, is {high}")
        return list(range(low, high + 1)), f"{low}-{high}"
    steps = [_step(step, "at") for step in (at if isinstance(at, list) else [at])]
    if not steps:
        raise TomevalError("partner set: at is an empty list")
    if len(set(steps)) < len(steps):
        raise TomevalError(f"partner set: at names a step twice: {', '.join(map(str, steps))}")
    return steps, ", ".join(map(str, steps))


def _step(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= MAX_STATES:
        raise TomevalError(
            f"partner set: {where} must be a whole number from 2 to {MAX_STATES}, is {value!r}"
        )
    return value


def build(spec: dict[str, Any], game: MatrixGame, base: Path | None) -> PartnerSet:
    """Return the set of partners that change their policy: each pair at each change point.

    Keys of `spec`: ``switch`` (two specs, or one set of which two are drawn without replacement, by
    their weights), ``at`` (a step, a list, or a table ``from``, ``to``, ``every``, all equally
    likely) and optional ``name``.
    """
    check_keys("partner set", spec, KEYS, ("switch", "at"))
    steps, at = change_points(spec["at"])
    pairs, words = _pairs(spec["switch"], game, base)
    name = spec.get("name", f"{words} at {at}")
    if not isinstance(name, str):
        raise TomevalError(f"partner set: name must be text, is {name!r}")
    partners, weights = [], []
    total = len(pairs) * sum(steps)  # at least a state per step
    for weight, first, second in pairs:
        for step in steps:
            if total > SET_STATES:
                raise TomevalError(
                    f"partner set {name!r}: its change points make more than {SET_STATES:,} "
                    "states; name fewer of them"
                )
            partners.append(switching(first, second, step))
            total += len(partners[-1].emissions) - step
            weights.append(weight / len(steps))
    return PartnerSet(name, tuple(partners), tuple(weights))


def _pairs(
    told: Any, game: MatrixGame, base: Path | None
) -> tuple[list[tuple[float, Partner, Partner]], str]:
    """Return the pairs of policies that `switch` means, with their weights, and its words."""
    if isinstance(told, list) and len(told) == 2 and all(isinstance(one, str) for one in told):
        first, second = (get_partner(one, game, base) for one in told)
        if first.fingerprint() == second.fingerprint():
            raise TomevalError(f"partner set: switch names one policy twice: {told}")
        return [(1.0, first, second)], f"{first.name} > {second.name}"
    if not isinstance(told, str | dict):
        raise TomevalError(
            "partner set: switch must be two partners, or a set from which two are drawn, is "
            f"{told!r}"
        )
    drawn = get_partner_set(told, game, base)
    if len(drawn.partners) < 2:
        raise TomevalError(
            f"partner set: switch needs two policies, {drawn.name!r} has only one; write switch = "
            '["FIRST", "SECOND"]'
        )
    each = list(zip(drawn.partners, drawn.weights, strict=True))
    pairs = [(p * q / (1 - p), a, b) for a, p in each for b, q in each if a is not b]
    return pairs, f"two of {drawn.name}"


SETS = PartnerSets(build)
"""Sets of partners that change their policy, as experiments name them."""
