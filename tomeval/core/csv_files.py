"""CSV files that others wrote: rows as text, and one clear error where a file is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.resources import read_text
from tomeval.core.text import excerpt

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
"""What may stand between cells, in words."""


class Table(NamedTuple):
    """A table, open for reading.

    Attributes
    ----------
    columns : tuple of str
    rows : iterator of (int, dict or str)
        Line and cells of each row, or in place of the cells why it has none that can be told
        apart.
    separator : str
        What stands between cells.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[int, dict[str, str] | str]]
    separator: str


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of a CSV file's rows; its header must hold `columns`."""
    table = read_csv(path)
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
                + "; cells are separated by a comma, semicolon, tab or |"
                * (len(header) == 1)
            )


def read_csv(path: Path) -> Table:
    """Open a CSV file; a header with a name twice, and what is no CSV, is a `TomevalError`.

    Cells are separated by commas; where the header has none, by its semicolons, tabs or ``|``.
    """
    text = read_text(path)
    header_line = text.partition("\n")[0]
    separator = "," if "," in header_line else max(SEPARATORS, key=header_line.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)

    def not_csv(error: csv.Error) -> TomevalError:
        return TomevalError(f"{path}, line {reader.line_num}: not valid CSV: {error}")

    def rows() -> Iterator[tuple[int, dict[str, str] | str]]:
        try:
            for row in reader:
                ragged = None in row or None in row.values()
                yield (
                    reader.line_num,
                    "the number of fields differs from the header's" if ragged else row,
                )
        except csv.Error as error:
            raise not_csv(error) from None

    try:
        header = [name.strip() for name in reader.fieldnames or []]
    except csv.Error as error:
        raise not_csv(error) from None
    if twice := [name for name in header if header.count(name) > 1]:
        raise TomevalError(f"{path}: a column name appears twice: {excerpt(twice[0])!r}")
    reader.fieldnames = header
    return Table(tuple(header), rows(), separator)
