"""Many episodes at once, for subjects that need no model: numpy over episodes, step by step.

Rows are equal to those of the one-episode loop in `tomeval.play`, for any block of episodes.
"""

from tomeval.batch.engine import BATCH_KINDS, simulate

__all__ = ["BATCH_KINDS", "simulate"]
