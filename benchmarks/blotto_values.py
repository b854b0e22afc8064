"""What exact values of Colonel Blotto cost.

CPU seconds of one thread in which a solver is made, by board and policy of the other seat, with
V* for both kinds of reward and the value of random play. Nothing is kept from one row to the next.

    python benchmarks/blotto_values.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from one_thread import use_one_thread

from tomeval.domains.arena.games.blotto import KIND
from tomeval.domains.arena.games.blotto.allocations import classes, drawn, even, every
from tomeval.domains.arena.games.blotto.chances import _at_corners, any_against_each
from tomeval.domains.arena.games.blotto.equilibrium import equilibrium

NOISE = 0.1


def rows() -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return board, title, policy and options of every row."""
    found: list[tuple[str, str, str, dict[str, Any]]] = []
    for board in ("v0", "large"):
        fields, units = KIND.presets[board]["fields"], KIND.presets[board]["units"]
        rng = np.random.default_rng(0)
        many = [list(drawn(fields, units, rng)) for _ in range(50)]
        found += [
            (board, f"mixture of {k}", "mixture", {"allocations": many[:k]}) for k in (5, 20, 50)
        ]
        noisy = {"allocations": many[:5], "noise": NOISE}
        found.append((board, f"mixture of 5, noise {NOISE}", "mixture", noisy))
        one = list(even(fields, units))
        one[0], one[-1] = one[0] + 3, one[-1] - 3
        found.append((board, "one, permuted", "mixture", {"allocations": [one], "permuted": True}))
        found.append((board, "uniform", "uniform", {}))
        lists = {"won": many[:3], "lost": many[3:6]}
        found.append((board, "by_result, 3 and 3", "by_result", lists))
        found.append((board, "copy", "copy", {}))
        if board == "v0":  # larger ones have too many plans, and too many classes
            found.append((board, f"shift, noise {NOISE}", "shift", {"noise": NOISE}))
            found.append((board, "equilibrium", "equilibrium", {}))
    return found


def main() -> None:
    """Print one row per board and policy."""
    print("| board | other seat | CPU seconds | V*, match | V*, rounds | random, rounds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for board, title, name, options in rows():
        for cached in (_at_corners, equilibrium, any_against_each, every, classes):
            cached.cache_clear()
        cells, seconds = [], 0.0
        for reward in ("match", "rounds"):
            game = KIND.make(KIND.rules(**KIND.presets[board], reward=reward))
            begun = time.process_time()
            solver = KIND.solver(game, 0, {1: KIND.policies[name](**options)})
            seconds = seconds or time.process_time() - begun
            assert solver is not None
            value, chance = solver.value(), solver.chance()
            assert value is not None
            cells.append(f"{value.low:.3f}")
        cells.append("unknown" if chance is None else f"{chance.low:.3f}")
        print(f"| {board} | {title} | {seconds:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    use_one_thread()
    main()
