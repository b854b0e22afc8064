"""Games that TextArena played elsewhere, in MindGames' shape, as runs of the arena."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    "trajectories",
    "games that TextArena played elsewhere, as runs of the arena",
    commands={"arena import": "tomeval.extensions.trajectories.command:import_"},
)
