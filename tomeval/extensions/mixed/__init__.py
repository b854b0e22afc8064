"""Mixed models: whether a difference would hold with other games, partners, models or seeds."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="mixed",
    about="mixed models: whether a difference holds with other games, partners or models",
    comparisons={"mixed": "tomeval.extensions.mixed.table:MIXED"},
    docs="docs/comparisons.md",
)
