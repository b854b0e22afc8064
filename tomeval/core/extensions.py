"""Extensions: what can be taken away, one object each, found by name and loaded when it is needed.

Those that ship stand in `SHIPPED`, a stranger's are found by `tomeval.core.plugins`. The object is
the same, and so is what it may do. Rooms ask for the parts of a field, such as ``"engines"``: by
name (`part`), which loads the extension that brings it and no other, or for all (`parts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pkgutil import resolve_name
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError


@dataclass(frozen=True)
class Extension:
    """What one extension brings. Every part may be text, ``module:object``, loaded when it is used.

    Attributes
    ----------
    name : str
        Letters, digits and ``_``.
    about : str
        What it is, in a few words, for ``tomeval list extensions``.
    measures : mapping of str to sequence
        By domain: groups of measures, as `Domain.groups` has them.
    tables, figures : mapping of str to mapping
        By domain, then by name: as `Domain.tables` and `Domain.figures` have them. A table that its
        domain says a report shows is folded into the report.
    lists : mapping
        What ``tomeval list`` can list: name to a function that returns rows.
    commands : mapping
        Name to a function with Typer's annotations, or to a Typer app; ``arena import`` is a
        command under ``tomeval arena``.
    engines : mapping
        What ``run --engine NAME:ADDRESS`` can name: name to a function of an address, how many
        replicas, and GPUs of each, that returns an engine.
    exporters : mapping of str to Exporter
        What ``export --format NAME`` can name.
    models : mapping of str to tomeval.models.Backend
        Kinds of model.
    subjects : mapping
        Kinds of subject of matrix games: name to a class.
    partners : mapping
        Sources of partners of matrix games, which experiments name ``NAME:...``: name to a
        `tomeval.domains.matrix.partner_specs.PartnerLibrary`.
    games : mapping
        Sources of games of the arena, which experiments name ``NAME:...``: name to a function of
        such a name, and of the place in the file that has it, which returns a kind of game.
    keys : mapping
        Tables of experiment files, ``DOMAIN KEY`` to a `tomeval.runs.experiment.ExtraTable`.
    """

    name: str
    about: str = ""
    measures: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists: Mapping[str, Any] = field(default_factory=dict)
    commands: Mapping[str, Any] = field(default_factory=dict)
    engines: Mapping[str, Any] = field(default_factory=dict)
    exporters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    subjects: Mapping[str, Any] = field(default_factory=dict)
    partners: Mapping[str, Any] = field(default_factory=dict)
    games: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)


class Exporter(NamedTuple):
    """A format of ``tomeval export`` that is of the whole run.

    `write` is called with a run, a folder, and those of `options` that were given as
    ``--set KEY=VALUE``, as text; it returns the files that it wrote.
    """

    write: Any
    about: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shipped:
    """What is known of an extension that ships before it is loaded: where it is, and names.

    Attributes
    ----------
    where : str
        ``module:object``.
    data : mapping of str to str
        By domain, the kind of data (`Domain.data`) that its measures, tables and figures need: they
        are loaded for runs that have it.
    commands : mapping of str to (str, str)
        Name to a panel of ``--help`` and one line of help.
    lists, engines, exporters, models, subjects, partners, games, keys : tuple of str
        Names.
    """

    where: str
    data: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of its parts of a kind that has names here."""
        return tuple(getattr(self, kind))


_GUESTS, _SHARE = "People, and games played elsewhere", "Keep and share"

SHIPPED: dict[str, Shipped] = {
    "axelrod": Shipped("tomeval.extensions.axelrod:EXTENSION", partners=("axelrod",)),
    "hub": Shipped(
        "tomeval.extensions.hub:EXTENSION",
        commands={
            "push": (
                _SHARE,
                "Show what a run's dataset on the Hugging Face Hub would hold; with --upload, "
                "upload it.",
            )
        },
        exporters=("hub",),
    ),
    "inspect": Shipped(
        "tomeval.extensions.inspect:EXTENSION",
        exporters=("inspect", "lm-eval"),
        models=("inspect",),
    ),
    "live": Shipped(
        "tomeval.extensions.live:EXTENSION",
        commands={
            "view": (
                "Measure",
                "Show a run in a browser while it is played: progress, table, figures, episodes.",
            ),
            "watch": (
                "Measure",
                "Show runs that other processes play, here or on machines that share the folder.",
            ),
        },
    ),
    "people": Shipped(
        "tomeval.extensions.people:EXTENSION",
        commands={
            "play": (
                _GUESTS,
                "Play a matrix game yourself: choose and predict in every round; kept as a run.",
            ),
            "study": (
                _GUESTS,
                "Let people play an experiment's cells of kind person in a browser, until Ctrl-C.",
            ),
        },
        subjects=("person",),
        keys=("matrix study",),
    ),
    "pettingzoo": Shipped("tomeval.extensions.pettingzoo:EXTENSION"),
    "textarena": Shipped("tomeval.extensions.textarena:EXTENSION", games=("textarena",)),
    "trajectories": Shipped(
        "tomeval.extensions.trajectories:EXTENSION",
        commands={
            "arena import": (
                _GUESTS,
                "Make a run folder of games that TextArena played, for table, ratings, report and "
                "the rest.",
            )
        },
    ),
}
"""The extensions that ship, by name. A test holds each line to its object."""

