"""Which key goes to which host: a key is sent only where its user has confirmed it.

An experiment file from a stranger may name any address and any environment variable. So a variable
goes to the host of its own provider (`PROVIDERS`), and to a host and port that the user has named
with ``--trust-host``. This machine is no exception: what listens at one of its ports may be
anybody's.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import httpx2

from tomeval.core.credentials import confirmed_hosts
from tomeval.core.errors import TomevalError

DEFAULT = "OPENAI_API_KEY"
"""The variable of hosts elsewhere that nothing is known of."""

PROVIDERS = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "api.deepseek.com": ("DEEPSEEK_API_KEY",),
    "api.mistral.ai": ("MISTRAL_API_KEY",),
    "api.x.ai": ("XAI_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter.ai": ("OPENROUTER_API_KEY",),
    "api.together.ai": ("TOGETHER_API_KEY",),
    "api.together.xyz": ("TOGETHER_API_KEY",),
    "api.groq.com": ("GROQ_API_KEY",),
    "api.fireworks.ai": ("FIREWORKS_API_KEY",),
    "api.cerebras.ai": ("CEREBRAS_API_KEY",),
    "api.perplexity.ai": ("PERPLEXITY_API_KEY",),
    "router.huggingface.co": ("HF_TOKEN",),
}
"""Hosts of providers, with the variables that their documentation names; the first is the default.

Over https only. Each host is one name, not a domain: others can rent names below a domain.
"""

# SECRET and PRIVATE: what signs requests, such as AWS_SECRET_ACCESS_KEY, is never sent by anybody.
_KEY_LIKE = re.compile(r"(?i)(?!.*(SECRET|PRIVATE|PASSW))[A-Za-z_][A-Za-z0-9_]*_(KEY|TOKEN)")
_PLACE = re.compile(r"(https?://)?[^/@?#\s=]+/?")


class Confirmed(NamedTuple):
    """A host and port that may get a variable; `scheme` ``http`` allows it without encryption."""

    scheme: str
    host: str
    port: int
    variable: str


def read_key(base_url: str, key_env: str | None) -> tuple[str, str]:
    """Return the variable that holds a server's key, and the key: empty if no key is sent.

    Parameters
    ----------
    base_url : str
        Where it would go.
    key_env : str, optional
        The variable that the experiment names; empty for none. Default: one that is confirmed for
        the host and port, or the provider's own; else none on this machine, whose servers seldom
        ask for one, and `DEFAULT` elsewhere.

    Raises
    ------
    TomevalError
        The variable is set and the host is not confirmed for it; its name is not that of a key; it
        holds characters that no key has.
    """
    if key_env == "":
        return "", ""
    url = _parsed(base_url)
    confirmed = _confirmed()
    name = key_env or _usual(url, confirmed)
    if not name:
        return "", ""
    check_key_name(name)
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise TomevalError(f"the environment variable {name} has characters that no API key has")
    if key:
        unkeyed = f'model = {{name = "openai:MODEL@{base_url}", key_env = ""}}'
        _check_host(url, name, confirmed, f". To send no key: {unkeyed}")
    return name, key


def check_key_name(name: str) -> None:
    """Refuse a name that is not of an API key: those end in _KEY or _TOKEN, and never sign."""
    if not _KEY_LIKE.fullmatch(name):
        raise TomevalError(
            f"key_env: {name!r} is not the name of an API key; such names end in _API_KEY, _KEY or "
            "_TOKEN and hold neither SECRET, PRIVATE nor PASSWORD"
        )


def check_host(url: str, variable: str) -> None:
    """Refuse an address that the user has not confirmed for a variable."""
    _check_host(_parsed(url), variable, _confirmed())


def _check_host(
    url: httpx2.URL, variable: str, confirmed: Sequence[Confirmed], otherwise: str = ""
) -> None:
    own = PROVIDERS.get(url.host, ())
    owners = [host for host, names in PROVIDERS.items() if variable in names]
    if variable in own and url.scheme == "https" and url.port in (None, 443):
        return
    host = f"[{url.host}]" if ":" in url.host else url.host
    where = host if url.port is None else f"{host}:{url.port}"
    if own and owners and url.host not in owners:
        raise TomevalError(
            f"{variable} is the key of {owners[0]} and is never sent to {where}: put the key of "
            f"{where} into {own[0]}"
        )
    fits = (c for c in confirmed if c[1:] == (url.host, _port(url), variable))
    if any(url.scheme in ("https", c.scheme) for c in fits):
        return
    plain = url.scheme == "http"
    entry = f"{'http://' * plain}{where}"
    raise TomevalError(
        f"the environment variable {variable} would be sent to {where}"
        f"{', without encryption' * (plain and not is_loopback(url.host))}, which you have not "
        "confirmed; nothing was sent. If "
        f"that is meant: add --trust-host {entry}={variable}{otherwise}"
    )


def _usual(url: httpx2.URL, confirmed: Sequence[Confirmed]) -> str:
    """Return the usual variable of a host; empty if no key is sent."""
    named = [c.variable for c in confirmed if c[1:3] == (url.host, _port(url))]
    other = "" if is_loopback(url.host) else DEFAULT
    names = [*named, *PROVIDERS.get(url.host, ())] or [other]
    return next((name for name in names if os.environ.get(name)), names[0])


def _port(url: httpx2.URL) -> int:
    """Return the port that an address leads to."""
    return url.port or (80 if url.scheme == "http" else 443)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine.

    Examples
    --------
    >>> [is_loopback(h) for h in ("localhost", "127.0.0.9", "::1", "127.0.0.1.example.org")]
    [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _parsed(url: str) -> httpx2.URL:
    """Return an address as the client that sends reads it."""
    try:
        return httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise TomevalError(f"{url!r} is not an address: {error}") from None


def _confirmed() -> list[Confirmed]:
    """Return what the user has confirmed, see `trusting`."""
    confirmed = []
    for entry in confirmed_hosts():
        host, _, variable = entry.rpartition("=")
        if not host:
            raise TomevalError(
                f"--trust-host {entry!r}: write HOST=VARIABLE, such as {entry}={DEFAULT}"
            )
        confirmed.append(_entry(host, variable))
    return confirmed


def _entry(place: str, variable: str) -> Confirmed:
    """Read a host as the user writes it: ``HOST``, ``HOST:PORT`` or ``http://HOST:PORT``.

    Without a port it is that of the scheme, 443 or 80.
    """
    parts = _PLACE.fullmatch(place)
    url = _parsed(place if "://" in place else f"https://{place}") if parts else None
    if url is None or not url.host:
        raise TomevalError(f"--trust-host: {place!r} is not a host, such as llm.example.org")
    check_key_name(variable)
    return Confirmed(url.scheme, url.host, _port(url), variable)
