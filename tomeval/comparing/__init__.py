"""Levels compared with a baseline: pairs, tests, intervals, power.

May import core, statistics and runs.
"""

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.power import episodes_needed

__all__ = ["Comparison", "compare", "episodes_needed"]
