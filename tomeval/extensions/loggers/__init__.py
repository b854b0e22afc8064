"""A run that was played in Weights & Biases or MLflow: ``run --log NAME``."""

from functools import partial

from tomeval.core.extensions import Extension
from tomeval.extensions.loggers.sending import logged

EXTENSION = Extension(
    "loggers",
    "the curves and the table of a run in Weights & Biases or MLflow, when it was played",
    loggers={name: partial(logged, name) for name in ("wandb", "mlflow")},
    docs="docs/interchange.md",
)
