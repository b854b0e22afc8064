"""The commands that one begins with: what there is, and a first file of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.options import TableFormat, show_table
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.core.printing import show, tell
from tomeval.core.resources import read_text, shipped


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="Such as experiments, models, measures, figures, strategies, games or partners. "
            "Default: the names of all lists.",
        ),
    ] = "",
    holding: Annotated[
        str, typer.Argument(help="Only rows that contain this text.", metavar="[TEXT]")
    ] = "",
    form: TableFormat = "text",
) -> None:
    """List what an experiment or an option can name."""
    from tomeval.cli.listing import list_rows

    rows = list_rows(what, holding)
    if rows:
        show_table(rows, form)
    else:
        tell(f"list {what}: empty")


def init(
    kind: Annotated[
        str,
        typer.Argument(
            help="experiment, game, partner, template or strategy; or, as Python files, subject, "
            "model, measure or extension.",
        ),
    ],
    name: Annotated[str, typer.Argument(help="Its name. Default: my_KIND.", metavar="[NAME]")] = "",
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            help="Of an experiment, a template or a game: matrix, decrypto or arena.",
        ),
    ] = "matrix",
) -> None:
    """Write a commented example that runs as it is."""
    known = ["matrix", *(name for one, name in FOLDERS if one == kind)]
    if kind in KINDS and kind not in OF_DOMAINS and domain not in known:
        raise unknown("domain", domain, known, f"init {kind}: --domain")
    written = write_example(kind, name, domain, Path())
    for path in written:
        show(path)
    if kind == "template":
        use = f"tomeval prompt QA --domain {domain} --prompts {written[0].parts[0]}"
    else:
        use = "the first lines of each file say how to use it"
    tell(f"next: {use}")


OF_DOMAINS = ("experiment", "template")
"""Kinds that have an example for each domain."""

FOLDERS = {("game", "arena"): "arena_game"}
"""Kinds that are a package in a domain: where it ships."""

KINDS = {
    "experiment": ".toml",
    "game": ".toml",
    "partner": ".toml",
    "template": "/",
    "strategy": "/",
    "subject": ".py",
    "model": ".py",
    "measure": ".py",
    "extension": ".py",
}
"""What can be written, and how its name ends; ``/``: a folder."""

_WORD, _TITLE, _CLASS = "example_name", "Example Name", "ExampleName"


def write_example(kind: str, name: str, domain: str, into: Path) -> list[Path]:
    """Write the worked example of a kind into a folder, under a name; nothing is overwritten.

    Returns
    -------
    list of Path
        What was written, the file to begin with first.

    Raises
    ------
    TomevalError
        An unknown kind or domain, a name that cannot be one, or a file that is there already.
    """
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS, "init")
    ends = "/" if (kind, domain) in FOLDERS else KINDS[kind]
    name = (name or f"my_{kind}").removesuffix(ends)
    if not re.fullmatch(r"[A-Za-z](?:[A-Za-z0-9]|_(?!_|$))*", name):
        raise TomevalError(
            f"init: {name!r} must be letters, digits and single _, beginning with a letter"
        )
    files = {
        into / _named(path, name): _named(read_text(source), name)
        for path, source in _sources(kind, domain)
    }
    # A folder that is there may hold more than the files of the example.
    for path in [into / name] if ends == "/" else list(files):
        if path.exists():
            raise TomevalError(f"{path}: already exists; choose another name: init {kind} NAME")
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def _sources(kind: str, domain: str) -> Iterator[tuple[str, Path]]:
    """Yield where each file of an example goes, and where it ships."""
    home = shipped("examples")
    if kind in OF_DOMAINS:
        known = sorted(path.stem for path in (home / kind).iterdir())
        if domain not in known:
            raise unknown("domain", domain, known, f"init {kind}: --domain")
    folder = home / FOLDERS.get((kind, domain), kind)
    if kind == "experiment":
        yield f"{_WORD}.toml", folder / f"{domain}.toml"
    elif not folder.is_dir():
        yield _WORD + KINDS[kind], folder.with_suffix(KINDS[kind])
    else:
        for source in sorted((folder / domain if kind == "template" else folder).rglob("*")):
            if source.suffix in (".toml", ".py", ".j2"):
                yield f"{_WORD}/{source.relative_to(folder).as_posix()}", source


def _named(text: str, name: str) -> str:
    """Fill a name in, as a word, as a title and as the name of a class."""
    words = [word for word in name.split("_") if word]
    title = " ".join(word[0].upper() + word[1:] for word in words)
    for mark, value in ((_WORD, name), (_TITLE, title), (_CLASS, title.replace(" ", ""))):
        text = text.replace(mark, value)
    return text
