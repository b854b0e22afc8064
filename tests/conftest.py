"""Fixtures that several test modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import scripts


@pytest.fixture
def own_scripts() -> Iterator[None]:
    """Let a test register scripts; afterwards the registry is what it was before."""
    with scripts():
        yield
