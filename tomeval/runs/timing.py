"""How long a run will take, before it begins: a timed step of each local model, or a given speed.

A local model plays two steps of made-up episodes of each of its players, from the middle of an
episode, as many at a time as a run would; the second step, whose prompt is mostly known already,
is what is timed. Nothing is asked of served models: their speed is given, or the time unknown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.models import is_served, lacking, model_name, open_model
from tomeval.models.base import GenerateRequest, LocalModel, Prompt, Sampling, ScoreRequest
from tomeval.models.naming import brief_names, shown_name
from tomeval.runs.domain import Cell, Doing, Domain, get_domain
from tomeval.runs.engine import spec_key
from tomeval.runs.experiment import Experiment
from tomeval.runs.needs import NOTE, TYPICAL, Needs

TOGETHER = 32
"""Episodes that a run plays at a time, unless it is told otherwise."""

PATIENCE, LEAST = 5.0, 8
"""Seconds that a timed step may take, by that of one episode; of a slow model fewer are timed at a
time than a run plays, but so many unless one alone takes longer."""

_WRITTEN = 64
"""Tokens after which a timed reply is cut; longer ones take in proportion."""


class Speed(NamedTuple):
    """The speed of served models: tokens that they write a second in all, or calls."""

    value: float
    unit: str

    @classmethod
    def of(cls, text: str) -> Speed:
        """Read a speed such as ``200`` (tokens), ``200 tokens/s`` or ``3.5 calls/s``.

        Examples
        --------
        >>> Speed.of("200"), Speed.of("3.5 calls/s")
        (Speed(value=200.0, unit='tokens'), Speed(value=3.5, unit='calls'))
        """
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*((tokens|calls)(/s)?)?\s*", text)
        if found is None or float(found[1]) <= 0:
            raise TomevalError(f"--speed {text!r}: write tokens per second, or '3 calls/s'")
        return cls(float(found[1]), found[3] or "tokens")


@dataclass
class Demand:
    """What a plan asks of one model in all: calls, tokens written, and steps by kind of player."""

    spec: Any
    scores: bool = False
    calls: int = 0
    written: int = 0
    episodes: int = 0
    # By player: a cell with it, its seat, and the episodes of all such cells.
    players: dict[tuple[str, ...], tuple[Cell, str, int]] = field(default_factory=dict)


class Took(NamedTuple):
    """The seconds of a model, or None and why they are not known."""

    name: str
    seconds: float | None
    why: str


def demands(experiment: Experiment, found: Sequence[tuple[int, str, Needs]]) -> dict[str, Demand]:
    """Add up what is asked of each model; `found` has cell, seat and what it needs an episode."""
    sums: dict[str, Demand] = {}
    for number, seat, need in found:
        cell = experiment.cells[number]
        episodes = len(cell.originals(cell.wanted(experiment.per_cell)))
        key = spec_key(cell.models[seat])
        mine = sums.setdefault(key, Demand(cell.models[seat]))
        mine.scores |= cell.scores
        mine.calls += episodes * need.calls
        mine.written += episodes * need.expected.completion
        mine.episodes += episodes
        who = cell.seats[seat]
        player = (seat, who.strategy if who else "", str(cell.length))
        shown, _, before = mine.players.get(player, (cell, seat, 0))
        mine.players[player] = shown, seat, before + episodes
    return sums


def times(
    experiment: Experiment,
    asked: Mapping[str, Demand],
    speed: Speed | None,
) -> list[Took]:
    """Return the time of every model; local ones are loaded and timed if they are on this machine.

    Raises `TomevalError` for a local model that cannot be loaded.
    """
    from tomeval.models.local.opening import on_this_machine

    found = []
    brief = brief_names(shown_name(demand.spec) for demand in asked.values())
    for demand, shown in zip(asked.values(), brief, strict=True):
        name = model_name(demand.spec)
        if is_served(demand.spec):
            if speed is None:
                found.append(Took(shown, None, "give --speed: tokens or calls a second"))
            else:
                amount = demand.calls if speed.unit == "calls" else demand.written
                found.append(
                    Took(shown, amount / speed.value, f"at {speed.value:g} {speed.unit}/s")
                )
        elif lacking(demand.spec):
            found.append(Took(shown, None, "what it needs is not installed here"))
        elif name.startswith("hf:") and not on_this_machine(name, experiment.base):
            found.append(Took(shown, None, "its weights are not on this machine yet"))
        else:
            opened = open_model(demand.spec, base=experiment.base, scores=demand.scores)
            if isinstance(opened, LocalModel):
                seconds = _timed(get_domain(experiment.domain), opened, demand)
                found.append(Took(shown, seconds, "by a timed step of each player"))
    return found


def _timed(domain: Domain, model: LocalModel, demand: Demand) -> float:
    """Return the seconds that a local model will take."""
    total, number = 0.0, 0
    for cell, seat, episodes in demand.players.values():
        share = domain.asked_share(cell, seat)
        for form, steps in domain.forms(cell, seat).items():
            if not steps:
                continue
            middle = (len(steps) - 1) // 2
            pair = steps[middle : middle + 2]
            first, last = (domain.preview(cell, seat, form, step) for step in (pair[0], pair[-1]))
            number += 1
            together = min(TOGETHER, demand.episodes)
            alone = _step(model, first, 1, f"{number} alone")
            room = int(PATIENCE / max(alone, 1e-9))
            together = max(1, min(together, max(room, LEAST if room else 1)))
            _step(model, first, together, str(number))
            took = _step(model, last, together, str(number))
            model.forget([f"{number} alone 0", *(f"{number} {one}" for one in range(together))])
            total += share.get(form, 1.0) * len(steps) * episodes * took / together
    return total


def _step(
    model: LocalModel, calls: Sequence[tuple[Doing, Prompt]], together: int, group: str
) -> float:
    """Return the seconds of the calls of one step in so many episodes; longer replies in full."""
    total = 0.0
    for doing, prompt in calls:
        groups = [f"{group} {episode}" for episode in range(together)]
        began = time.perf_counter()
        if doing.labels:
            model.score_batch([ScoreRequest(prompt, doing.labels, one) for one in groups])
            total += time.perf_counter() - began
            continue
        sampling = Sampling(max_tokens=min(doing.most, _WRITTEN))
        asked = [GenerateRequest(prompt, sampling, seed, one) for seed, one in enumerate(groups)]
        replies = model.generate_batch(asked)
        took = time.perf_counter() - began
        longest = max(1, *(reply.usage.completion for reply in replies))
        cut = any(reply.finish == "length" for reply in replies)
        usual = min(doing.most, TYPICAL.get(doing.kind, NOTE))
        total += took * (max(usual, longest) / longest if cut else 1.0)
    return total
