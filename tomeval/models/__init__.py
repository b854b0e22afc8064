"""Language-model backends, opened by name when they are first needed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.models.base import LocalModel, Model
from tomeval.models.served.limits import Budget

KINDS = ("hf", "openai", "scripted")
POCKET = {"pocket": "main", "pocket-rational": "rational"}
"""The models inside the package, and the folders of `tomeval/models/pocket` that hold them."""
DEFAULT_MODEL = "pocket"
SERVED = ("openai",)
"""The kinds whose calls cost money or wait for others: caps count them."""


def model_name(spec: str | dict[str, Any]) -> str:
    """Return the name in a model's spec; raise where it is not one.

    Parameters
    ----------
    spec : str or dict
        ``pocket``, ``pocket-rational``, ``hf:REPO_OR_PATH[@revision]``,
        ``openai:MODEL@BASE_URL`` or ``scripted:NAME``; or a table with ``name`` and the
        backend's options.
    """
    name = spec.get("name") if isinstance(spec, dict) else spec
    if not isinstance(name, str) or not name:
        raise TomevalError(f"model must be a name or a table with 'name', is {spec!r}")
    if name in POCKET:
        return name
    kind, colon, rest = name.partition(":")
    if not colon or not rest or kind not in KINDS:
        raise TomevalError(
            f"model {name!r} cannot be read{did_you_mean(kind, (*POCKET, *KINDS))}; write pocket, "
            "pocket-rational, hf:REPO_OR_PATH[@revision], openai:MODEL@BASE_URL or scripted:NAME"
        )
    return name


def is_served(spec: str | dict[str, Any]) -> bool:
    """Tell whether a model is behind a server."""
    return model_name(spec).partition(":")[0] in SERVED


def open_model(
    spec: str | dict[str, Any],
    *,
    base: Path | None = None,
    budget: Budget | None = None,
    scores: bool = True,
    prefix_reuse: bool = True,
) -> Model | LocalModel:
    """Open a model.

    Parameters
    ----------
    spec : str or dict
        See `model_name`. Options of a table go to the backend: for ``hf`` and the shipped models
        those of `tomeval.models.local.transformers.TransformersModel`, for ``openai`` those of
        `tomeval.models.served.openai_options.OpenAIOptions`.
    base : Path, optional
        Folder that relative paths start from.
    budget : Budget, optional
        Caps on calls and tokens, for served models.
    scores : bool
        Whether labels will be scored: a server that cannot is then refused at the start, and asked
        nothing about it otherwise.
    prefix_reuse : bool
        False makes a local model encode every prompt whole.

    Raises
    ------
    TomevalError
        Unknown kind, option or model; a missing extra.
    """
    name = model_name(spec)
    options = {k: v for k, v in spec.items() if k != "name"} if isinstance(spec, dict) else {}
    kind, _, rest = name.partition(":")
    if kind == "scripted":
        from tomeval.models.scripted import open_script

        if options:
            raise TomevalError(f"model {name!r} takes no options, got {', '.join(options)}")
        return open_script(rest, base)
    if kind == "openai":
        from tomeval.models.served.openai_api import OpenAIModel

        options.setdefault("scoring", "required" if scores else "off")
        for key in ("prices", "tokenizer"):
            path = (base or Path()) / str(options.get(key, ""))
            if key in options and path.exists():
                options[key] = str(path)
        return OpenAIModel.from_name(name, options, budget)
    if budget is not None:
        raise TomevalError(f"--max-calls and --max-tokens are for served models, not {name!r}")
    if not prefix_reuse:
        options["prefix_reuse"] = False
    return _open_local(name, rest, options, base)


def _open_local(name: str, rest: str, options: dict[str, Any], base: Path | None) -> LocalModel:
    """Open a transformers model: a shipped one, a folder relative to `base`, or one of the Hub."""
    from tomeval.models.local.load import no_loading_bar
    from tomeval.models.local.transformers import TransformersModel

    known = list(inspect.signature(TransformersModel.__init__).parameters)[3:]
    for key in options:
        if key not in known:
            raise unknown("option", key, known, f"model {name!r}")
    if name in POCKET:
        folder = Path(__file__).parent / "pocket" / POCKET[name]
        # Stored in half precision to be small; on a CPU that would be slow, and inexact.
        with no_loading_bar():
            model = TransformersModel(str(folder), **{"dtype": "float32", **options})
        model.name = name
        return model
    folder = (base or Path()) / rest
    if folder.is_dir():
        return TransformersModel(str(folder), **options)
    path, _, revision = rest.partition("@")
    folder = (base or Path()) / path
    source = str(folder) if folder.is_dir() else path
    return TransformersModel(source, revision or None, **options)
