"""Planted beliefs: what a player does with a prediction whose accuracy is set."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="planted",
    about="planted beliefs: what players make of predictions whose accuracy is set",
    measures={"matrix": "tomeval.extensions.planted.measures:GROUPS"},
    tables={"matrix": "tomeval.extensions.planted.tables:TABLES"},
    docs="docs/measures/planted.md",
)
