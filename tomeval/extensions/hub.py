"""The tables of a run as a dataset of the Hugging Face Hub: a folder for `hf upload`."""

from __future__ import annotations

import json
from pathlib import Path

from tomeval import __version__
from tomeval.core.credentials import credential_in
from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.report.exporting import export
from tomeval.runs.results import Run

_TABLES = ("cells", "episodes", "steps")


def export_hub(run: Run, out: Path) -> list[Path]:
    """Write cells.csv, episodes.csv, steps.csv and a card into a folder; return the files.

    They name no host and no address of a server.

    Raises
    ------
    TomevalError
        A file that seems to hold a credential.
    """
    files = [path for what in _TABLES for path in export(run, "csv", what, out / f"{what}.csv")]
    files.append(write_text(out / "README.md", _card(run)))
    for path in files:
        if held := credential_in(path.read_bytes()):
            raise TomevalError(f"{path}: seems to hold {held}: do not publish it")
    return files


def _card(run: Run) -> str:
    configs = [f"- config_name: {name}\n  data_files: {name}.csv" for name in _TABLES]
    front = [f"pretty_name: {json.dumps(f'tomeval run: {run.name}')}", "configs:", *configs]
    about = f"Theory of mind measured with tomeval {__version__}: {run.domain.title}."
    return "\n".join(["---", *front, "---", about, ""])
