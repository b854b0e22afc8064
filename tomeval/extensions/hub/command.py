"""The command ``tomeval push``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.options import RunFolder
from tomeval.core.printing import show, tell


def push(
    folder: RunFolder,
    repo: Annotated[str, typer.Argument(help="The dataset, OWNER/NAME.", metavar="REPO")],
    upload: Annotated[
        bool, typer.Option("--upload", help="Upload. Without it nothing leaves this machine.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Make a new dataset public. Default: private.")
    ] = False,
    with_report: Annotated[
        bool, typer.Option("--report", help="Include the report as report.html.")
    ] = False,
) -> None:
    """Show what a run's dataset on the Hugging Face Hub would hold; with --upload, upload it."""
    from tomeval.extensions.hub.push import size_text, stage
    from tomeval.extensions.hub.push import upload as send
    from tomeval.runs.results import Run

    with tempfile.TemporaryDirectory(prefix="tomeval-push-") as place:
        with Run(folder) as opened:
            staged = stage(opened, repo, Path(place), report=with_report)
        show(f"dataset {repo}: {'public' if public else 'private'} if it is new")
        for name, size in staged.files:
            show(f"{size_text(size):>9}  {name}")
        show(f"{size_text(sum(size for _, size in staged.files)):>9}  in all")
        if upload:
            show(send(staged, repo, private=not public))
            return
        show(f"\nREADME.md:\n\n{staged.card}")
        tell("Nothing was uploaded. To upload this: add --upload")
