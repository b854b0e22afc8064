"""Games of the package TextArena in the arena: ``textarena:ID``."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    "textarena",
    "games of TextArena in the arena, unplanned",
    games={"textarena": "tomeval.extensions.textarena.kind:textarena_kind"},
)
