"""The commands that one begins with: what there is, and a first file of one's own."""

from __future__ import annotations

import re
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
    written = write_example(kind, name, domain, Path())
    for path in written:
        show(path)
    if kind == "template":
        use = f"tomeval prompt QA --domain {domain} --prompts {written[0].parts[0]}"
    else:
        use = "the first lines of each file say how to use it"
    tell(f"next: {use}")


_WORD, _TITLE, _CLASS = "example_name", "Example Name", "ExampleName"


def kinds() -> list[str]:
    """Return what can be written: the folders of examples that ship."""
    home = shipped("examples")
    return sorted({path.relative_to(home).parts[0] for path in home.rglob(f"{_WORD}*")})


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
    if kind not in kinds():
        raise unknown("kind", kind, kinds(), "init")
    home = shipped("examples") / kind
    domains = sorted(path.name for path in home.iterdir() if not path.name.startswith(_WORD))
    if domain not in (domains or ["matrix"]):
        raise unknown("domain", domain, domains or ["matrix"], f"init {kind}: --domain")
    home = home / domain if domains else home
    name = re.sub(r"(\.toml|\.py|/)$", "", name) or f"my_{kind}"
    if not re.fullmatch(r"[A-Za-z](?:[A-Za-z0-9]|_(?!_|$))*", name):
        raise TomevalError(
            f"init: {name!r} must be letters, digits and single _, beginning with a letter"
        )
    files = {
        into / _named(source.relative_to(home).as_posix(), name): _named(read_text(source), name)
        for source in sorted(home.rglob("*"))
        if source.suffix in (".toml", ".py", ".j2")
    }
    for path in {into / path.relative_to(into).parts[0] for path in files}:
        if path.exists():  # a folder may hold more than the files of the example
            raise TomevalError(f"{path}: already exists; choose another name: init {kind} NAME")
    for path, text in files.items():
        write_text(path, text)
    return list(files)


def _named(text: str, name: str) -> str:
    """Fill a name in, as a word, as a title and as the name of a class."""
    words = [word for word in name.split("_") if word]
    title = " ".join(word[0].upper() + word[1:] for word in words)
    for mark, value in ((_WORD, name), (_TITLE, title), (_CLASS, title.replace(" ", ""))):
        text = text.replace(mark, value)
    return text
