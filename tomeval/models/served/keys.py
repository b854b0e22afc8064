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
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from tomeval.core.credentials import confirmed_hosts
from tomeval.core.errors import TomevalError

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

_USUAL = {"http": 80, "https": 443}  # ports
# SECRET and PRIVATE: what signs requests, such as AWS_SECRET_ACCESS_KEY, is never sent by anybody.
_KEY_LIKE = re.compile(r"(?i)(?!.*(SECRET|PRIVATE|PASSW))[A-Za-z_][A-Za-z0-9_]*_(KEY|TOKEN)")
# Of a host only what every program reads alike, so that no key goes elsewhere than was checked.
_PLACE = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")


class Place(NamedTuple):
    """Where a request goes."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Place:
        """Return where an address leads."""
        parts = _split(url)
        if not _PLACE.fullmatch(parts.netloc):
            raise TomevalError(f"{parts.hostname!r} is not a host such as llm.example.org")
        return cls(parts.scheme, parts.hostname or "", parts.port or _USUAL.get(parts.scheme, 443))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = f"{self.scheme}://" * (self.scheme == "http")
        return f"{scheme}{host}" + f":{self.port}" * (self.port != _USUAL.get(self.scheme))


def check_url(url: str) -> str:
    """Return a base URL in its usual form; refuse what is not a URL or holds a secret.

    Examples
    --------
    >>> check_url("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000/v1'
    """
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TomevalError(f"{url!r} is not a base URL such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise TomevalError(
            f"the base URL of {parts.hostname} holds a user name, password, query or fragment; "
            "names of models are stored with results, so put the key into an environment variable"
        )
    return url.rstrip("/") if parts.path.strip("/") else url.rstrip("/") + "/v1"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # which may be none
    except ValueError:
        raise TomevalError("the host or port of a base URL cannot be read") from None
    return parts


def read_key(base_url: str, key_env: str | None) -> tuple[str, str]:
    """Return the variable that holds a server's key, and the key: empty if no key is sent.

    `key_env` is the variable that the experiment names; empty for none. Default: the one that is
    confirmed for the host and port, or the provider's own; none for other hosts. Raises
    `TomevalError` if the variable is set and the host is not confirmed for it, its name is not that
    of a key, or it holds characters that no key has.
    """
    place = Place.of(base_url)
    usual = [name for there, name in _confirmed() if there[1:] == place[1:]]
    usual += PROVIDERS.get(place.host, ())
    name = next(filter(os.environ.get, usual), "") if key_env is None else key_env
    if not name:
        return "", ""
    check_key_name(name)
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise TomevalError(f"the environment variable {name} has characters that no API key has")
    if key:
        check_host(base_url, name)
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
    place = Place.of(url)
    own = PROVIDERS.get(place.host, ())
    if variable in own and (place.scheme, place.port) == ("https", 443):
        return
    if own and variable not in own and any(variable in names for names in PROVIDERS.values()):
        raise TomevalError(
            f"{variable} is the key of another provider and is never sent to {place}: put the key "
            f"of {place} into {own[0]}"
        )
    for there, name in _confirmed():
        same = (there.host, there.port, name) == (place.host, place.port, variable)
        if same and place.scheme in ("https", there.scheme):
            return
    raise TomevalError(
        f"the environment variable {variable} would be sent to {place}, which you have not "
        f"confirmed; nothing was sent. If that is meant: add --trust-host {place}={variable}. To "
        'send no key: key_env = ""'
    )


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


def _confirmed() -> list[tuple[Place, str]]:
    """Return what the user has confirmed, see `tomeval.core.credentials.trusting`.

    That is ``HOST``, ``HOST:PORT`` or ``http://HOST:PORT``; without a port, that of the scheme.
    """
    confirmed = []
    for entry in confirmed_hosts():
        host, _, variable = entry.rpartition("=")
        if not host:
            raise TomevalError(f"--trust-host {entry!r}: write HOST=VARIABLE, as {entry}=MY_KEY")
        if not re.fullmatch(rf"(https?://)?{_PLACE.pattern}/?", host):
            raise TomevalError(f"--trust-host: {host!r} is not a host, such as llm.example.org")
        check_key_name(variable)
        confirmed.append((Place.of(host if "://" in host else f"https://{host}"), variable))
    return confirmed
