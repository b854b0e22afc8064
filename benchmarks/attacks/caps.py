"""Caps on calls and tokens, with 1, 8, 64 and 512 requests at a time.

A run of 60 episodes, or of 512, under a cap that is reached once or more, started again until all
is played, on a server that answers one request in three with 503 at first. Tried are sessions.
Survived means: the server answered no more than the cap allows, and of what it allows no more was
left than one further call could have taken (calls: nothing; tokens: its prompt and its
`max_tokens`, for what a call will use is not known before); no answered question was asked twice;
and in the end the rows are those of a run without a cap.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attacks.base import Row, judged
from attacks.fault_kinds import status
from attacks.fault_server import FaultServer
from attacks.faults import measured
from tomeval.models.served import Budget, BudgetExceeded
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

AT_ONCE = (1, 8, 64, 512)
CALLS, TOKENS = "calls", "tokens"

_EPISODES = 60  # at least
_SHARE = 0.4  # of what all takes is allowed in a session
_LEAST = {CALLS: 6, TOKENS: 500}  # and as much again as the self-test takes
_SESSIONS = 12  # at most, until everything is played
_ROLES = 32  # tokens of a prompt that are not its messages', at most


def _experiment(server: FaultServer, seed: int, episodes: int) -> Any:
    return make_experiment(
        {
            "name": "caps",
            "games": "IPD",
            "partners": "tit_for_tat",
            "labels": "neutral",
            "horizon": 2,
            "episodes": episodes,
            "seed": seed,
            "model": {"name": server.model, "concurrency": max(AT_ONCE)},
            "subjects": [{"strategy": "QA"}],
        }
    )


def _try(
    server: FaultServer, folder: Path, experiment: Any, concurrency: int, cap: str, most: int
) -> tuple[str, int]:
    """Run under a cap, again and again until all is played; return what went wrong, and how often.

    A session may use what it is allowed, and must use it: what is left at its end is less than
    the most that one further call could take.
    """
    answered: set[bytes] = set()
    for session in range(1, _SESSIONS + 1):
        server.behave(partial(status, 503))  # a retried call is one call
        budget = Budget(**{f"max_{cap}": most})
        stopped = False
        try:
            run_experiment(experiment, folder, concurrency=concurrency, budget=budget)
        except BudgetExceeded:
            stopped = True
        used = server.answered.total() if cap == CALLS else server.used
        room = 1 if cap == CALLS else server.largest + _ROLES
        if used > most:
            return f"session {session} used {used} of {most} {cap}", session
        if stopped and most - used >= room:
            return f"session {session} left {most - used} of {most} {cap}", session
        # Not those of the self-test, which asks some questions twice.
        games = {key: n for key, n in server.answered.items() if b"Final answer" in key}
        twice = answered & games.keys()
        if twice or any(count > 1 for count in games.values()):
            return f"session {session} asked answered questions again", session
        answered |= games.keys()
        if not stopped:
            return "", session
    return f"not finished after {_SESSIONS} sessions", _SESSIONS


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Try both caps at every number of requests at a time."""
    logging.disable(logging.WARNING)
    try:
        with FaultServer() as server:
            return [
                row
                for at_once in AT_ONCE
                for row in _both(server, work / str(at_once), at_once, size, seed)
            ]
    finally:
        logging.disable(logging.NOTSET)


def _both(server: FaultServer, work: Path, at_once: int, size: float, seed: int) -> Iterator[Row]:
    """Try both caps at one number of requests at a time; enough episodes for all of them."""
    episodes = max(6, round(max(_EPISODES, at_once) * size))
    experiment = _experiment(server, seed, episodes)
    server.behave()
    run_experiment(experiment, work / "whole", concurrency=at_once)
    whole = measured(work / "whole")
    caps = {CALLS: server.answered.total(), TOKENS: server.used}
    for cap, total in caps.items():
        most = math.ceil(_SHARE * total) + _LEAST[cap]
        wrong, sessions = _try(server, work / cap, experiment, at_once, cap, most)
        if not wrong and measured(work / cap) != whole:
            wrong = "rows differ from those of a run without a cap"
        case = f"{cap}, {at_once} request{'' if at_once == 1 else 's'} at a time"
        yield judged(case, [*[""] * (sessions - 1), wrong])
