"""Fresh games, disguised twins of famous ones, and what a player loses in disguise."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="fresh",
    about="drawn games, disguised twins, the memory effect",
    game_sets={
        "fresh": "tomeval.extensions.fresh.drawing:FRESH",
        "twins": "tomeval.extensions.fresh.twins:TWINS",
    },
    tables={"matrix": "tomeval.extensions.fresh.memory:TABLES"},
    comparisons={"memory": "tomeval.extensions.fresh.memory:MEMORY"},
    docs="docs/measures/fresh.md",
)
