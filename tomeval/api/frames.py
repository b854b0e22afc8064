"""Tables of a run as pandas DataFrames, whose types follow from the domain and not from values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tomeval.report.exporting import kinds_of
from tomeval.runs.results import Run, iterate_export

if TYPE_CHECKING:
    import pandas

_TYPES: dict[str, Any] = {"INTEGER": "Int64", "REAL": "float64", "TEXT": "string"}


def exported(run: Run, what: str) -> pandas.DataFrame:
    """Return a table of ``tomeval export``: ``steps``, ``episodes`` or ``answers``."""
    return framed(run, what, *iterate_export(run, what))


def framed(
    run: Run, what: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> pandas.DataFrame:
    """Return rows as a DataFrame, with the types that these columns have in `run`."""
    import pandas

    listed = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in columns]
    found = {}
    for name, kind, values in zip(columns, kinds_of(run, what, columns), listed, strict=True):
        if kind == "TEXT":
            values = [value if value is None else str(value) for value in values]
        found[name] = pandas.array(values, dtype=_TYPES[kind])
    return pandas.DataFrame(found)
