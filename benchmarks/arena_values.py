"""Exact values of the arena's games, how wide bounds are, and CPU seconds of one thread.

V* of the first seat against scripts; in Secret Mafia that of seat 2, in games of 6 whose
other players are all alike. Every case is solved in a fresh process.

    python benchmarks/arena_values.py [ipd3 | blotto | mafia]
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from one_thread import use_one_thread

from tomeval.games.arena.named_games import get_kind
from tomeval.games.blotto.allocations import drawn
from tomeval.games.solver import Bound


class Case(NamedTuple):
    """A game, its rules, and the scripts of the other seats; one is that of all of them.

    `title` says what the scripts are, where they are long.
    """

    game: str
    rules: dict[str, Any]
    others: list[dict[str, Any]]
    title: str = ""


def ipd3() -> Iterator[Case]:
    """Yield games of points and of ranks, against two scripts."""
    plain = [{"kind": "tit_for_tat"}, {"kind": "grim"}]
    noisy = [{"kind": kind, "noise": 0.1} for kind in ("retaliator", "win_stay_lose_shift")]
    yield Case("ipd3", {"talk": 0}, plain)
    yield Case("ipd3", {"talk": 0, "rounds": 100}, plain)
    yield Case("ipd3", {"talk": 0, "rounds": 100}, noisy)
    yield Case("ipd3", {}, [{"kind": "once_bitten"}])
    for rounds, others in ((5, plain), (20, plain), (5, noisy), (20, noisy), (50, noisy)):
        yield Case("ipd3", {"talk": 0, "rounds": rounds, "reward": "rank"}, others)
    yield Case("ipd3", {"rounds": 20, "reward": "rank"}, [{"kind": "once_bitten"}])


def blotto() -> Iterator[Case]:
    """Yield two boards and both kinds of reward, against every kind of script."""
    presets = get_kind("blotto").presets
    for board, reward in ((b, r) for b in ("v0", "large") for r in ("match", "rounds")):
        rules = {**presets[board], "reward": reward}
        fields, units = rules["fields"], rules["units"]
        rng = np.random.default_rng(0)
        many = [list(drawn(fields, units, rng)) for _ in range(50)]
        others: dict[str, dict[str, Any]] = {
            f"mixture of {k}": {"kind": "mixture", "allocations": many[:k]} for k in (5, 20, 50)
        }
        others |= {
            "mixture of 5, noise 0.1": {"kind": "mixture", "allocations": many[:5], "noise": 0.1},
            "uniform": {"kind": "uniform"},
            "copy": {"kind": "copy"},
        }
        if board == "v0":  # larger ones have too many plans, and too many classes
            others["shift, noise 0.1"] = {"kind": "shift", "noise": 0.1}
        for title, other in others.items():
            yield Case("blotto", rules, [other], title)


def mafia() -> Iterator[Case]:
    """Yield games without talk and with acts, against scripts."""
    yield Case("mafia", {"talk": "none"}, [{"kind": "follower"}])
    yield Case("mafia", {"talk": "none"}, [{"kind": "grudge"}])
    yield Case("mafia", {"talk": "none"}, [{"kind": "follower", "pick": "random"}])
    for kind in ("reactive", "bandwagon", "believer"):
        yield Case("mafia", {"talk": "acts"}, [{"kind": kind}])


CASES = {"ipd3": ipd3, "blotto": blotto, "mafia": mafia}


def row(case: Case) -> str:
    """Solve a case; return its row of the table."""
    kind = get_kind(case.game)
    game = kind.make(kind.rules(**case.rules))
    seat = 2 if case.game == "mafia" else 0
    seats = [other for other in range(game.seats) if other != seat]
    tables = case.others * len(seats) if len(case.others) == 1 else case.others
    scripts = [
        kind.policies[table["kind"]](**{k: v for k, v in table.items() if k != "kind"})
        for table in tables
    ]
    begun = time.process_time()
    solver = kind.solver(game, seat, dict(zip(seats, scripts, strict=True)))
    value = "–" if solver is None else shown(solver.value())
    seconds = time.process_time() - begun
    others = case.title or "; ".join(told(other) for other in case.others)
    return f"| {case.game}: {told(case.rules)} | {others} | {value} | {seconds:.2f} |"


def shown(bound: Bound | None) -> str:
    """Return a value, or between what it lies."""
    assert bound is not None
    return f"{bound.low:.4g}" if bound.exact else f"{bound.low:.4g} to {bound.high:.4g}"


def told(table: dict[str, Any]) -> str:
    """Return rules or a script in words."""
    return ", ".join(f"{name} {value}" for name, value in table.items()) or "default"


if __name__ == "__main__":
    use_one_thread()
    print("| game | others | V* | CPU, s |\n| --- | --- | --- | --- |")
    chosen = (case for name in sys.argv[1:] or CASES for case in CASES[name]())
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for line in pool.imap(row, chosen):
            print(line, flush=True)
