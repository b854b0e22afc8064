"""The command line as a function."""

from __future__ import annotations

import sys

import pytest

from tomeval import cli


@pytest.fixture
def tomeval(monkeypatch, capsys):
    """Return a function that runs the command line: exit code, output, errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tomeval", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, errors = capsys.readouterr()
        assert "Traceback" not in errors
        return code, out, errors

    return call
