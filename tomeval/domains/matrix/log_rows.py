"""Rows of a table from elsewhere: CSV, JSON lines or Parquet, every cell as text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.extras import need
from tomeval.core.resources import read_text
from tomeval.core.text import excerpt


class Table(NamedTuple):
    """A table, open for reading.

    Attributes
    ----------
    columns : tuple of str
    word : str
        What its rows are called: "line" of a text file, "row" of a Parquet file.
    rows : iterator of (int, dict or str)
        Number and cells of each row, or in place of the cells why it has none that can be told
        apart.
    """

    columns: tuple[str, ...]
    word: str
    rows: Iterator[tuple[int, dict[str, str] | str]]


def read_table(path: Path) -> Table:
    """Open a table by its suffix: ``.jsonl``, ``.parquet``, and CSV for every other.

    A missing value of JSON lines or Parquet (null, NaN, a key that a line lacks) is empty text, as
    an empty cell of a CSV is.

    Raises
    ------
    TomevalError
        The file is missing, or not what its suffix says; with the line, also while it is read.
    """
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        return _json_lines(path)
    if suffix == ".parquet":
        return _parquet(path)
    return _csv(path)


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of a CSV file's rows; its header must hold `columns`."""
    table = _csv(path)
    check_columns(path, table.columns, columns)
    for line, row in table.rows:
        if isinstance(row, str):
            raise TomevalError(f"{path}, line {line}: {row}")
        yield line, row


def check_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raise unless a header holds all of `columns`."""
    for column in columns:
        if column not in header:
            raise TomevalError(
                f"{path}: missing column {column!r}{did_you_mean(column, header)}; "
                f"it has: {excerpt(', '.join(header), 400) or 'none'}"
            )


def _csv(path: Path) -> Table:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)

    def not_csv(error: csv.Error) -> TomevalError:
        return TomevalError(f"{path}, line {reader.line_num}: not valid CSV: {error}")

    def rows() -> Iterator[tuple[int, dict[str, str] | str]]:
        try:
            for row in reader:
                ragged = None in row or None in row.values()
                yield (
                    reader.line_num,
                    "has another number of fields than the header" if ragged else row,
                )
        except csv.Error as error:
            raise not_csv(error) from None

    try:
        header = [name.strip() for name in reader.fieldnames or []]
    except csv.Error as error:
        raise not_csv(error) from None
    if len(set(header)) < len(header):
        raise TomevalError(f"{path}: a column name appears twice: {', '.join(header)}")
    reader.fieldnames = header
    return Table(tuple(header), "line", rows())


def _json_lines(path: Path) -> Table:
    found: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TomevalError(f"{path}, line {number}: not valid JSON: {error}") from None
        if not isinstance(entry, dict):
            raise TomevalError(f"{path}, line {number}: must be an object, is {line[:80]!r}")
        found.append((number, entry))
    return _listed(path, "line", list(dict.fromkeys(key for _, row in found for key in row)), found)


def _parquet(path: Path) -> Table:
    pyarrow, parquet = (
        need(name, "parquet", "files of Parquet") for name in ("pyarrow", "pyarrow.parquet")
    )
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise TomevalError(f"{path}: no such file") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise TomevalError(f"{path}: not readable as Parquet: {error}") from None
    found = list(enumerate(table.to_pylist(), 1))
    return _listed(path, "row", table.column_names, found)


def _listed(
    path: Path, word: str, columns: Sequence[str], found: Sequence[tuple[int, Mapping[str, Any]]]
) -> Table:
    """Return rows of typed values as text."""

    def rows() -> Iterator[tuple[int, dict[str, str] | str]]:
        for number, row in found:
            where = f"{path}, {word} {number}"
            yield (
                number,
                {name: _as_text(row.get(name), f"{where}: {name}") for name in columns},
            )

    return Table(tuple(columns), word, rows())


def _as_text(value: Any, where: str) -> str:
    """Return a value as a CSV would hold it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise TomevalError(f"{where}: must be text or a number, is {value!r:.80}")
    return str(value)
