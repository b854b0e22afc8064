"""Find and read the files that ship with tomeval: partners, experiments, prompts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean

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
    if path.is_file() or path.name != str(experiment):
        return path
    folder, name = shipped("experiments"), path.name.removesuffix(".toml")
    found = folder / f"{name}.toml"
    if not found.is_file():
        near = did_you_mean(name, [file.stem for file in sorted(folder.glob("*.toml"))])
        raise TomevalError(f"{path}: no such file, and no shipped experiment{near}")
    return found


def read_text(path: Path) -> str:
    """Read a UTF-8 text file; a missing or unreadable one is a `TomevalError` that names it."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TomevalError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise TomevalError(f"{path}: not UTF-8 text (byte {error.start}: {error.reason})") from None
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror})") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file into a dict; malformed TOML is a `TomevalError` with the position."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise TomevalError(f"{path}: not valid TOML: {error}") from None
