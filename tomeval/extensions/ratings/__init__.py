"""Ratings: players by one likelihood over their games, where a domain has games between them."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="ratings",
    about="ratings of players from the games between them, and what errors did to them",
    figures={"arena": {"ratings": "tomeval.extensions.ratings.figure:ratings"}},
    first_figures=("ratings",),
    commands={"ratings": "tomeval.extensions.ratings.command:ratings"},
    docs="docs/arena/ratings.md",
)
