"""What ``import`` makes of run folders, and the status of several of one experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import Format, show_table
from tomeval.core.extensions import CommandPart
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.core.printing import show, tell

_ENDED = (COMPLETE, VOID, FAILED)


def import_(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders of one experiment, such as its shards; a folder that holds run "
            "folders stands for them."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
    ] = None,
) -> None:
    """Make one run of run folders of one experiment, such as its shards.

    They do not change. Default of --out: runs/ and the experiment's name. Exit code 1: episodes
    are missing.
    """
    from tomeval.extensions.shards.merging import merge
    from tomeval.runs.closing import closing
    from tomeval.runs.folder import run_folders
    from tomeval.runs.results import Run

    given = run_folders(folders)
    if out is None:
        with Run(given[0]) as first:
            out = Path("runs") / first.name
    count = merge(given, out)
    tell(f"{out}: {count:,} episode{'s' * (count != 1)}")
    with Run(out) as opened:
        summary = closing(opened)
    for line in summary.lines:
        tell(line)
    show(out)
    if not summary.whole:
        raise typer.Exit(1)


def _is_run(name: str) -> bool:
    return Path(name).is_dir() or any(sign in name for sign in "*?[")


IMPORT = CommandPart(import_, _is_run)


def show_parts(folders: Sequence[Path], where: Sequence[str], form: Format) -> None:
    """Show a row per folder of one experiment and, last, one for all of them.

    What several folders hold counts once in the last row. Raises `TomevalError` for what is no run,
    or of another experiment than the first.
    """
    from tomeval.cli.reading import of_wanted
    from tomeval.extensions.shards.merging import same_experiment
    from tomeval.report.tables import DATA
    from tomeval.runs.database import NothingPlayed
    from tomeval.runs.folder import planned
    from tomeval.runs.results import Run

    rows, runs, statuses = [], [], dict[tuple[int, int], str]()
    with ExitStack() as opened:
        for folder in folders:
            try:
                run = opened.enter_context(Run(folder, where))
            except NothingPlayed:
                rows.append(_row(folder, "", (), 0))
                continue
            runs.append(run)
            same_experiment(runs)
            own = {
                (cell.number, episode): status
                for cell in run.cells
                for episode, status in run.store.statuses(cell.number).items()
                if status in _ENDED
            }
            over = {place for place, status in statuses.items() if status != FAILED}
            statuses |= {place: own[place] for place in own.keys() - over}
            wanted = sum(run.wanted(cell) or 0 for cell in run.cells)
            rows.append(_row(folder, run.share.part if run.share else "", own.values(), wanted))
        most = max([0, *(planned(folder) or 0 for folder in folders)])
        total = sum(cell.wanted(most) for run in runs[:1] for cell in run.cells)
    rows.append(_row("total", "", statuses.values(), total))
    if form not in DATA:
        rows = [of_wanted(row) for row in rows]
    show_table(rows, form, keep=("folder", "complete", "state"))


def _row(folder: object, part: str, statuses: Iterable[str], wanted: int) -> dict[str, Any]:
    counts = dict.fromkeys(_ENDED, 0) | Counter(statuses)
    lacks = wanted - counts[COMPLETE] - counts[VOID]
    state = f"{lacks:,} missing" if lacks > 0 else "finished" if wanted else "empty"
    return {"folder": str(folder), "part": part, **counts, "wanted": wanted, "state": state}
