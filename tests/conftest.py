"""Fixtures that several test modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import scripts

# Loaded as a module of its own for doctests, it would register a second domain of the same name.
collect_ignore = ["toy_domain.py"]


@pytest.fixture
def own_scripts() -> Iterator[None]:
    """Let a test register scripts; afterwards the registry is what it was before."""
    with scripts():
        yield


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Let torch use one thread: two processes of tests on two cores would wait for each other."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