_LOADED: dict[str, Extension] = {}


class NotInstalled(TomevalError):
    """An extension that ships cannot be imported here."""


def load(name: str) -> Extension:
    """Return an extension that ships, or one that was added, by name.

    Raises
    ------
    NotInstalled
        It cannot be imported: says why.
    """
    if name not in _LOADED:
        try:
            made = resolve_name(SHIPPED[name].where)
        except ImportError as error:
            raise NotInstalled(
                f"the extension {name!r} cannot be loaded: {error}; install tomeval again, or do "
                "without what it brings"
            ) from error
        add(made)
    return _LOADED[name]


def add(extension: Extension) -> None:
    """Add an extension; one of the same name and place replaces itself.

    Raises
    ------
    TomevalError
        Its name, or that of one of its parts, is taken by another extension.
    """
    name = extension.name
    if not isinstance(name, str) or not name.isidentifier():
        raise TomevalError(f"extension {name!r}: a name is letters, digits and _")
    for other in _LOADED.values():
        for kind, part_name in _names(extension) if other.name != name else ():
            if part_name in getattr(other, kind):
                raise TomevalError(
                    f"extension {name!r}: {kind}: the name {part_name!r} is taken by the "
                    f"extension {other.name!r}; choose another"
                )
    _LOADED[name] = extension


BY_NAME: tuple[str, ...] = ("lists", "commands", "engines", "exporters", "models")
BY_NAME += ("subjects", "partners", "games", "keys")
"""The fields whose parts have names that no other extension may bring."""


def _names(extension: Extension) -> Iterator[tuple[str, str]]:
    """Yield kind and name of every part that no other extension may bring."""
    for kind in BY_NAME:
        yield from ((kind, name) for name in getattr(extension, kind))


def loaded() -> list[Extension]:
    """Return the extensions that are loaded."""
    return list(_LOADED.values())


def named(kind: str) -> list[str]:
    """Return the names of all parts of a kind that are known without loading anything."""
    own = [name for line in SHIPPED.values() for name in line.names(kind)]
    more = [name for extension in _LOADED.values() for name in getattr(extension, kind)]
    return list(dict.fromkeys([*own, *more]))


def part(kind: str, name: str) -> Any:
    """Return a part by name, resolved; None if no extension brings it.

    Loads the extension that brings it; the plugins of installed packages only if none is known to.

    Raises
    ------
    NotInstalled
        It is brought by an extension that cannot be imported here.
    """
    from tomeval.core.plugins import load_plugins

    for known, line in SHIPPED.items():
        if name in line.names(kind):
            return resolved(getattr(load(known), kind)[name])
    if not any(name in getattr(extension, kind) for extension in _LOADED.values()):
        load_plugins()
    for extension in _LOADED.values():
        if name in getattr(extension, kind):
            return resolved(getattr(extension, kind)[name])
    return None


def parts(kind: str) -> dict[str, Any]:
    """Return all parts of a kind by name, unresolved: every extension that brings any is loaded.

    Extensions that cannot be imported are left out; ``tomeval list extensions`` tells of them.
    """
    from tomeval.core.plugins import load_plugins

    load_plugins()
    for name, line in SHIPPED.items():
        if line.names(kind):
            load_if_installed(name)
    return {
        name: value
        for extension in _LOADED.values()
        for name, value in getattr(extension, kind).items()
    }


def load_if_installed(name: str) -> Extension | None:
    """Return an extension that ships, or None if it cannot be imported here."""
    try:
        return load(name)
    except NotInstalled:
        return None


def resolved(value: Any) -> Any:
    """Return a part: what ``module:object`` names, or the part itself."""
    return resolve_name(value) if isinstance(value, str) else value


FIELDS = tuple(one.name for one in fields(Extension))
