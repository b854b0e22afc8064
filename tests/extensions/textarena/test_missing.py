"""Without the package TextArena: one clear line."""

import importlib.metadata

import pytest

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.games import get_kind


def test_one_line_names_the_extra(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(TomevalError, match=r"tomeval\[textarena\]") as caught:
        get_kind("textarena:Nim-v0")
    assert "\n" not in str(caught.value)
