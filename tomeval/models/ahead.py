"""What is known of a model before anything is asked of it: for plans."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.models import BACKENDS, check_kept, is_served, name_and_options, open_model
from tomeval.models.base import Opening
from tomeval.models.served.limits import Price


class Ahead(NamedTuple):
    """What a plan needs to know of a model.

    Attributes
    ----------
    served : bool
    context : int or None
        Longest sequence in tokens; None if it is not known without asking.
    price : Price or None
        By its price file.
    thinking : int
        Tokens that every reply may have for thinking besides, as far as its options say.
    """

    served: bool
    context: int | None = None
    price: Price | None = None
    thinking: int = 0


def look_ahead(spec: str | dict[str, Any], base: Path | None = None, scores: bool = True) -> Ahead:
    """Check a model's spec as `open_model` does, and say what it tells; nothing is asked or loaded.

    Raises `TomevalError` for what `open_model` refuses of the spec itself.
    """
    name, options = name_and_options(spec)
    check_kept(spec)
    backend, thinking = BACKENDS[name.partition(":")[0]], options.get("thinking_budget") or 0
    if backend.look:
        module, _, function = backend.look.partition(":")
        look = getattr(importlib.import_module(module), function)
        opening = Opening(base, None, scores)
        return Ahead(is_served(spec), look(name, options, opening), thinking=thinking)
    model = open_model(spec, base=base, scores=scores)
    price: Price | None = getattr(model, "price", None)  # of backends that can have one
    return Ahead(is_served(spec), None, price, thinking)
