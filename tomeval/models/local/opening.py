"""Open models of this machine: the embedded ones, a folder, a repository of the Hub."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from tomeval.core.errors import unknown
from tomeval.models.base import LocalModel, Opening
from tomeval.models.local.load import no_loading_bar
from tomeval.models.local.transformers import TransformersModel

POCKET = {"pocket": "main", "pocket-rational": "rational"}
"""The embedded models, and the folders of `tomeval/models/pocket` that hold them."""


def open_pocket(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open an embedded model."""
    folder = Path(__file__).parents[1] / "pocket" / POCKET[name]
    # Stored in half precision to be small; on a CPU that would be slow, and inexact.
    options = {"dtype": "float32", **_checked(name, options, opening)}
    with no_loading_bar():
        model = TransformersModel(str(folder), **options)
    model.name = name
    return model


def open_hub(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open ``hf:REPO_OR_PATH[@revision]``; a folder may be relative to the experiment's."""
    options = _checked(name, options, opening)
    base, rest = opening.base or Path(), name.partition(":")[2]
    if (base / rest).is_dir():
        return TransformersModel(str(base / rest), **options)
    path, _, revision = rest.partition("@")
    source = str(base / path) if (base / path).is_dir() else path
    return TransformersModel(source, revision or None, **options)


def _checked(name: str, options: dict[str, Any], opening: Opening) -> dict[str, Any]:
    """Return the options of a model, all of them known."""
    known = list(inspect.signature(TransformersModel.__init__).parameters)[3:]
    for key in options:
        if key not in known:
            raise unknown("option", key, known, f"model {name!r}")
    return options if opening.prefix_reuse else {**options, "prefix_reuse": False}
