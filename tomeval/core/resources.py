"""Find and read the files that ship with tomeval: partners, experiments, prompts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.extensions import named, part
from tomeval.core.files import check_readable
from tomeval.core.text import check_text

MAX_TOML = 32_000_000
"""Characters of a TOML file; partner tables can be long."""

PUBLISHED = {
    "reported_results": "matrix",
    "reported_decrypto": "decrypto",
}
"""The domains of published results that ship, by name."""

_DOTTED = re.compile(r"(?<![\w\"'.-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){1000}")
_PACKAGE = Path(__file__).parents[1]


def shipped(folder: str) -> Path:
    """Return a folder of shipped files: in ``tomeval/_data`` of a wheel, or in the source tree."""
    installed = _PACKAGE / "_data" / folder
    return installed if installed.is_dir() else _PACKAGE.parent / folder


def experiment_path(experiment: str | Path) -> Path:
    """Return the path of an experiment file, or of a shipped experiment given by name.

    Raises
    ------
    TomevalError
        There is neither; names the nearest shipped experiment.
    """
    path = Path(experiment)
    if (path.exists() and not path.is_dir()) or path.name != str(experiment):
        return path
    name = path.name.removesuffix(".toml")
    file = shipped("experiments") / f"{name}.toml"
    chosen: Path | None = file if file.is_file() else part("experiments", name)
    if chosen is None:
        own = path.with_name(f"{name}.toml")
        near = did_you_mean(name, shipped_experiments())
        near = f" (did you mean {str(own)!r}?)" if own.is_file() else near
        raise TomevalError(f"{path}: no such file, and no shipped experiment{near}")
    return chosen


def shipped_experiments() -> list[str]:
    """Return the names of the shipped experiments, sorted, then those of extensions."""
    own = sorted(file.stem for file in shipped("experiments").glob("*.toml"))
    return [*own, *named("experiments")]


def shown_path(path: Path) -> str:
    """Return a path as messages name it: what ships by its name, wherever it is installed."""
    home = shipped("experiments")
    inside = path.is_absolute() and path.parent == home
    return path.stem if inside else str(path)


def results_path(results: str | Path) -> Path:
    """Return the path of a CSV file of published results, or of shipped ones given by name.

    Raises
    ------
    TomevalError
        There is neither; names the shipped results.
    """
    path = Path(results)
    name = path.name.removesuffix(".csv")
    if (path.exists() and not path.is_dir()) or (
        path.name != str(results) and name not in PUBLISHED
    ):
        return path
    if path.name != str(results):
        raise TomevalError(
            f"{path}: no such file; the shipped one is named {name!r}, without a folder"
        )
    if name not in PUBLISHED:
        near = did_you_mean(name, PUBLISHED)
        raise TomevalError(f"{path}: no such file, and no shipped results{near}")
    return shipped("experiments") / f"{name}.csv"


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
        is too large or too deeply nested for what people write.
    """
    text = read_text(path)
    if len(text) > MAX_TOML:
        raise TomevalError(
            f"{path}: has {len(text):,} characters; TOML files may have at most {MAX_TOML:,}"
        )
    if _DOTTED.search(text):  # `tomllib` would take the square of its length
        raise TomevalError(f"{path}: not valid TOML: a key has more than 1,000 parts")
    try:
        data = tomllib.loads(text)
        check_text(data, str(path))
    except RecursionError:
        raise TomevalError(f"{path}: is nested too deeply") from None
    except ValueError as error:  # of `tomllib`, or a number with thousands of digits
        raise TomevalError(f"{path}: not valid TOML: {error}") from None
    return data
