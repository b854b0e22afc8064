"""Opening a served model by its name in an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import Opening
from tomeval.models.likely import likely
from tomeval.models.served.model import OpenAIModel
from tomeval.models.served.options import OpenAIOptions

_NAME = re.compile(r"(?:openai:)?(?P<model>.+)@(?P<url>https?://.+)")


def open_server(name: str, options: Mapping[str, Any], opening: Opening) -> OpenAIModel:
    """Open ``openai:MODEL@BASE_URL``; files among the options may be relative to the experiment.

    Raises `TomevalError` for a name without base URL or a wrong option.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise TomevalError(
            f"{name!r} is not openai:MODEL@BASE_URL, such as "
            f"{likely(name) or 'openai:my-model@http://127.0.0.1:8000/v1'}"
        )
    options = {"scoring": "required" if opening.scores else "off", **options}
    for key in ("prices", "tokenizer"):
        path = (opening.base or Path()) / str(options.get(key, ""))
        if key in options and path.exists():
            options[key] = str(path)
    return OpenAIModel(
        match["model"],
        match["url"],
        OpenAIOptions.of(options),
        budget=opening.budget,
        waiting=opening.waiting,
    )
