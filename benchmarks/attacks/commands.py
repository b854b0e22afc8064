"""Commands of tomeval called inside this process, as attacks need them many times."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import traceback
from typing import NamedTuple
from unittest import mock

from tomeval import cli


class Called(NamedTuple):
    """What a command did: exit code, what it printed, and a traceback if it ended in one."""

    code: int
    out: str
    errors: str
    crash: str

    @property
    def is_one_error(self) -> bool:
        """Whether it ended as bad input should: one message, exit code 2, no traceback."""
        lines = self.errors.splitlines()  # libraries may have warned before
        said = sum(line.startswith(("tomeval: ", "Usage: ")) for line in lines)
        return self.code == 2 and not self.crash and said == 1


def call(*arguments: object, typed: str = "") -> Called:
    """Run ``tomeval ARGUMENTS`` with `typed` on standard input."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2)]
    last, code, crash = logging.lastResort, 0, ""
    with (
        mock.patch.object(sys, "argv", ["tomeval", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(typed)),
        mock.patch.object(logging.root, "handlers", []),  # those of a test would keep warnings
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException:  # noqa: BLE001 (whatever it is: the attack counts it)
            code, crash = 1, traceback.format_exc()
        finally:
            logging.lastResort = last
    out, errors = (_written(stream) for stream in streams)
    return Called(code, out, errors, crash)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
