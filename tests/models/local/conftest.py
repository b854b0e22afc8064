"""Tiny random models, each made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Callable[..., Any]:
    """Give the model of a family and template."""
    from tiny import make_model

    from tomeval.models.local.transformers import TransformersModel

    made: dict[tuple[Any, ...], Any] = {}

    def get(family: str = "llama", template: str | None = None, **options: Any) -> Any:
        key = (family, template, *sorted(options.items()))
        if key not in made:
            folder = make_model(tmp_path_factory.mktemp(family), family, template)
            made[key] = TransformersModel(str(folder), **options)
        return made[key]

    return get
