"""Levels compared with a baseline: pairs, tests, intervals, decomposition, power.

May import core, statistics and runs.
"""

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.decomposition import decompose
from tomeval.comparing.power import episodes_needed

__all__ = ["Comparison", "compare", "decompose", "episodes_needed"]
