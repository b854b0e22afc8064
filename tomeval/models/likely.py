"""The probable meaning of a name that is not a model's spec, and placeholders from docs."""

from __future__ import annotations

import re
from pathlib import Path

PLACEHOLDERS = (
    *("MODEL", "NAME", "BASE_URL", "REPO_OR_PATH", "REPO", "FOLDER", "PROVIDER", "URL"),
    *("MY_MODEL", "REVISION", "PATH", "HOST", "PORT", "org/name", "owner/name"),
)
"""Words that stand for something in this project's manual, exactly as they stand there."""

_OWN_API = {
    "openai": "https://api.openai.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "xai": "https://api.x.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "sglang": "http://127.0.0.1:30000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
_OF_INSPECT = ("anthropic", "google", "mistral", "bedrock", "groq", "together", "azureai")
_OF_HUB = ("huggingface", "huggingface_hub", "transformers", "local", "hub")
_FAMILIES = (
    (re.compile(r"(?:gpt-(?!oss)|chatgpt-|o[1345](?:-|$))", re.IGNORECASE), "openai"),
    (re.compile(r"deepseek-(?:chat|reasoner)", re.IGNORECASE), "deepseek"),
    (re.compile(r"grok-", re.IGNORECASE), "xai"),
    (re.compile(r"claude", re.IGNORECASE), "anthropic"),
    (re.compile(r"gemini", re.IGNORECASE), "google"),
)


def likely(name: str) -> str:
    """Return the full spec that a short name of a model probably stands for; empty: no guess.

    Examples
    --------
    >>> likely("gpt-4o"), likely("meta-llama/Llama-3.1-8B")
    ('openai:gpt-4o@https://api.openai.com/v1', 'hf:meta-llama/Llama-3.1-8B')
    >>> likely("claude-sonnet-5"), likely("llama3.2:1b")
    ('inspect:anthropic/claude-sonnet-5', 'openai:llama3.2:1b@http://127.0.0.1:11434/v1')
    """
    provider, mark, rest = _provider(name)
    if mark and rest:
        return _of_provider(provider, rest)
    if "/" in name:
        folder_or_repo = Path(name).is_dir() or re.fullmatch(r"[\w.-]+/[\w.-]+(?:@\w+)?", name)
        return f"hf:{name}" if folder_or_repo else ""
    for family, provider in _FAMILIES:
        if family.match(name):
            return _of_provider(provider, name)
    if re.fullmatch(r"[\w.-]+:[\w.-]+", name):  # the form of tags of Ollama
        return _of_provider("ollama", name)
    return ""


def _provider(name: str) -> tuple[str, str, str]:
    """Split a name that begins with a provider, by ``:`` or ``/``; empty parts without one."""
    for mark in (":", "/"):
        first, separator, rest = name.partition(mark)
        first = first.lower()
        if separator and rest and (first in _OWN_API or first in (*_OF_INSPECT, *_OF_HUB)):
            # Organisations of the Hub have such names too: google/gemma-2-2b is a repository.
            if mark == "/" and first in ("google", "mistral", "openai") and not _family(rest):
                return "", "", ""
            return first, separator, rest
    return "", "", ""


def _family(name: str) -> str:
    return next((provider for family, provider in _FAMILIES if family.match(name)), "")


def _of_provider(provider: str, name: str) -> str:
    if provider in _OF_HUB:
        return f"hf:{name}"
    if provider in _OF_INSPECT:
        return f"inspect:{provider}/{name}"
    return "" if "@" in name else f"openai:{name}@{_OWN_API[provider]}"


def placeholder(name: str) -> str:
    """Return the word of the manual that a spec still holds in place of a name; empty: none.

    Examples
    --------
    >>> placeholder("hf:REPO_OR_PATH[@revision]"), placeholder("openai:NAME@http://127.0.0.1/v1")
    ('REPO_OR_PATH', 'NAME')
    >>> placeholder("hf:org/name"), placeholder("hf:models/NAMED"), placeholder("hf:/data/MODEL/8b")
    ('org/name', '', '')
    """
    kind, colon, rest = name.partition(":")
    model, _, address = (rest if colon else name).partition("@")
    if kind == "scripted" or model.startswith((".", "/", "~")):
        return ""  # functions and folders have the names that people gave them
    word = f"({'|'.join(map(re.escape, PLACEHOLDERS))}|<[^<>]+>|\\.\\.\\.|…)"
    match = re.fullmatch(rf"{word}(?:[/\[].*)?|[\w.-]+/{word}(?:\[.*)?", model)
    match = match or re.search(rf"(?<![\w.-]){word}(?![\w.-])", address)
    return next(filter(None, match.groups())) if match else ""
