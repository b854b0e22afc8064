"""The command ``merge``, and the status of several folders of one experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tomeval.cli.options import Format, show_table
from tomeval.core.printing import show, tell

if TYPE_CHECKING:
    from tomeval.extensions.shards.merging import Merged
    from tomeval.extensions.shards.sharding import Shard

NAMED = 8
"""How many shards are named before "and n more"."""


def merge(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders of one experiment, such as its shards; a folder that holds run "
            "folders stands for them.",
            metavar="RUN...",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="The folder to make, or a run folder of the same experiment to add to.",
        ),
    ],
) -> None:
    """Verify run folders of one experiment and merge them into one; they do not change.

    Exit codes are those of tomeval run: 0, nothing is missing;
    1, an episode is missing or failed, or a cell has no complete episode;
    2, the folders do not fit together, and nothing was merged.
    """
    from tomeval.extensions.shards.merging import merge as merge_folders
    from tomeval.runs.closing import closing
    from tomeval.runs.folder import run_folders
    from tomeval.runs.results import Run

    merged = merge_folders(run_folders(folders), out)
    tell(f"{out}: {merged.episodes:,} episode{'s' * (merged.episodes != 1)} merged into it")
    with Run(out) as opened:
        said = closing(opened)
    for line in (*said.lines, *_missing(merged)):
        tell(line)
    verb = "table" if said.measurable else "status"
    tell(f"next: tomeval {verb} {out}")
    if merged.lacks or not said.whole:
        raise typer.Exit(1)


def _missing(merged: Merged) -> list[str]:
    """Return what is missing, and which commands play it."""
    lines = [
        f"{folder}: nothing was played in it yet, so it was left out" for folder in merged.empty
    ]
    if not merged.lacks:
        return lines
    lines.append(f"warning: {merged.lacks:,} missing episode{'s' * (merged.lacks > 1)}:")
    for part in merged.unfinished[:NAMED]:
        name = f"shard {part.shard}" if part.shard else "the part"
        again = f"tomeval run FILE --shard {part.shard}" if part.shard else "tomeval run FILE"
        lines.append(f"  {part.lacks:,} of {name} in {part.folder}: {again} --out {part.folder}")
    if (more := len(merged.unfinished) - NAMED) > 0:
        lines.append(f"  and those of {more:,} more unfinished part{'s' * (more > 1)}")
    lines += _shard_lines(merged.missing)
    lines.append(
        f"  or all of them in one process: tomeval run FILE --out {merged.folder}; FILE is the "
        "experiment"
    )
    return lines


def show_parts(folders: Sequence[Path], where: Sequence[str], form: Format) -> None:
    """Show how far several folders of one experiment are."""
    from tomeval.cli.reading import of_wanted
    from tomeval.extensions.shards.gathering import gathered
    from tomeval.report.tables import DATA

    all_of_it = gathered(folders, where)
    if form in DATA:
        show_table(all_of_it.rows, form)
        return
    show_table(
        [of_wanted(row) for row in all_of_it.rows], form, keep=("folder", "complete", "state")
    )
    lines = _shard_lines(all_of_it.missing)
    if form == "text" and lines:
        show("\n".join(["", *(line.strip() for line in lines)]))


def _shard_lines(shards: Sequence[Shard]) -> list[str]:
    """Return the missing shards, and the command that plays them."""
    if not shards:
        return []
    more = f" and {len(shards) - NAMED:,} more" if len(shards) > NAMED else ""
    which = ", ".join(map(str, shards[:NAMED])) + more
    return [f"  missing shards: {which}: tomeval run FILE --shard {shards[0]}"]
