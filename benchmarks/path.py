"""Files and functions that a local run and a table pass: ``python benchmarks/path.py``.

Counts, with ``sys.setprofile`` in a process that is warm (the same was done once before), the files
and functions of the package that are entered, and the calls that cross from a file to another one.
The run is one matrix cell of two episodes of three steps with the embedded model; the table is of
that run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import tomeval
from tomeval.cli import main as command_line

PACKAGE = str(Path(tomeval.__file__).parent)
BUDGETS = {"run": (60, 450), "table": (35, None)}
EXPERIMENT = """
name = "path"
games = "RPS"
partners = "single_action"
labels = "neutral"
horizon = 3
episodes = 2
model = "pocket"
subjects = [{ strategy = "QA" }]
"""


def command(*arguments: str) -> None:
    """Run a command in this process, in silence."""
    before, sys.argv = sys.argv, ["tomeval", *arguments]
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            command_line()
    except SystemExit as stop:
        if stop.code:
            raise
    finally:
        sys.argv = before


def passed(act: Callable[[], None]) -> tuple[set[str], set[tuple[str, str, int]], int]:
    """Return the files and functions that are entered, and the moves from file to file."""
    files: set[str] = set()
    functions: set[tuple[str, str, int]] = set()
    moves = 0

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal moves
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name in ("<module>", "<genexpr>", "<listcomp>", "<lambda>", "<dictcomp>"):
            return
        files.add(code.co_filename.removeprefix(PACKAGE))
        functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        caller = frame.f_back
        moves += caller is not None and caller.f_code.co_filename not in (code.co_filename,)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, functions, moves


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        file = Path(home, "path.toml")
        file.write_text(EXPERIMENT, encoding="utf-8")
        command("run", str(file), "--out", f"{home}/warm")
        command("table", f"{home}/warm")
        acts = {
            "run": lambda: command("run", str(file), "--out", f"{home}/run"),
            "table": lambda: command("table", f"{home}/run"),
        }
        print(f"{'':<8}{'files':>7}{'budget':>8}{'functions':>11}{'budget':>8}{'moves':>9}")
        for name, act in acts.items():
            files, functions, moves = passed(act)
            few, small = BUDGETS[name]
            print(
                f"{name:<8}{len(files):>7}{few:>8}{len(functions):>11}{small or '':>8}{moves:>9,}"
            )
            if "--files" in sys.argv:
                print("".join(f"  {file}\n" for file in sorted(files)))


if __name__ == "__main__":
    main()
