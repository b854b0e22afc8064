"""Levels of recursion in Decrypto and orders of theory of mind in matrix games."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="levels",
    about="levels of recursion in Decrypto, orders of theory of mind in matrix games: players of "
    "each, and at which a player stands",
    tables={
        "decrypto": "tomeval.extensions.levels.tables:TABLES",
        "matrix": "tomeval.extensions.levels.orders:TABLES",
    },
    figures={"decrypto": {"levels": "tomeval.extensions.levels.figure:levels"}},
    first_figures=("levels",),
    subjects={"tom_order": "tomeval.extensions.levels.player:TomOrder"},
    players={"decrypto rsa": "tomeval.extensions.levels.seats:RSA"},
    docs="docs/measures/levels.md",
)
