"""Levels of recursion in Decrypto: players that reason to one, and at which a player stands."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="levels",
    about="levels of recursion in Decrypto: players of a level, and at which each player stands",
    measures={"decrypto": "tomeval.extensions.levels.measures:GROUPS"},
    tables={"decrypto": "tomeval.extensions.levels.tables:TABLES"},
    figures={"decrypto": {"levels": "tomeval.extensions.levels.figure:levels"}},
    first_figures=("levels",),
    players={"decrypto rsa": "tomeval.extensions.levels.seats:RSA"},
    docs="docs/measures.md",
)
