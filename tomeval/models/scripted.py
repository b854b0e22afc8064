"""A model that follows a script: the backbone of tests, and a way to know what should come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import is_there, resolved
from tomeval.core.resources import read_text
from tomeval.models.base import (
    BackendError,
    Capabilities,
    GenerateRequest,
    Model,
    Opening,
    Reply,
    ScoreRequest,
    Scores,
)

Said = str | Reply | Scores | Sequence[float]
Script = Callable[[GenerateRequest | ScoreRequest], Said]

SCRIPTS: dict[str, Script | str] = {
    "arena": "tomeval.games.arena.scripts:play_arena",
    "arena_rival": "tomeval.games.arena.scripts:play_rival",
    "decrypto": "tomeval.games.decrypto.scripts:play_decrypto",
}
"""Scripts that an experiment can name ``scripted:NAME``, or where they are, as ``module:function``;
register your own function here."""


def script_names() -> list[str]:
    """Return the names of all scripts, without those of games that are not there."""
    return [
        name
        for name, where in SCRIPTS.items()
        if not isinstance(where, str) or is_there(where.rpartition(".")[0])
    ]


class ScriptedModel(Model):
    """Replies from a function, or from a list that every episode reads from its start.

    A function is called with the request, a list read in order: texts or `Reply` for generated
    answers; log-probabilities or `Scores` for scored labels. `generate` and `score` raise
    `BackendError` when the list is exhausted.
    """

    def __init__(self, script: Script | Sequence[Said], name: str = "scripted") -> None:
        self.name = name
        self.capabilities = Capabilities(concurrent=False)  # a list is read in order
        self._script = script
        self._used = 0

    def episode(self, answered: int) -> ScriptedModel:
        """Return the same script, read from its start or on from where a killed run stopped."""
        model = ScriptedModel(self._script, self.name)
        model._used = answered
        return model

    async def generate(self, request: GenerateRequest) -> Reply:
        """Return the script's next text."""
        said = self._next(request)
        if isinstance(said, Reply):
            return said
        if not isinstance(said, str):
            raise TypeError(f"the script gave {type(said).__name__} where text was expected")
        return Reply(said)

    async def score(self, request: ScoreRequest) -> Scores:
        """Return the script's next log-probabilities."""
        said = self._next(request)
        if isinstance(said, Scores):
            return said
        if isinstance(said, str | Reply) or len(said) != len(request.labels):
            raise TypeError(f"the script must give {len(request.labels)} log-probabilities")
        return Scores(tuple(said), sum(math.exp(value) for value in said), "scripted")

    def _next(self, request: GenerateRequest | ScoreRequest) -> Said:
        if callable(self._script):
            return self._script(request)
        if self._used >= len(self._script):
            raise BackendError(f"the script ends after reply {len(self._script)}")
        self._used += 1
        return self._script[self._used - 1]


def open_named(name: str, options: dict[str, Any], opening: Opening) -> ScriptedModel:
    """Open ``scripted:NAME``.

    NAME is a key of `SCRIPTS`, or a JSON file with a list of replies: texts, or lists of
    log-probabilities.
    """
    if options:
        raise TomevalError(f"model {name!r} takes no options, got {', '.join(options)}")
    script = name.partition(":")[2]
    if script in script_names():
        return ScriptedModel(resolved(SCRIPTS[script]), name)
    if not script.endswith(".json"):
        raise unknown("script", script, script_names())
    from pydantic import TypeAdapter, ValidationError

    path = (opening.base or Path()) / script
    try:
        replies = TypeAdapter(list[str | list[float]]).validate_json(read_text(path), strict=True)
    except ValidationError as error:
        said = "must be a list of texts or of lists of log-probabilities"
        raise TomevalError(f"{path}: {said}: {error.errors()[0]['msg']}") from None
    return ScriptedModel(replies, f"scripted:{path.name}")
