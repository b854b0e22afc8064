"""Levels beside a baseline: pairs, tests, intervals, profiles, shares of regret, power.

May import core, statistics and runs.
"""

from tomeval.comparing.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
