"""Many episodes at once, for subjects that need no model: numpy over episodes, step by step.

Rows are equal to those of the one-episode loop in `play`, for any block of episodes.
"""

from tomeval.domains.matrix.batch.engine import batch_form, simulate

__all__ = ["batch_form", "simulate"]
