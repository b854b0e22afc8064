"""The probable meaning of a name that is not a model's spec, and placeholders from docs."""

from __future__ import annotations

import re
from pathlib import Path

PLACEHOLDERS = (
    *("MODEL", "NAME", "BASE_URL", "REPO_OR_PATH", "REPO", "FOLDER", "PROVIDER", "URL"),
    *("MY_MODEL", "REVISION", "PATH", "HOST", "PORT", "org/name", "owner/name"),
)
"""Words that stand for something in this project's manual, exactly as they stand there."""

_FORMS = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (
            r"(?:openai[:/])?((?:gpt-(?!oss)|chatgpt-|o[1345](?:-|$)).*)",
            "openai:{}@https://api.openai.com/v1",
        ),
        (
            r"(?:deepseek[:/])?(deepseek-(?:chat|reasoner).*)",
            "openai:{}@https://api.deepseek.com/v1",
        ),
        (r"(?:anthropic[:/])?(claude.*)", "inspect:anthropic/{}"),
        (r"(?:google[:/])?(gemini.*)", "inspect:google/{}"),
        (r"openai:(.+)", "openai:{}@https://api.openai.com/v1"),
        (r"openrouter[:/](.+)", "openai:{}@https://openrouter.ai/api/v1"),
        (r"vllm[:/](.+)", "openai:{}@http://127.0.0.1:8000/v1"),
        (r"(?:huggingface|transformers|local)[:/](.+)", "hf:{}"),
        (r"ollama[:/](.+)", "openai:{}@http://127.0.0.1:11434/v1"),
        (r"([\w.-]+/[\w.-]+(?:@\w+)?)", "hf:{}"),
        (r"([\w.-]+:[\w.-]+)", "openai:{}@http://127.0.0.1:11434/v1"),  # as Ollama's tags
    )
)
"""Short names of models, and the full spec that each probably stands for; the first that fits."""


def likely(name: str) -> str:
    """Return the full spec that a short name of a model probably stands for; empty: no guess.

    Examples
    --------
    >>> likely("gpt-4o"), likely("meta-llama/Llama-3.1-8B")
    ('openai:gpt-4o@https://api.openai.com/v1', 'hf:meta-llama/Llama-3.1-8B')
    >>> likely("claude-sonnet-5"), likely("llama3.2:1b")
    ('inspect:anthropic/claude-sonnet-5', 'openai:llama3.2:1b@http://127.0.0.1:11434/v1')
    """
    if Path(name).is_dir() and "/" in name:
        return f"hf:{name}"
    for pattern, form in _FORMS:
        if (match := pattern.fullmatch(name)) and not ("@" in match[1] and "@" in form):
            return form.format(match[1])
    return ""


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
