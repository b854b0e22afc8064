"""What looks like a key and must not be stored, and what a user confirms for this process.

An experiment file may come from a stranger, so it cannot give a key to a host, nor let the code of
models run. The command line gives keys with ``--trust-host``, a script with `trusting`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.errors import TomevalError

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


@contextmanager
def trusting(hosts: Sequence[str]) -> Iterator[None]:
    """Inside the block, send keys to hosts, as ``HOST=VARIABLE``.

    A host is ``HOST``, ``HOST:PORT`` or ``http://HOST:PORT``; without a port, that of the scheme.

    Examples
    --------
    >>> with trusting(["llm.example.org=MY_KEY"]):
    ...     confirmed_hosts()
    ['llm.example.org=MY_KEY']
    """
    before, _HOSTS[len(_HOSTS) :] = len(_HOSTS), hosts
    try:
        yield
    finally:
        del _HOSTS[before:]


def confirmed_hosts() -> list[str]:
    """Return the hosts of `trusting`, as they were given."""
    return list(_HOSTS)


def check_code(options: Any, model: str) -> None:
    """Refuse options of a model that ask for its own code to run."""
    for place, value in nested(options):
        asked = "trust_remote_code" in place.replace("-", "_").lower()
        if asked and value not in (False, None):
            raise TomevalError(
                f"model {model!r}: {place} = {value!r} would run code by the model's authors; "
                "this is never done: serve the model, and ask its server"
            )
