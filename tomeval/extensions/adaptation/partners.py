"""Partners that give up one policy for another at a step that the experiment chooses or draws."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import MatrixGame, check_keys
from tomeval.games.matrix.partner_files import MAX_STATES
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.partners import Change, Partner, PartnerSet

SET_STATES = 20_000
"""States of all partners of a set together, about; they are stored with every cell."""


def switching(first: Partner, second: Partner, step: int) -> Partner:
    """Return the partner that plays `first`, and `second` from a step on, at least the second.

    `second` begins anew at that step, in its start state. The table is that of both machines with a
    counter of steps, so optima against it are exact; they know the change and prepare for it.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> both = [get_partner(text, get_game("IPD")) for text in ("tit_for_tat", "always(1)")]
    >>> late = switching(*both, step=3)
    >>> late.name, late.states
    ('tit_for_tat > always(1) at 3', ('1: start', '2: after 0', '2: after 1', 'then turn 1'))
    """
    name, layers = f"{first.name} > {second.name} at {step}", [[first.start]]
    while len(layers) < step - 1 and sum(map(len, layers)) <= MAX_STATES:
        reached = [first.next_state[s][:, first.emissions[s] > 0] for s in layers[-1]]
        layers.append(np.unique(np.concatenate(reached, axis=None)).tolist())
    places = [(t, s) for t, layer in enumerate(layers) for s in layer]
    size = len(places) + len(second.emissions)
    if size > MAX_STATES:
        raise TomevalError(f"partner {name!r}: has {size:,} states (limit: {MAX_STATES:,})")
    number = {place: n for n, place in enumerate(places)}
    next_state = np.full((size, first.n, first.m), len(places) + second.start)
    next_state[len(places) :] = second.next_state + len(places)
    for n, (t, s) in enumerate(places[: -len(layers[-1])]):
        # What no play reaches leads anywhere; it is the state's own place that counts.
        anywhere = number[t + 1, layers[t + 1][0]]
        goes = [[number.get((t + 1, to), anywhere) for to in row] for row in first.next_state[s]]
        next_state[n] = np.where(first.emissions[s] > 0, goes, anywhere)
    return Partner(
        name,
        np.concatenate([first.emissions[[s for _, s in places]], second.emissions]),
        next_state,
        0,
        (
            *(f"{t + 1}: {first.states[s]}" for t, s in places),
            *(f"then {state}" for state in second.states),
        ),
        title=f"{first.title}; from step {step} on: {second.title}",
        source="two policies joined, docs/partners.md",
        change=Change(step, first, second),
    )


def _change_points(at: Any) -> tuple[list[int], str]:
    """Read `at`, one step, a list of steps, or a range; return the steps and their words."""
    span = isinstance(at, Mapping)
    if span:
        check_keys("partner set: at", at, ("from", "to"), ("from", "to"))
    steps = [at["from"], at["to"]] if span else at if isinstance(at, list) else [at]
    known = all(type(step) is int and 2 <= step <= MAX_STATES for step in steps)
    if not steps or not known or steps != sorted(set(steps)):
        raise TomevalError(
            f"partner set: at: steps are whole numbers from 2 to {MAX_STATES} in rising order, not "
            f"{at!r}"
        )
    if span:
        return list(range(steps[0], steps[1] + 1)), f"{steps[0]}-{steps[1]}"
    return steps, ", ".join(map(str, steps))


def build(spec: dict[str, Any], game: MatrixGame, base: Path | None) -> PartnerSet:
    """Return the set of partners that change their policy: each pair at each change point.

    Keys of `spec`: ``switch`` (two specs, or one set of which two are drawn without replacement, by
    their weights), ``at`` (a step, a list, or a table ``from``, ``to``, all equally likely) and
    optional ``name``.
    """
    check_keys("partner set", spec, ("switch", "at", "name"), ("switch", "at"))
    steps, at = _change_points(spec["at"])
    pairs, words = _pairs(spec["switch"], game, base)
    name = spec.get("name", f"{words} at {at}")
    if not isinstance(name, str):
        raise TomevalError(f"partner set: name must be text, is {name!r}")
    if len(pairs) * sum(steps) > SET_STATES:  # at least one per step
        text = f"its change points make more than {SET_STATES:,} states; name fewer of them"
        raise TomevalError(f"partner set {name!r}: {text}")
    each = itertools.product(pairs, steps)
    partners = tuple(switching(first, second, step) for (_, first, second), step in each)
    weights = np.repeat([weight / len(steps) for weight, _, _ in pairs], len(steps))
    return PartnerSet(name, partners, tuple(weights.tolist()))


def _pairs(
    told: Any, game: MatrixGame, base: Path | None
) -> tuple[list[tuple[float, Partner, Partner]], str]:
    """Return the pairs of policies that `switch` means, with their weights, and its words."""
    if isinstance(told, list) and len(told) == 2 and all(isinstance(one, str) for one in told):
        first, second = (get_partner(one, game, base) for one in told)
        return [(1.0, first, second)], f"{first.name} > {second.name}"
    drawn = get_partner_set(told, game, base) if isinstance(told, str | dict) else None
    if drawn is None or len(drawn.partners) < 2:
        raise TomevalError(
            f"partner set: switch must be two partners, or a set of at least two, is {told!r}"
        )
    each = list(zip(drawn.partners, drawn.weights, strict=True))
    pairs = [(p * q / (1 - p), a, b) for a, p in each for b, q in each if a is not b]
    return pairs, f"two of {drawn.name}"
