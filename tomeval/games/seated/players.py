"""Players of seats as experiments name them: what those with and without a model share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.models.naming import NO_MODEL
from tomeval.runs.domain import Player

if TYPE_CHECKING:
    from tomeval.games.llm.options import LLMOptions

LLM = "llm"

LLM_DEFAULTS: tuple[str, ...] = ("strategy", "memory", "temperature", "probe_temperature")
LLM_DEFAULTS += ("top_p", "top_k", "min_p", "max_tokens", "lenient", "prompts", "system")
"""Options of language models that an experiment can set for all of them."""

IF_SET = ("lenient",)
"""Options that stand in a player's definition only if they are not the default."""


@dataclass(frozen=True, eq=False)
class SeatedPlayer(Player):
    """One player. Its draws depend on its name; relative paths among its options start at `base`.

    `DOMAIN` names its prompts, and `OPTIONS` the class of a language model's options, which is
    imported when one plays.
    """

    base: Path | None = None

    DOMAIN: ClassVar[str]
    OPTIONS: ClassVar[str]

    @cached_property
    def llm_options(self) -> Any:
        """The options of a language model, an instance of `OPTIONS`."""
        return resolve_name(self.OPTIONS)(**self.options)

    @cached_property
    def templates(self) -> str:
        """The hash of the prompt templates; empty if it uses none."""
        if not self.model:
            return ""
        return str(self.llm_options.templates(self.DOMAIN, self.base).sha256())

    @property
    def data(self) -> dict[str, Any]:
        """The player as JSON-ready data."""
        said = {"name": self.name, "kind": self.kind, "options": self.options}
        spec = {"spec": self.model} if self.model else {}
        return {**said, "model": self.model_name, **spec}

    @classmethod
    def model_and_options(cls, entry: Mapping[str, Any]) -> tuple[Any, LLMOptions]:
        """Return the model that a table names and the options beside it, both checked."""
        from tomeval.models import model_name

        given = dict(entry)
        model = given.pop("model", "")
        if not model:
            raise TomevalError(NO_MODEL)
        model_name(model)
        options: type[LLMOptions] = resolve_name(cls.OPTIONS)
        check_options(LLM, given, [field.name for field in fields(options)], ["model"])
        return model, options(**given)


def check_options(
    kind: str, entry: Iterable[str], known: Collection[str], more: Collection[str] = ()
) -> None:
    """Raise if a table has an option that its kind of player has not; `more` can stand anywhere."""
    for key in entry:
        if key not in known:
            names = [*more, *known]
            near = did_you_mean(key, ["kind", *names])
            raise TomevalError(
                f"a player of kind {kind!r} has no option {key!r}{near}; its "
                f"options: {', '.join(names) or 'none'}"
            )
