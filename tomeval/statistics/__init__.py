"""Arrays in, arrays out: estimates with intervals, paired tests, resampling, clustered shares.

May import core only.
"""

from tomeval.statistics.estimates import AUTO, RESAMPLES, Estimate, estimate

__all__ = ["AUTO", "RESAMPLES", "Estimate", "estimate"]
