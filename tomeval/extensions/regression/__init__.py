"""Regression on single steps: who learns faster, and what a step's regret depends on."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="regression",
    about="regression on single steps: who learns faster, what regret depends on",
    comparisons={"regression": "tomeval.extensions.regression.model:REGRESSION"},
    docs="docs/comparisons.md",
)
