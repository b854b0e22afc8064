"""Language models, which know no game: local ones, served ones, scripted ones. May import core.

A backend is a module and its line in `BACKENDS`; it is loaded when one of its models is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tomeval.core.credentials import credential_among
from tomeval.core.errors import (
    LOCAL,
    MissingExtra,
    TomevalError,
    did_you_mean,
    installed,
    missing,
    unknown,
)
from tomeval.core.parts import named, part, parts, register, resolved
from tomeval.models.base import LocalModel, Model, Opening

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tomeval.models.served import Budget, Price


class Backend(NamedTuple):
    """One kind of model."""

    # ``module:function``, or a function: called with a model's name, its options and an `Opening`.
    opener: str | Callable[..., Model | LocalModel]
    form: str  # how experiments write its models
    served: bool = False  # whether its calls cost money or wait for others, so that caps count them
    # ``module:function`` that checks a model's name and options as the opener would; empty: opening
    # it costs nothing.
    look: str = ""
    about: str = ""  # what its models are, in a few words
    libraries: tuple[str, ...] = ()  # of the extra `LOCAL`; without them no model of it opens


def _local(form: str, about: str) -> Backend:
    """Return a backend of this machine."""
    where, libraries = "tomeval.models.local.load:", ("torch", "transformers")
    return Backend(f"{where}open_local", form, False, f"{where}look", about, libraries)


BACKENDS = {
    "pocket": _local("pocket", "embedded, trained to continue transcripts"),
    "pocket-rational": _local(
        "pocket-rational", "embedded, trained to respond as well as possible"
    ),
    "hf": _local(
        "hf:REPO_OR_PATH[@revision]",
        "a causal language model from the Hugging Face Hub or a folder",
    ),
    "openai": Backend(
        "tomeval.models.served.model:open_server",
        "openai:MODEL@BASE_URL",
        served=True,
        about="any OpenAI-compatible server: vLLM, SGLang, llama.cpp, Ollama, hosted APIs",
    ),
    "scripted": Backend(
        "tomeval.models.scripted:open_named",
        "scripted:NAME",
        about="replies from a script, or from a JSON file",
    ),
}
"""The package's own kinds of model, then those of extensions once they are named; names are
``KIND:REST``, or the kind alone where its form says no more."""

_Opener = TypeVar("_Opener", bound=Callable[..., Model | LocalModel])
_Options = TypeVar("_Options", bound="BaseModel")


def register_model(
    kind: str, form: str = "", *, served: bool = False, about: str = ""
) -> Callable[[_Opener], _Opener]:
    """Register a kind of model; it decorates the function that opens one.

    Parameters
    ----------
    kind : str
        What its names begin with: letters, digits, ``_`` and ``-``.
    form : str
        How experiments write its models, such as ``"mine:NAME"``; default: the kind alone.
    served : bool
        Whether its calls cost money or wait for others, so that caps count them. It then calls
        `tomeval.models.served.Budget` itself, as `Opening.budget` hands it over.
    about : str
        What its models are, in a few words, for ``tomeval list models``.

    Notes
    -----
    The function is called with the whole name, the options of the experiment and an `Opening`, and
    returns a `Model` (asynchronous) or a `LocalModel` (batches). It refuses unknown options.

    Raises
    ------
    TomevalError
        The kind is taken or cannot be read.
    """

    def add(opener: _Opener) -> _Opener:
        if not re.fullmatch(rf"({re.escape(kind)})(:.*)?", form or kind) or ":" in kind:
            raise TomevalError(f"model {kind!r}: its form {form!r} must begin with {kind}:")
        register("models", kind, Backend(opener, form or kind, served, about=about), opener)
        return opener

    return add


def is_kind(kind: str) -> bool:
    """Return whether a kind of model is known; nothing is loaded for it."""
    return kind in BACKENDS or kind in named("models")


def all_backends() -> dict[str, Backend]:
    """Return every kind of model, with those of all extensions that can be loaded."""
    return {**parts("models"), **BACKENDS}


def model_name(spec: str | dict[str, Any]) -> str:
    """Return the name in a model's spec; raise `TomevalError` if it is not one.

    A spec is a name in the form of one of `BACKENDS`, or a table with ``name`` and the
    backend's options.
    """
    return _read(spec)[0]


def _read(spec: str | dict[str, Any]) -> tuple[str, Backend]:
    """Return the name in a model's spec, and its kind."""
    name = spec.get("name") if isinstance(spec, dict) else spec
    if not isinstance(name, str) or not name:
        raise TomevalError(f"model must be a name or a table with 'name', is {spec!r}")
    kind, _, rest = name.partition(":")
    backend: Backend | None = BACKENDS.get(kind) or part("models", kind)
    if backend is None or bool(rest) != (":" in backend.form):
        near = f": nothing stands after {kind}:" if backend and name == f"{kind}:" else ""
        near = near or did_you_mean(kind, all_backends())
        *forms, last = (backend.form for backend in all_backends().values())
        said = f"the forms are {', '.join(forms)} or {last}"
        raise TomevalError(f"model {name!r} cannot be read{near}; {said}")
    return name, backend


