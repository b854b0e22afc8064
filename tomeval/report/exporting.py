"""Export a run: its tables as CSV or JSON lines, or all of it for another tool."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import check_ending, replacing
from tomeval.core.parts import find
from tomeval.core.printing import data_stream
from tomeval.runs.cell import JUDGED
from tomeval.runs.columns import RATES, is_attainable, is_interval
from tomeval.runs.results import Run, iterate_export

if TYPE_CHECKING:
    import pandas

TABLES = ("csv", "jsonl")
"""The formats of one table; those of the whole run are what extensions bring."""

_ENDINGS = {form: form for form in TABLES}

WHATS = ("steps", "episodes", "answers", "cells")
"""The tables that can be exported."""


def export(
    run: Run,
    form: str,
    what: str | None = None,
    out: Path | None = None,
) -> list[Path]:
    """Export a run in any format and return the files, none for standard output.

    Parameters
    ----------
    run : Run
    form : str
        One of `TABLES`, see `export_run`; or the format of an exporter, which is of the whole run,
        in files in the folder `out`.
    what : {"steps", "episodes", "answers", "cells"}, optional
        Which table; default: steps.
    out : Path, optional
        A file, or a folder for the whole run.

    Raises
    ------
    TomevalError
        Options that do not fit together, or a format that is not known; see also `export_run`.
    """
    if what is not None and what not in WHATS:
        raise unknown("table", what, WHATS, "--what")
    if form in TABLES:
        export_run(run, what or "steps", form, out)
        return [] if out is None else [out]
    exporter = find("exporters", form, "format", "--format", dict.fromkeys(TABLES))
    if what is not None:
        raise TomevalError(f"--format {form} exports the whole run: omit --what")
    if out is None:
        raise TomevalError(f"--format {form} needs a folder: give --out FOLDER")
    written: list[Path] = exporter(run, out)
    return written


def export_run(run: Run, what: str, form: str, out: Path | None = None) -> None:
    """Write one table of a run.

    That is ``steps``, ``episodes``, ``answers`` (what became of every question) or ``cells``.

    `form` is ``csv`` or ``jsonl``; NaN and missing values are empty in CSV and null in JSON. `out`
    is replaced in one step when it is complete; default: standard output.

    Raises
    ------
    TomevalError
        A file that cannot be written, or whose ending is another format's, or nearly one's.
    """
    if out is not None:
        check_ending(out, form, _ENDINGS)
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


_TYPES: dict[str, Any] = {"INTEGER": "Int64", "REAL": "float64", "TEXT": "string"}


def framed(
    run: Run, what: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> pandas.DataFrame:
    """Return rows as a DataFrame, with the types that these columns have in `run`."""
    import pandas

    columns_of = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in columns]
    arrays = {}
    for name, kind, values in zip(columns, kinds_of(run, what, columns), columns_of, strict=True):
        if kind == "TEXT":
            values = [value if value is None else str(value) for value in values]
        arrays[name] = pandas.array(values, dtype=_TYPES[kind])
    return pandas.DataFrame(arrays)


_SHARED = {
    **dict.fromkeys(("cell", "episode", "step", "steps", "episodes", "attempts"), "INTEGER"),
    "seed": "INTEGER",
    **dict.fromkeys((*RATES, "ours", "reported", "difference"), "REAL"),
}


def kinds_of(run: Run, what: str, columns: Iterable[str]) -> list[str]:
    """Return INTEGER, REAL or TEXT for each column of a table of a run."""
    # A seat's name there; a domain's steps may number seats under the same heading.
    types = _SHARED if what == "answers" else column_types(run)
    return [
        "REAL" if is_interval(name) or is_attainable(name) else types.get(name, "TEXT")
        for name in columns
    ]


def column_types(run: Run) -> dict[str, str]:
    """Return INTEGER, REAL or TEXT by column of all tables but answers; others are TEXT.

    They follow from the schema and the measures alone, so missing values in the first rows do not
    change them.
    """
    schema = run.domain.schema
    declared = {**schema.episodes, **schema.steps, **schema.shown}
    types = {name: kind.split()[0].upper() for name, kind in declared.items()}
    for name, value in run.cells[0].columns.items():
        types[name] = "INTEGER" if isinstance(value, int) else "TEXT"
    return types | _SHARED | JUDGED | dict.fromkeys(run.metric_names, "REAL")
