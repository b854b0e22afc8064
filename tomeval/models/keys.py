"""Which key goes to which server.

A key goes to the host of its own provider (`PROVIDERS`), and to the host and port that the user
gave it to, see `tomeval.core.credentials.trusting`. An experiment file may come from a stranger, so
it names none.
"""

from __future__ import annotations

import os
import re

from tomeval.core.credentials import confirmed_hosts
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


def _given() -> list[tuple[str, str]]:
    """Return where the user sends which variable."""
    pairs = [entry.rpartition("=") for entry in confirmed_hosts()]
    for host, _, variable in pairs:
        if not host:
            raise TomevalError(f"--trust-host {variable!r}: write HOST=VARIABLE")
    return [(origin_of(host), variable) for host, _, variable in pairs]
