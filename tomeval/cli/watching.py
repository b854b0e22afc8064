"""The command that shows runs which other processes play, of this machine or of others."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, tell

if TYPE_CHECKING:
    from tomeval.runs.standing import Looking, Standing

EVERY = 60.0
"""Seconds between two reports where standard output is not a terminal."""

_REFRESH = 1.0

_ENDED = ("over", "gone", "none", "unknown")


def watch(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, such as those of shards.", metavar="RUN...")
    ],
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Where the output is no terminal: report each minute until all end."
        ),
    ] = False,
) -> None:
    """Show runs that other processes play, here or on machines that share the folder.

    At a terminal until they end; Ctrl-C leaves them alone. Else one report,
    or with --follow one each minute. The folders are only read.

    Exit codes: 0, what was seen goes on or is finished;
    1, a run was stopped, failed, or its process is gone;
    2, a folder is no run folder.
    """
    from tomeval.runs.standing import Looking

    if len(set(folders)) < len(folders):
        (twice, *_) = [folder for folder in folders if folders.count(folder) > 1]
        raise TomevalError(f"{twice}: is named twice")
    looking = [Looking(folder) for folder in folders]
    try:
        seen = _at_terminal(looking) if sys.stdout.isatty() else _in_lines(looking, follow)
    except KeyboardInterrupt:
        runs = "the run goes" if len(folders) == 1 else "the runs go"
        tell(f"{runs} on; look again: tomeval watch {' '.join(map(str, folders))}")
        return
    if any(_broken(one) for one in seen):
        raise typer.Exit(1)


def _broken(one: Standing) -> bool:
    return one.goes == "gone" or bool(
        one.goes == "over" and one.state and one.state.over != "finished"
    )


def _in_lines(looking: Sequence[Looking], follow: bool) -> list[Standing]:
    """Report once, or each minute until all have ended; return what was seen last."""
    from tomeval.cli.watch_words import report

    while True:
        seen = [one.look_twice() for one in looking]
        for line in report(seen):
            show(line)
        sys.stdout.flush()
        if not follow or _all_ended(seen):
            return seen
        time.sleep(EVERY)


def _all_ended(seen: Sequence[Standing]) -> bool:
    return all(one.goes in _ENDED for one in seen)


def _at_terminal(looking: Sequence[Looking]) -> list[Standing]:
    """Show the runs until all have ended; return what was seen last, which stays on the screen."""
    from rich.console import Console, Group
    from rich.live import Live as Shown
    from rich.text import Text

    from tomeval.cli.progress import screen
    from tomeval.cli.watch_words import headline, several, standing_words, still

    console = Console()
    seen = [one.look_twice() for one in looking]

    def shown() -> Group:
        if len(seen) > 1:
            lines = several(seen, console.width)
            return Group(*(Text(line, no_wrap=True, overflow="crop") for line in lines))
        (one,) = seen
        goes = one.goes == "goes" and one.state is not None and one.state.total
        lines = [headline(one), *([] if goes and not one.trouble else [standing_words(one)])]
        text = Text("\n".join(filter(None, lines)))
        if one.state is None or not one.state.total:
            return Group(text)
        return Group(text, screen(still(one), console, above=len(lines)))

    with Shown(get_renderable=shown, console=console, refresh_per_second=2):
        while not _all_ended(seen):
            time.sleep(_REFRESH)
            seen = [one.look() for one in looking]
            if _all_ended(seen):
                seen = [one.look_twice() for one in looking]
    return seen
