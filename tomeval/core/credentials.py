"""Keys: which of them go to which server, what looks like one, and what else a user confirms.

An experiment file may come from a stranger, so it names no key. A key goes to the host of its own
provider (`PROVIDERS`), and to the host and port that the user gave it for: with ``--trust-host
HOST=VARIABLE`` on the command line, with `trusting` in a script. So may the code of models run with
``--trust-remote-code``. Both hold for this process only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.errors import TomevalError

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
_ADDRESS = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[^\s?#@\\]*)?"
)
_VARIABLE = re.compile(r"TOKEN|_KEY|APIKEY|SECRET|PASSW", re.IGNORECASE)
_SHORTEST = 12  # characters of an environment variable that is looked for
_PATTERNS = {
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}"),
    "an API key": re.compile(
        rb"\b(?:sk-|gsk_|csk-|xai-|pplx-|nvapi-|ghp_|github_pat_|glpat-|AIza)[A-Za-z0-9_-]{20,}"
    ),
    "an authorization header": re.compile(rb"\bBearer [A-Za-z0-9._~+/-]{20,}"),
}
_NAME = re.compile(
    r"(^|[^a-z])(api|access|auth|client|private|secret)?[-_]?(key|token)$"
    r"|secret|passw|authorization|credential|bearer|cookie",
    re.IGNORECASE,
)
_HARMLESS = {"prompt_cache_key", "token"}  # of OpenAI; of JSON schemas


def check_url(url: str) -> str:
    """Return a base URL in its usual form; refuse what is not one or holds a secret.

    Examples
    --------
    >>> check_url("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000/v1'
    """
    match = _ADDRESS.fullmatch(url)
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
    match = _ADDRESS.fullmatch(address)
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


def credential_in(part: bytes) -> str:
    """Return what credential some bytes seem to hold, or an empty text.

    That is a token or key by its form, or the value of an environment variable named as one.

    Examples
    --------
    >>> credential_in(b"Bearer 0123456789abcdefghij"), credential_in(b"Bearer of news")
    ('an authorization header', '')
    """
    for what, pattern in _PATTERNS.items():
        if pattern.search(part):
            return what
    for name, value in os.environ.items():
        if _VARIABLE.search(name) and len(value) >= _SHORTEST:
            written = json.dumps(value)[1:-1]
            if any(form.encode(errors="replace") in part for form in (value, written)):
                return f"the value of {name}"
    return ""


def without_credentials(text: str) -> str:
    """Return a text in which what has the form of a credential is replaced."""
    line = text.encode(errors="replace")
    for pattern in _PATTERNS.values():
        line = pattern.sub(b"[credential]", line)
    return line.decode()


def credential_among(options: Any) -> tuple[str, str] | None:
    """Return where nested options seem to hold a credential, and why; None if they hold none.

    A name counts for all below it.

    Examples
    --------
    >>> credential_among({"extra_body": {"X-Api-Key": "k"}})
    ('extra_body.X-Api-Key', 'its name is that of a credential')
    >>> credential_among({"extra_body": {"max_tokens": 5, "prompt_cache_key": "a"}}) is None
    True
    """
    for place, value in nested(options):
        if isinstance(value, bool) or value in (None, ""):
            continue
        if any(key not in _HARMLESS and _NAME.search(key) for key in place.split(".")):
            return place, "its name is that of a credential"
        if secret := credential_in(str(value).encode(errors="replace")):
            return place, f"it holds {secret}"
    return None


def nested(data: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of nested data with the keys that lead to it."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        here = f"{place}.{key}" if place else str(key)
        if isinstance(value, dict | list | tuple):
            yield from nested(value, here)
        else:
            yield here, value


_HOSTS: list[str] = []
_CODE: list[bool] = []


@contextmanager
def trusting(hosts: Sequence[str] = (), *, code: bool = False) -> Iterator[None]:
    """Inside the block, send keys to hosts, as ``HOST=VARIABLE``, and let models' own code run.

    A host is ``HOST``, ``HOST:PORT`` or ``http://HOST:PORT``; without a port, that of the scheme.

    Examples
    --------
    >>> with trusting(["llm.example.org=MY_KEY"]):
    ...     confirmed_hosts()
    ['llm.example.org=MY_KEY']
    """
    before, _HOSTS[len(_HOSTS) :] = len(_HOSTS), hosts
    _CODE.append(code)
    try:
        yield
    finally:
        del _HOSTS[before:]
        _CODE.pop()


def confirmed_hosts() -> list[str]:
    """Return the hosts of `trusting`, as they were given."""
    return list(_HOSTS)


def confirmed_code() -> bool:
    """Tell whether models' own code may run."""
    return any(_CODE)


def check_code(options: Any, model: str) -> None:
    """Refuse options of a model that ask for its own code to run, unless that is confirmed."""
    for place, value in nested(options):
        asked = "trust_remote_code" in place.replace("-", "_").lower()
        if asked and value not in (False, None) and not confirmed_code():
            raise TomevalError(
                f"model {model!r}: {place} = {value!r} runs code by the model's authors; if you "
                "trust them, confirm it with --trust-remote-code"
            )


def _given() -> list[tuple[str, str]]:
    """Return where the user sends which variable."""
    pairs = [entry.rpartition("=") for entry in _HOSTS]
    for host, _, variable in pairs:
        if not host:
            raise TomevalError(f"--trust-host {variable!r}: write HOST=VARIABLE")
    return [(origin_of(host), variable) for host, _, variable in pairs]
