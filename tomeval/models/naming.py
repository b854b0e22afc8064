"""What models are called where people read of them: never by an address."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tomeval.models import is_kind, name_and_options

Spec = str | dict[str, Any]

NO_MODEL = 'needs a model: set model = "NAME" beside it or in the experiment, or use --model NAME'
"""The error for a language-model player without a model."""

PACE = (
    *("batch_tokens", "prefix_reuse", "cache_memory"),
    *("concurrency", "timeout", "retry_budget", "price"),
)
"""Options that say how fast and at what price a model answers; they may change within a run."""

RUNNING = (*PACE, "device", "device_map", "local_files_only", "trust_remote_code")
"""Options that say how fast, where and at what price a model answers, and not what."""

_ADDRESS = re.compile(r"@\w+://.*", re.DOTALL)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>()\[\],;]*[^\s'\"<>()\[\],;:.]", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
_KIND = re.compile(r"^(openai|hf|inspect):")


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
    text = _HOST_AND_PORT.sub("the server", _URL.sub("the server", str(error)))
    address = _ADDRESS.search(name)
    host = urlsplit(address.group()[1:]).hostname if address else None
    if host:
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?::\d+)?(?![\w-])", "the server", text)
    return text


def drawn_with(spec: Spec, without: Collection[str] = RUNNING) -> Spec:
    """Return what of a spec draws depend on: nothing of how and where it is run.

    The plain name if that is all that is left. `without` are the options to leave out.

    Examples
    --------
    >>> drawn_with({"name": "pocket", "batch_tokens": 4096})
    'pocket'
    """
    if not isinstance(spec, dict):
        return spec
    name, options = name_and_options({k: v for k, v in spec.items() if k not in without})
    return {**options, "name": name} if options else name


def public_names(definitions: Iterable[Any]) -> dict[str, str]:
    """Return what to call the models that are named with an address in cells of a run.

    Names that would be equal without their addresses are numbered, in order of appearance.
    """
    texts = (text for data in definitions for text in _texts(data) if _ADDRESS.search(text))
    full = dict.fromkeys(text for text in texts if is_kind(text.partition(":")[0]))
    names: dict[str, str] = {}
    for name in full:
        short = without_address(name)
        count = sum(without_address(other) == short for other in names)
        names[name] = f"{short} ({count + 1})" if count else short
    return names


def brief_names(names: Iterable[str]) -> list[str]:
    """Return what to call the models of a run in lines that go by: no address, and no kind.

    Examples
    --------
    >>> brief_names(["pocket", "openai:m@http://127.0.0.1:8000/v1", "hf:org/m"])
    ['pocket', 'm', 'org/m']
    """
    return [_KIND.sub("", without_address(name)) for name in names]


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
