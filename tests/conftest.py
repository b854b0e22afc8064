"""Fixtures that several test modules share."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from tomeval import cli
from tomeval.core.parts import ADDED
from tomeval.models import BACKENDS
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.analyses import LOADED

# Started in the background of a script, pytest and all that it starts would ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The gate draws the same examples each time, however busy the machine is; `make slow` searches on.
settings.register_profile(
    "gate",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", settings.get_profile("gate"), derandomize=False, print_blob=True
)
settings.load_profile("gate")

HANG = 600
"""Seconds after which a test has gone wrong. Nothing is ever waited for by the clock: a condition
is, as long as it takes on a machine that has other things to do."""

REGISTRIES: tuple[Mapping[str, Any], ...] = (SCRIPTS, BACKENDS, LOADED, *ADDED.values())

SLOW = 1800
"""Seconds that a test marked slow may take, unless it says so itself."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))


def restored() -> Iterator[None]:
    """Leave the registries as they were found, so that no test depends on another one's."""
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(mock.patch.dict(registry))
        yield


# What a module's own fixtures register lasts as long as they do.
registries_of_a_module = pytest.fixture(scope="module", autouse=True)(restored)
registries = pytest.fixture(autouse=True)(restored)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Let torch use one thread: two processes of tests on two cores would wait for each other."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tomeval(monkeypatch, capsys):
    """Return a function that runs the command line: exit code, output, errors."""

    def call(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tomeval", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, errors = capsys.readouterr()
        assert "Traceback" not in errors
        return code, out, errors

    return call
