"""Who plays, and the story around a game, as a language model is told: wording and no more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import shipped
from tomeval.core.text import check_text, excerpt
from tomeval.strategies.options import templates_of
from tomeval.strategies.templates import CHOSEN, Prompts, load_prompts

NONE = "none"
MOST = 500
"""Characters of a persona."""

PERSONAS = ("persona", "partner_persona")
FRAME = "frame"
_PART = shipped("prompts") / "parts" / "framing"


def persona_text(name: str, given: Any) -> str:
    """Return what the persona `given` as the option `name` says; empty for ``none``.

    Raises
    ------
    TomevalError
        It is no text of one line and at most `MOST` characters, or names a file.
    """
    if not isinstance(given, str):
        raise TomevalError(f"{name} must be text, is {json.dumps(given, default=str)}")
    if given == NONE:
        return ""
    check_text(given, name)
    if not given.strip():
        raise TomevalError(f"{name} is empty; leave {name} out, or say {NONE!r}")
    if given.strip().casefold().startswith("file:"):
        raise TomevalError(f"{name} is a text, not a file: write it in place of {given!r}")
    if "\n" in given or "\t" in given:
        raise TomevalError(f"{name} must be one line, is {excerpt(given)!r}")
    if len(given) > MOST:
        raise TomevalError(f"{name} has {len(given):,} characters; a persona has at most {MOST}")
    return given.strip()


def prompts_of(options: Mapping[str, Any], base: Path | None) -> Prompts:
    """Return the templates of a player of these options, those of its strategy too."""
    more = templates_of(options.get("strategy", "QA"), "matrix")
    if any(options.get(name, NONE) != NONE for name in (*PERSONAS, FRAME)):
        more += (_PART,)
    return load_prompts("matrix", options.get("prompts", ""), base, more)


def framed(
    prompts: Prompts,
    options: Mapping[str, Any],
    values: Mapping[str, Any],
    story: str = "",
) -> str:
    """Return what stands before the rules: stories, then who plays; empty without any.

    `values` are those that the rules show; `story` is the game's own, which stands first.

    Raises
    ------
    TomevalError
        As `persona_text`; or there is no such frame.
    """
    parts = [story] if story else []
    if (frame := options[FRAME]) != NONE:
        known = [n.removeprefix(CHOSEN) for n in prompts.names() if n.startswith(CHOSEN)]
        if frame not in known:
            raise unknown(FRAME, frame, [NONE, *known])
        parts.append(prompts.render(f"{CHOSEN}{frame}", **values))
    told = {name: persona_text(name, options[name]) for name in PERSONAS}
    if any(told.values()):
        parts.append(prompts.render("context/persona", **told))
    return "\n\n".join(parts)
