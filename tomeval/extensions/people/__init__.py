"""People as players of matrix games, at a terminal."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    "people",
    "people as players, at a terminal",
    commands={"play matrix": "tomeval.extensions.people.commands:PLAY"},
    subjects={"person": "tomeval.extensions.people.person:Person"},
)
