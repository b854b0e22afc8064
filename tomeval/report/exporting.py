"""Export a run: its tables as CSV or JSON lines, or all of it for another tool."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import check_ending, replacing
from tomeval.core.parts import named, part
from tomeval.core.printing import data_stream
from tomeval.runs.results import Run, iterate_export

if TYPE_CHECKING:
    import pandas

TABLES = ("csv", "jsonl")
"""The formats of one table; those of the whole run are what extensions bring."""

WHATS = ("steps", "episodes", "answers", "cells")
"""The tables that can be exported."""


def export(run: Run, form: str, what: str | None = None, out: Path | None = None) -> list[Path]:
    """Export a run in any format and return the files, none for standard output.

    Parameters
    ----------
    run : Run
    form : str
        ``csv`` or ``jsonl``; NaN and missing values are empty in CSV and null in JSON. Or the
        format of an exporter, which is of the whole run, in files in the folder `out`.
    what : {"steps", "episodes", "answers", "cells"}, optional
        Which table; ``answers`` is what became of every question. Default: steps.
    out : Path, optional
        A file, replaced in one step when it is complete, or a folder for the whole run.

    Raises
    ------
    TomevalError
        Options that do not fit together, or a format that is not known; a file that cannot be
        written, or whose ending is another format's, or nearly one's.
    """
    if what is not None and what not in WHATS:
        raise unknown("table", what, WHATS, "--what")
    if form in TABLES:
        _write_table(run, what or "steps", form, out)
        return [] if out is None else [out]
    exporter = part("exporters", form)
    if exporter is None:
        raise unknown("format", form, [*TABLES, *named("exporters")], "--format")
    if what is not None:
        raise TomevalError(f"--format {form} exports the whole run: omit --what")
    if out is None:
        raise TomevalError(f"--format {form} needs a folder: give --out FOLDER")
    written: list[Path] = exporter(run, out)
    return written


def _write_table(run: Run, what: str, form: str, out: Path | None) -> None:
    if out is not None:
        check_ending(out, form, {name: name for name in TABLES})
    columns, rows = iterate_export(run, what)
    with _target(out) as file:
        if form == "csv":
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(map(_clean, rows))
        else:
            for row in rows:
                line = dict(zip(columns, _clean(row), strict=True))
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _clean(row: tuple[Any, ...]) -> list[Any]:
    """Replace NaN by None."""
    return [None if isinstance(v, float) and math.isnan(v) else v for v in row]


@contextmanager
def _target(out: Path | None) -> Iterator[TextIO]:
    """Open the output."""
    if out is None:
        with data_stream() as file:
            yield file
        return
    with replacing(out) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        yield file


def framed(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pandas.DataFrame:
    """Return rows as a DataFrame: whole numbers are Int64, others float64, all else is text."""
    import pandas

    of = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in columns]
    arrays = {}
    for name, values in zip(columns, of, strict=True):
        kinds = {type(value) for value in values if value is not None}
        kind: Any = "string"
        if all(issubclass(one, Real) for one in kinds):
            whole = kinds and all(issubclass(one, Integral) for one in kinds)
            kind = "Int64" if whole else "float64"
        else:
            values = [value if value is None else str(value) for value in values]
        arrays[name] = pandas.array(values, dtype=kind)
    return pandas.DataFrame(arrays)
