"""What models are called where people read of them: an alias, and never an address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.models import ADDRESSES, ALIAS, is_kind, model_name, name_and_options

Spec = str | dict[str, Any]

NO_MODEL = 'needs a model: set model = "NAME" beside it or in the experiment, or use --model NAME'
"""The error for a language-model player without a model."""

RUNNING = (
    *("device", "device_map", "batch_tokens", "prefix_reuse", "cache_memory", "threads"),
    *("local_files_only", "trust_remote_code"),
    *("concurrency", "timeout", "retry_budget", "key_env", "prices"),
)
"""Options that say how fast, where and at what price a model answers, and not what."""

_ADDRESS = re.compile(r"@\w+://.*", re.DOTALL)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>()\[\],;]+", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
_KIND = re.compile(r"^(openai|hf|inspect):")


def shown_name(spec: Spec) -> str:
    """Return what tables call a model: its alias, else its name.

    Examples
    --------
    >>> shown_name({"name": "openai:m@http://127.0.0.1:8000/v1", "alias": "Llama 8B"})
    'Llama 8B'
    >>> shown_name("pocket")
    'pocket'
    """
    alias = spec.get(ALIAS) if isinstance(spec, dict) else None
    return alias or model_name(spec)


def without_address(name: str) -> str:
    """Return a model's name without the address of its server.

    Examples
    --------
    >>> without_address("openai:meta-llama/Llama-3.1-8B@http://node7:8000/v1")
    'openai:meta-llama/Llama-3.1-8B'
    >>> without_address("hf:org/model@main")
    'hf:org/model@main'
    """
    return _ADDRESS.sub("", name)


def said_without_address(error: Exception, name: str = "") -> str:
    """Return the text of a backend's error as a run keeps it: servers and hosts are not told.

    `name` is the model's, whose own host is left out wherever it stands.

    Examples
    --------
    >>> said_without_address(OSError("http://node7:8000/v1: node7 refused (10.0.0.7:8000)"),
    ...                      "openai:m@http://node7:8000/v1")
    'the server: the server refused (the server)'
    """
    text = _HOST_AND_PORT.sub("the server", _URL.sub(_kept_colon, str(error)))
    address = _ADDRESS.search(name)
    host = urlsplit(address.group()[1:]).hostname if address else None
    if host:
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?::\d+)?(?![\w-])", "the server", text)
    return text


def _kept_colon(found: re.Match[str]) -> str:
    """Return what stands for a URL, with the colon or full stop that ended it."""
    end = found.group()[-1]
    return f"the server{end if end in ':.' else ''}"


def public_spec(spec: Spec) -> Spec:
    """Return a spec as a run keeps it: one with an alias has no address, so its server may move."""
    if not isinstance(spec, dict) or ALIAS not in spec:
        return spec
    kept = {key: value for key, value in spec.items() if key not in ADDRESSES}
    return {**kept, "name": without_address(model_name(spec))}


def known_name(spec: Spec, name: str) -> str:
    """Return what the replies of a model are kept under: of an aliased one, the server may move.

    `name` is what the opened model calls itself.
    """
    return without_address(name) if isinstance(spec, dict) and ALIAS in spec else name


def drawn_with(spec: Spec) -> Spec:
    """Return what of a spec draws depend on: no alias, and nothing of how and where it is run.

    The plain name if that is all that is left.

    Examples
    --------
    >>> drawn_with({"name": "pocket", "alias": "The small one", "batch_tokens": 4096})
    'pocket'
    """
    if not isinstance(spec, dict):
        return spec
    name, options = name_and_options({k: v for k, v in spec.items() if k not in RUNNING})
    return {**options, "name": name} if options else name


def use_aliases(data: dict[str, Any], models: Any, where: str) -> dict[str, Any]:
    """Return an experiment's raw data with every alias replaced by its spec.

    Parameters
    ----------
    data : dict
        Its keys; aliases stand where models do: under a key ``model``, alone or in a list.
    models : dict
        The table ``models``: specs by alias.
    where : str
        Put in front of error messages.

    Raises
    ------
    TomevalError
        The table is none, an alias that reads as a model itself, a spec that is none, or a model
        that is neither an alias nor a spec, with the near match.
    """
    if not isinstance(models, dict) or not models:
        raise TomevalError(f'{where}: models must be a table, such as {{ "Llama 8B" = "hf:..." }}')
    specs = {alias: _spec(alias, spec, f"{where}: models") for alias, spec in models.items()}
    replaced = _replaced(data, specs, where)
    assert isinstance(replaced, dict)
    return replaced


def _spec(alias: str, spec: Any, where: str) -> dict[str, Any]:
    """Check one alias and return its spec."""
    if not alias.strip():
        raise TomevalError(f"{where}: an alias is empty")
    if is_kind(alias.partition(":")[0]):
        raise TomevalError(f"{where}: the alias {alias!r} has the form of a model; choose another")
    try:
        name, options = name_and_options(spec)
    except TomevalError as error:
        raise TomevalError(f"{where}: {alias!r}: {error}") from None
    if isinstance(spec, dict) and ALIAS in spec:
        raise TomevalError(f"{where}: {alias!r}: its table may not have the key {ALIAS!r}")
    return {**options, "name": name, ALIAS: alias}


def _replaced(value: Any, specs: Mapping[str, dict[str, Any]], where: str, key: str = "") -> Any:
    """Return raw data with aliases under a key ``model`` replaced."""
    if isinstance(value, list | tuple):
        return [_replaced(item, specs, where, key) for item in value]
    if isinstance(value, dict):
        own = specs.get(value.get("name", "")) if key == "model" else None
        if own is not None:  # an alias with options of its own besides
            return {**own, **{k: v for k, v in value.items() if k != "name"}}
        # Aliases are known by the key: what a model is called is no model.
        return {k: v if k == "models" else _replaced(v, specs, where, k) for k, v in value.items()}
    if key != "model" or not isinstance(value, str) or not value:
        return value
    if value in specs:
        return dict(specs[value])
    try:
        model_name(value)
    except TomevalError as error:
        near = did_you_mean(value, specs)
        known = ", ".join(map(repr, specs))
        raise TomevalError(f"{where}: {error}; or an alias{near}: {known}") from None
    return value


def public_names(definitions: Iterable[Any]) -> dict[str, str]:
    """Return what to call the models that are named with an address in cells of a run.

    Names that would be equal without their addresses are numbered, in order of appearance.
    """
    full = dict.fromkeys(text for data in definitions for text in _texts(data) if _is_served(text))
    names: dict[str, str] = {}
    for name in full:
        short = without_address(name)
        count = sum(without_address(other) == short for other in names)
        names[name] = f"{short} ({count + 1})" if count else short
    return names


def brief_names(names: Iterable[str]) -> list[str]:
    """Return what to call the models of a run in lines that go by: no address, and no kind.

    Names that would be equal so keep their kind, and are numbered if need be.

    Examples
    --------
    >>> brief_names(["Llama 8B", "openai:m@http://127.0.0.1:8000/v1", "hf:org/m"])
    ['Llama 8B', 'm', 'org/m']
    >>> brief_names(["openai:m@http://a:1/v1", "openai:m@http://b:1/v1"])
    ['openai:m', 'openai:m (2)']
    """
    full = list(names)
    brief = [_KIND.sub("", without_address(name)) for name in full]
    if len(set(brief)) == len(set(full)):
        return brief
    kept = public_names(full)
    return [kept.get(name, name) for name in full]


def short_file_name(names: Iterable[str]) -> str:
    """Return models' names as a part of a file's name: no kind, owner or address, 60 characters.

    Examples
    --------
    >>> short_file_name(["openai:meta-llama/Llama-3.1-8B@http://127.0.0.1:8000/v1", "hf:org/m@v2"])
    'Llama-3.1-8B-m-v2'
    """
    own = [name.rstrip("/").rpartition("/")[2] for name in brief_names(names)]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(own)).strip("-.")[:60].rstrip("-.") or "model"


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return JSON-ready data in which texts that are keys of `names` are replaced."""
    if not names:
        return value
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list | tuple):
        return [renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _is_served(text: str) -> bool:
    """Tell whether a text is the name of a model with an address."""
    return is_kind(text.partition(":")[0]) and _ADDRESS.search(text) is not None
