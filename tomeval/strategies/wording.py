"""Which options of a language model's player are wording, and which make it another player."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SHARED = {"prompts": "default", "system": "none"}
"""The options of every language-model player that are wording, with what stands for no value."""

WITH_MEMORY = SHARED | {"memory": "restated"}
"""The same where players can also be told the rules once, see ``memory``."""

_TOLD = ("model", "strategy")  # what has columns of its own


def split_wording(
    options: Mapping[str, Any], strategy: str, wording: Mapping[str, str] = SHARED
) -> tuple[str, dict[str, str]]:
    """Return a player's name apart from its wording, and its wording by name.

    Parameters
    ----------
    options : mapping
        Those that a player was given; what it was not given has its default.
    strategy : str
    wording : mapping of str to str
        The options that are wording, with their defaults.

    Examples
    --------
    >>> split_wording({"strategy": "QA", "temperature": 0, "prompts": "akata"}, "QA")
    ('QA(temperature=0)', {'prompts': 'akata', 'system': 'none'})
    """
    found = {name: str(options.get(name) or default) for name, default in wording.items()}
    rest = {k: v for k, v in options.items() if k not in wording and k not in _TOLD}
    inside = ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in rest.items()
    )
    return f"{strategy}({inside})" if inside else strategy, found
