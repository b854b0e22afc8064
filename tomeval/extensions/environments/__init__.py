"""Games as environments to train in: what a model reads, what it writes, and an exact reward."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    "environments",
    "games as environments to train in: in process, and for gymnasium",
    docs="docs/environments.md",
)
