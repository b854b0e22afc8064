"""Find what ships with tomeval, and read files that others wrote: text, TOML and CSV."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.files import check_readable
from tomeval.core.text import check_text, excerpt

_PACKAGE = Path(__file__).parents[1]


def shipped(folder: str) -> Path:
    """Return a folder of shipped files: in ``tomeval/_data`` of a wheel, or in the source tree."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder


def shipped_path(given: str | Path, what: str = "experiment", ending: str = ".toml") -> Path:
    """Return the path of a file, or of a shipped one given by name: an experiment, or results.

    Raises
    ------
    TomevalError
        There is neither; names the nearest that ships.
    """
    path = Path(given)
    if path.exists() and (not path.is_dir() or path.name != str(given)):
        return path
    home, name = shipped("experiments"), path.name.removesuffix(ending)
    file = home / f"{name}{ending}"
    if path.name == str(given) and file.is_file():
        return file
    here = sorted(str(file) for file in path.parent.glob(f"*{ending}"))
    names = [file.stem for file in sorted(home.glob(f"*{ending}"))]
    near = did_you_mean(str(path.with_suffix(ending)), here) or did_you_mean(path.stem, names)
    near = near or "; `tomeval list experiments` names them" * (ending == ".toml")
    raise TomevalError(f"{path}: no such file, and no shipped {what}{near}")


def shipped_experiments() -> list[str]:
    """Return the names of the shipped experiments, sorted."""
    return sorted(file.stem for file in shipped("experiments").glob("*.toml"))


def shown_path(path: Path) -> str:
    """Return a path as messages name it: what ships by its name, wherever it is installed."""
    return path.stem if path.parent == shipped("experiments") else str(path)


def read_text(path: Path) -> str:
    """Read a UTF-8 text file; a missing or unreadable one is a `TomevalError` that names it."""
    try:
        check_readable(path)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TomevalError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise TomevalError(f"{path}: not UTF-8 text (byte {error.start}: {error.reason})") from None
    except ValueError as error:  # a path with a zero character
        raise TomevalError(f"{str(path)!r}: cannot be read ({error})") from None
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror})") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file into a dict.

    Raises
    ------
    TomevalError
        With the position: malformed TOML; with the key: a text with control characters; a file that
        is nested too deeply.
    """
    text = read_text(path)
    try:
        data = tomllib.loads(text)
        check_text(data, str(path))
    except RecursionError:
        raise TomevalError(f"{path}: is nested too deeply") from None
    except ValueError as error:  # of `tomllib`, or a number with thousands of digits
        raise TomevalError(f"{path}: not valid TOML: {error}") from None
    return data


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


def read_csv(
    path: Path, columns: Sequence[str] = ()
) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return the header of a CSV file, which must hold `columns`, and line and cells of each row.

    Cells are separated by commas; where the header has none, by its semicolons, tabs or ``|``. What
    is no CSV, a header with a name twice, and rows of other lengths are a `TomevalError`.
    """
    text = read_text(path)
    header_line = text.partition("\n")[0]
    separator = "," if "," in header_line else max(",;\t|", key=header_line.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)

    @contextmanager
    def named() -> Iterator[None]:
        try:
            yield
        except csv.Error as error:
            raise TomevalError(f"{path}, line {reader.line_num}: not valid CSV: {error}") from None

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        with named():
            for row in reader:
                if None in row or None in row.values():
                    raise TomevalError(
                        f"{path}, line {reader.line_num}: the number of fields differs from the "
                        "header's"
                    )
                yield reader.line_num, row

    with named():
        header = [name.strip() for name in reader.fieldnames or []]
    if twice := [name for name in header if header.count(name) > 1]:
        raise TomevalError(f"{path}: a column name appears twice: {excerpt(twice[0])!r}")
    check_columns(path, header, columns)
    reader.fieldnames = header
    return header, rows()
