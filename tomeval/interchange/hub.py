"""What everything that touches the Hugging Face Hub shares."""

from __future__ import annotations

import re

from tomeval.core.errors import TomevalError

_REPO = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9_][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}", re.ASCII)


def check_repo(repo: str) -> None:
    """Raise unless a text can name a repository, ``OWNER/NAME``.

    Examples
    --------
    >>> check_repo("someone/my-run")
    >>> check_repo("my run")
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: 'my run' names no repository: give OWNER/NAME, of letters, ...
    """
    if not _REPO.fullmatch(repo) or repo.endswith((".", "-", ".git")):
        raise TomevalError(
            f"{repo!r} names no repository: give OWNER/NAME, of letters, digits, '-', '_' and '.'"
        )


def needs_hub() -> None:
    """Raise where huggingface-hub is missing, or older than the entries of model pages."""
    try:
        from huggingface_hub import EvalResultEntry  # noqa: F401
    except ImportError:
        raise TomevalError(
            "this needs huggingface-hub: pip install 'huggingface-hub>=2.4'"
        ) from None
