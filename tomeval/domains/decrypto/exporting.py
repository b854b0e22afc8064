"""Export the turns of a Decrypto run, one row a turn, for other programs."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.decrypto.results import Run

FORMS = ("csv", "jsonl")


def export_turns(run: Run, form: str = "csv", out: Path | None = None) -> None:
    """Write the view ``turn_records``.

    Parameters
    ----------
    run : Run
    form : {"csv", "jsonl"}
        Missing values are empty in CSV and null in JSON; lists are JSON in both.
    out : Path, optional
        A file, replaced when it is complete; standard output when not given.
    """
    if form not in FORMS:
        raise unknown("format", form, FORMS)
    if out is None:
        _write(run, form, sys.stdout)
        return
    draft = out.with_name(f".{out.name}.new")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            _write(run, form, file)
        os.replace(draft, out)
    except OSError as error:
        raise TomevalError(f"{out}: cannot be written ({error.strerror or error})") from None


def _write(run: Run, form: str, file: TextIO) -> None:
    columns, rows = run.store.iterate("SELECT * FROM turn_records ORDER BY cell, game, turn")
    if form == "csv":
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        return
    for row in rows:
        line = dict(zip(columns, row, strict=True))
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
