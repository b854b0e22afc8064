"""Published games of models that everybody knows, and of people, as runs that ship."""

from tomeval.core.extensions import Extension
from tomeval.extensions.known.games import RUNS

EXTENSION = Extension(
    name="known",
    about="published games of GPT-4, older models and people (Akata et al. 2025) as runs",
    runs=RUNS,
    docs="docs/known_models.md",
)
