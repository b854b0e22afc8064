"""Open models of this machine: the embedded ones, a folder, a repository of the Hub."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from tomeval.core.errors import unknown
from tomeval.models.base import LocalModel, Opening
from tomeval.models.local.load import (
    cached_config,
    cached_weights,
    local_folder,
    no_loading_bar,
)
from tomeval.models.local.transformers import (
    CHECKED,
    TransformersModel,
    check_options,
    configured_context,
)
from tomeval.models.trust import check_code

POCKET = {"pocket": "main", "pocket-rational": "rational"}
"""The embedded models, and the folders of `tomeval/models/pocket` that hold them."""


def open_pocket(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open an embedded model."""
    folder = _pocket_folder(name)
    # Stored in half precision to be small; on a CPU that would be slow, and inexact.
    options = {"dtype": "float32", **_checked(name, options, opening)}
    with no_loading_bar():
        model = TransformersModel(str(folder), **options)
    model.name = name
    return model


def open_hub(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open ``hf:REPO_OR_PATH[@revision]``; a folder may be relative to the experiment's."""
    options = _checked(name, options, opening)
    source, revision = _source(name, opening.base)
    return TransformersModel(source, revision, **options)


def look(name: str, options: dict[str, Any], opening: Opening) -> int | None:
    """Check a model's name and options, and return its longest sequence; nothing is loaded.

    None if the configuration does not say it, or is not on this machine.
    """
    check_options(**{k: v for k, v in _checked(name, options, opening).items() if k in CHECKED})
    if name in POCKET:
        return configured_context(_pocket_folder(name) / "config.json")
    source, revision = _source(name, opening.base)
    folder = local_folder(source)
    config = cached_config(source, revision) if folder is None else folder / "config.json"
    return None if config is None else configured_context(config)


def on_this_machine(name: str, base: Path | None) -> bool:
    """Tell whether the weights of ``hf:...`` can be loaded without the Hub."""
    source, revision = _source(name, base)
    return local_folder(source) is not None or cached_weights(source, revision)


def _pocket_folder(name: str) -> Path:
    return Path(__file__).parents[1] / "pocket" / POCKET[name]


def _source(name: str, base: Path | None) -> tuple[str, str | None]:
    """Return folder or repository of a name ``hf:...``, and its revision."""
    base, rest = base or Path(), name.partition(":")[2]
    if (base / rest).is_dir():
        return str(base / rest), None
    path, _, revision = rest.partition("@")
    return str(base / path) if (base / path).is_dir() else path, revision or None


def _checked(name: str, options: dict[str, Any], opening: Opening) -> dict[str, Any]:
    """Return the options of a model, all of them known."""
    known = list(inspect.signature(TransformersModel.__init__).parameters)[3:]
    for key in options:
        if key not in known:
            raise unknown("option", key, known, f"model {name!r}")
    check_code(options, name)
    return options if opening.prefix_reuse else {**options, "prefix_reuse": False}
