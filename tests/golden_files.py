"""Prompts as models read them: files that people review, one per template."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def path_of(domain: str, name: str) -> Path:
    return Path(__file__).parent / "golden" / domain / f"{name.replace('/', '-')}.txt"


def check(domain: str, name: str, text: str) -> None:
    path = path_of(domain, name)
    assert text == path.read_text(encoding="utf-8"), (
        f"{path.name} differs: review the change, then write the files anew"
    )


def check_names(domain: str, names: Iterable[str]) -> None:
    """Check that every template has its file, and that there are no others."""
    wanted = {path_of(domain, name) for name in names}
    assert {*path_of(domain, "x").parent.glob("*")} == wanted


def write(domain: str, names: Iterable[str], rendered: Callable[[str], str]) -> None:
    """Write all files anew, if the command line says so."""
    if "--write" not in sys.argv[1:]:
        sys.exit("run with --write to write the golden files anew")
    for path in path_of(domain, "x").parent.glob("*.txt"):
        path.unlink()
    for name in names:
        path_of(domain, name).write_text(rendered(name), encoding="utf-8")
