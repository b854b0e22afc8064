"""Ratings: players by one likelihood over their games, where a domain has games between them."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="ratings",
    about="ratings of players from the games between them, and what errors did to them",
    tables={"arena": "tomeval.extensions.ratings.tables:TABLES"},
    docs="docs/arena/ratings.md",
)
