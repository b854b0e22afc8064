"""Predictions graded as probabilities."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="probabilistic",
    about="predictions graded as probabilities: losses, calibration",
    measures={"matrix": "tomeval.extensions.probabilistic.measures:GROUPS"},
    tables={"matrix": "tomeval.extensions.probabilistic.tables:TABLES"},
    figures={"matrix": {"probabilistic": "tomeval.extensions.probabilistic.tables:probabilistic"}},
    docs="docs/measures/probabilistic.md",
)
