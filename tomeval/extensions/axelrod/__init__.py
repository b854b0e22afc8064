"""Players of the Axelrod library as partners of matrix games: ``axelrod:NAME``."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    "axelrod",
    "players of the Axelrod library as partners of matrix games",
    partners={"axelrod": "tomeval.extensions.axelrod.players:LIBRARY"},
)
