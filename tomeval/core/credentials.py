"""What looks like a credential and must not be stored, and whom the user has confirmed.

Confirmed are hosts that may get a key, and code of models that may run: for this process only. An
experiment file may come from a stranger, so it cannot confirm anything itself. The command line
does with ``--trust-host`` and ``--trust-remote-code``, a script with `trusting`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from tomeval.core.errors import TomevalError

_VARIABLE = re.compile(r"(TOKEN|_KEY|APIKEY|SECRET|PASSW)", re.IGNORECASE)
_SHORTEST = 12  # characters of an environment variable that is looked for
_PREFIXES = "sk-|gsk_|csk-|xai-|pplx-|nvapi-|ghp_|github_pat_|glpat-|AIza"
_PATTERNS = {
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}"),
    "an API key": re.compile(rb"\b(?:%b)[A-Za-z0-9_-]{20,}" % _PREFIXES.encode()),
    "an authorization header": re.compile(rb"\bBearer [A-Za-z0-9._~+/-]{20,}"),
}
_NAMES = {"key", "apikey", "token", "secret", "password", "passwd", "authorization", "credential"}
_ALSO = {"auth", "bearer", "cookie", "passphrase", "passcode", "pwd"}  # of fields, not of paths
_JOINED = re.compile(r"(access|api|auth|bearer|client|private|secret|user)(key|token|secret)")
_HOLDS = re.compile(r"[\W_]*(headers?|value)[\W_]*$", re.IGNORECASE)  # such as auth_header
_SCHEMA = {"properties", "patternProperties", "definitions", "$defs"}  # whose fields hold no values
_HARMLESS = {"prompt_cache_key"}  # of OpenAI: which requests share a cache
_ADDRESS = re.compile(r"https?://[^\s'\"<>\\\x00-\x1f\x7f-\x9f]+")
_WORD = re.compile(r"[A-Z]?[a-z]+\d{0,4}|[A-Z]+\d{0,4}|v?\d+[A-Za-z]{0,2}")
_OPAQUE = 12  # characters of a part of a path that are no words and no numbers
_LONGEST_WORD = 20


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

    A name counts for all below it, but in JSON schemas.

    Examples
    --------
    >>> credential_among({"extra_body": {"X-Api-Key": "k"}})
    ('extra_body.X-Api-Key', 'its name is that of a credential')
    >>> credential_among({"extra_body": {"max_tokens": 5, "prompt_cache_key": "a"}}) is None
    True
    """
    for field, value in nested(options):
        if isinstance(value, bool) or value in (None, ""):
            continue
        keys = [key for key in field.split(".") if not key.isdecimal()]
        schema = next((n for n, key in enumerate(keys) if key in _SCHEMA), len(keys))
        if any(_is_secret(_HOLDS.sub("", key), _ALSO) for key in [*keys[:schema], *keys[-1:]]):
            return field, "its name is that of a credential"
        if secret := credential_in(str(value).encode(errors="replace")):
            return field, f"it holds {secret}"
        for address in _ADDRESS.findall(str(value)):
            if part := opaque_part(address):
                return field, f"the part of the path that begins with {part[:3]!r} may be a key"
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


def opaque_part(url: str) -> str:
    """Return the part of an address's path that may be a key, or an empty text.

    Such a part is named as one, or much of it is neither words nor numbers.

    Examples
    --------
    >>> opaque_part("https://proxy.example.org/u/9f8c1b7e2d3a4f5b/v1")
    '9f8c1b7e2d3a4f5b'
    >>> opaque_part("https://host/openai/deployments/Llama-3.1-8B-Instruct-2024-08-06/v1")
    ''
    """
    try:
        path = urlsplit(url).path
    except ValueError:  # no address: other text may be as it likes
        return ""
    for part in unquote(path).split("/"):
        chunks = re.findall(r"[A-Za-z0-9]+", part)
        unread = [c for c in chunks if not _WORD.fullmatch(c) or len(c) > _LONGEST_WORD]
        if sum(map(len, unread)) >= _OPAQUE or re.match(rf"({_PREFIXES})\w{{4}}", part):
            return part
        if _is_secret(part) or any(c.lower() in _NAMES for c in chunks):
            return part
    return ""


def _is_secret(name: str, also: Collection[str] = ()) -> bool:
    """Tell whether a name, in any way of writing and numbered or not, ends in a credential's."""
    if name in _HARMLESS:
        return False
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    last = parts[-1].removesuffix("s" * (parts[-1] != "tokens")) if parts else ""
    return last in _NAMES or last in also or _JOINED.fullmatch(last) is not None


_HOSTS: list[str] = []
_CODE: list[bool] = []


@contextmanager
def trusting(hosts: Sequence[str] = (), *, code: bool = False) -> Iterator[None]:
    """Inside the block, take hosts, as ``HOST=VARIABLE``, and models' own code as confirmed.

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
    """Refuse options of a model that ask for its own code to run, unless that is confirmed.

    Any value counts, at any depth, under a key that reads as ``trust_remote_code``.
    """
    if isinstance(options, dict):
        for key, value in options.items():
            asked = str(key).strip("-").replace("-", "_").lower() == "trust_remote_code"
            if asked and value not in (False, None) and not confirmed_code():
                raise TomevalError(
                    f"model {model!r}: {key} = {value!r} runs code by the model's authors; if you "
                    "trust them, confirm it with --trust-remote-code"
                )
            check_code(value, model)
    elif isinstance(options, list | tuple):
        for value in options:
            check_code(value, model)
