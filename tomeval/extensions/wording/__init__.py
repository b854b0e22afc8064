"""Wording: how far measures move where the same questions are asked in other words."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="wording",
    about="sensitivity to wording: range of the measures by option",
    tables={"matrix": "tomeval.extensions.wording.tables:TABLES"},
    comparisons={"sensitivity": "tomeval.extensions.wording.tables:SENSITIVITY"},
    docs="docs/measures/wording.md",
)
