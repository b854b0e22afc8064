"""Games of the arena as environments of PettingZoo, for programs that learn: `aec.aec_env`."""

from tomeval.core.extensions import Extension

EXTENSION = Extension("pettingzoo", "games of the arena as environments of PettingZoo")
