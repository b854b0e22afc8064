"""Players of known levels of recursion in Decrypto, and of known orders in matrix games."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="levels",
    about="players of levels of recursion in Decrypto, and of orders of theory of mind",
    subjects={"tom_order": "tomeval.extensions.levels.player:TomOrder"},
    players={"decrypto rsa": "tomeval.extensions.levels.seats:RSA"},
    docs="docs/measures/levels.md",
)
