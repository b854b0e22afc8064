"""Names of models and the addresses in them: which key goes there, and what people read.

A key goes to the host of its own provider (`PROVIDERS`), and to the host and port that the user
gave it to, see `tomeval.core.credentials.trusting`. An experiment file may come from a stranger, so
it names none. Where people read of models, no address stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tomeval.core.credentials import confirmed_hosts
from tomeval.core.errors import TomevalError
from tomeval.models import is_kind, name_and_options

Spec = str | dict[str, Any]

NO_MODEL = 'needs a model: set model = "NAME" beside it or in the experiment, or use --model NAME'
"""The error for a language-model player without a model."""

PACE = (
    *("batch_tokens", "prefix_reuse", "cache_memory"),
    *("concurrency", "timeout", "retry_budget", "price"),
)
"""Options that say how fast and at what price a model answers; they may change within a run."""

RUNNING = (*PACE, "device", "device_map", "local_files_only")
"""Options that say how fast, where and at what price a model answers, and not what."""

_ADDRESS = re.compile(r"@\w+://.*", re.DOTALL)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>()\[\],;]*[^\s'\"<>()\[\],;:.]", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")


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


def short_file_name(names: Iterable[str]) -> str:
    """Return models' names as a part of a file's name: no kind, owner or address, 60 characters.

    Examples
    --------
    >>> short_file_name(["openai:meta-llama/Llama-3.1-8B@http://127.0.0.1:8000/v1", "hf:org/m@v2"])
    'Llama-3.1-8B-m-v2'
    """
    plain = (re.sub(r"^[\w-]+:", "", without_address(name)) for name in names)
    own = [name.rstrip("/").rpartition("/")[2] for name in plain]
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
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


PROVIDERS = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.x.ai": "XAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.together.ai": "TOGETHER_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.fireworks.ai": "FIREWORKS_API_KEY",
    "api.cerebras.ai": "CEREBRAS_API_KEY",
    "api.perplexity.ai": "PERPLEXITY_API_KEY",
    "router.huggingface.co": "HF_TOKEN",
}
"""Hosts of providers, over https on the usual port, with the variable that each documents."""

# Of an address only what every program reads alike, so that no key goes elsewhere than it seems.
_URL_PARTS = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[^\s?#@\\]*)?"
)


def check_url(url: str) -> str:
    """Return a base URL in its usual form; refuse what is not one or holds a secret.

    Examples
    --------
    >>> check_url("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000/v1'
    """
    match = _URL_PARTS.fullmatch(url)
    if match is None or not match["scheme"]:
        shown = "an address with @, ? or #" if re.search(r"[@?#]", url) else repr(url)
        raise TomevalError(
            f"{shown} is not a base URL such as http://127.0.0.1:8000/v1; names of models are "
            "stored with results, so put keys into environment variables"
        )
    path = (match["path"] or "").rstrip("/")
    return url[: match.end("port" if match["port"] else "host")] + (path or "/v1")


def origin_of(address: str) -> str:
    """Return where an address leads, as scheme, host and port; without a scheme it is https.

    Examples
    --------
    >>> origin_of("https://API.openai.com/v1"), origin_of("http://[::1]:8000")
    ('https://api.openai.com:443', 'http://[::1]:8000')
    """
    match = _URL_PARTS.fullmatch(address)
    if match is None:
        raise TomevalError(f"{address!r} is not a host such as llm.example.org")
    scheme = match["scheme"] or "https"
    port = match["port"] or {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{match['host'].lower()}:{port}"


def key_for(url: str) -> tuple[str, str]:
    """Return the variable whose key goes to a server, and the key; both empty for none.

    Raises `TomevalError` if the user gave a variable that is not set, or holds no key.
    """
    origin = origin_of(url)
    given = [name for place, name in _given() if place == origin]
    usual = [name for host, name in PROVIDERS.items() if origin_of(host) == origin]
    name = next(iter(given + [name for name in usual if os.environ.get(name)]), "")
    key = os.environ.get(name, "").strip()
    if name and not (key and key.isascii() and key.isprintable()):
        wrong = "has characters that no API key has" if key else "is not set"
        raise TomevalError(f"the environment variable {name}, for {origin}, {wrong}")
    return name, key


def check_host(url: str, variable: str) -> None:
    """Refuse an address that is neither the variable's own provider nor given by the user."""
    origin = origin_of(url)
    own = [(origin_of(host), name) for host, name in PROVIDERS.items()]
    if (origin, variable) not in own + _given():
        raise TomevalError(
            f"the environment variable {variable} would be sent to {origin}, for which it was not "
            f"given; nothing was sent. If that is meant: add --trust-host {origin}={variable}"
        )


def _given() -> list[tuple[str, str]]:
    """Return where the user sends which variable."""
    pairs = [entry.rpartition("=") for entry in confirmed_hosts()]
    for host, _, variable in pairs:
        if not host:
            raise TomevalError(f"--trust-host {variable!r}: write HOST=VARIABLE")
    return [(origin_of(host), variable) for host, _, variable in pairs]