def name_and_options(spec: str | dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name in a model's spec, and its options."""
    given = spec if isinstance(spec, dict) else {}
    options = {key: value for key, value in given.items() if key != "name"}
    return model_name(spec), options


def check_kept(spec: str | dict[str, Any]) -> None:
    """Refuse a model's spec that seems to hold a credential, as specs are stored with results."""
    data = spec if isinstance(spec, dict) else {"name": spec}
    credential = credential_among(data)
    if credential is not None:
        field, why = credential
        whose = re.sub(r"@\w+://.*", "", model_name(spec), flags=re.DOTALL)
        raise TomevalError(
            f"model {whose!r}: {field}: {why}; models and their options are stored with results, "
            "so put keys into environment variables"
        )


def is_served(spec: str | dict[str, Any]) -> bool:
    """Return whether a model is behind a server."""
    return _read(spec)[1].served


def lacking(spec: str | dict[str, Any]) -> MissingExtra | None:
    """Return what would be said of a model whose libraries are not installed, else None."""
    name, backend = _read(spec)
    for library in backend.libraries:
        if not installed(library):
            return missing(library, LOCAL, f"models on this machine ({name})")
    return None


def open_model(
    spec: str | dict[str, Any],
    *,
    base: Path | None = None,
    budget: Budget | None = None,
    scores: bool = True,
) -> Model | LocalModel:
    """Open a model.

    Parameters
    ----------
    spec : str or dict
        See `model_name`. Options of a table go to the backend: for ``hf`` and the shipped models
        those of `tomeval.models.local.transformers.TransformersModel`, for ``openai`` those of
        `tomeval.models.served.OpenAIOptions`.
    base, budget, scores
        See `tomeval.models.base.Opening`.

    Raises
    ------
    TomevalError
        Unknown kind, option or model; caps on a model that is not served; a missing extra.
    """
    name, options = name_and_options(spec)
    check_kept(spec)
    if budget is not None and not is_served(spec):
        raise TomevalError(f"--max-calls and --max-tokens are for served models, not {name!r}")
    opener = resolved(_read(spec)[1].opener)
    opening = Opening(base, budget, scores)
    opened: Model | LocalModel = opener(name, options, opening)
    return opened


class Ahead(NamedTuple):
    """What a plan needs to know of a model."""

    served: bool
    price: Price | None = None  # of its tokens
    thinking: int = 0  # tokens of every reply for thinking besides, as far as its options say


def look_ahead(spec: str | dict[str, Any], base: Path | None = None, scores: bool = True) -> Ahead:
    """Check a model's spec as `open_model` does, and say what it tells; nothing is asked or loaded.

    Raises `TomevalError` for what `open_model` refuses of the spec itself.
    """
    name, options = name_and_options(spec)
    check_kept(spec)
    backend, thinking = _read(spec)[1], options.get("thinking_budget") or 0
    if backend.look:
        resolved(backend.look)(name, options, Opening(base, None, scores))
        return Ahead(is_served(spec), thinking=thinking)
    model = open_model(spec, base=base, scores=scores)
    price: Price | None = getattr(model, "price", None)  # of backends that can have one
    return Ahead(is_served(spec), price, thinking)


def check_options(kind: type[_Options], fields: Mapping[str, Any], where: str) -> _Options:
    """Check a model's options from an experiment; a wrong one is a `TomevalError` that names it."""
    from pydantic import ValidationError

    for field in fields:
        if field not in kind.model_fields:
            raise unknown("option", field, ["name", *kind.model_fields], where)
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        said = first["msg"].removeprefix("Value error, ")
        top, *inner = map(str, first["loc"])
        key = ".".join([top, *inner]) if isinstance(fields.get(top), dict) else top
        raise TomevalError(f"{where}: {key}: {said}, is {first['input']!r}") from None
