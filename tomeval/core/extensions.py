"""Extensions: what can be taken away, one object each, found by name and loaded when it is needed.

Those that ship stand in `SHIPPED`, a stranger's are found by `tomeval.core.plugins`. The object is
the same, and so is what it may do. Rooms ask for the parts of a field, such as ``"engines"``: by
name (`part`), which loads the extension that brings it and no other, or for all (`parts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pkgutil import resolve_name
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.shipped import SHIPPED


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
        By domain: measures (`tomeval.runs.outside.make_measure`) that every run has, and groups of
        them, each with `measures` and `present`, which tells whether a store has their data
        (`tomeval.runs.outside.Group`).
    tables : mapping of str to mapping
        By domain, then by name: `tomeval.runs.columns.Table`. Those that a run has data for are
        folded into its report, unless they say otherwise.
    figures : mapping of str to mapping
        By domain, then by name: functions of a run and `tomeval.plots.drawing.Options` that return
        drawings. One with the name of a table is offered where the table is.
    first_figures : tuple of str
        Those of them that ``tomeval plot`` and the report draw, after the domain's own few, unless
        others are named.
    lists : mapping
        What ``tomeval list`` can list: name to a function that returns rows.
    commands : mapping
        Name to a function with Typer's annotations, or to a Typer app. ``play DOMAIN`` is what the
        command ``play`` does in a domain: a function, or a `CommandPart`.
    engines : mapping
        What ``run --engine NAME:ADDRESS`` can name: name to a function of an address and of the
        options that were given (``replicas``, ``gpus_per_replica``), by name, that returns a
        `tomeval.runs.engines.Engine`.
    portions : mapping
        How an experiment is played in parts: ``shard``, of the option's text, returns a
        `tomeval.runs.runner.Part`; ``status`` shows several folders.
    loggers : mapping
        What ``run --log NAME`` can name: name to a function of the run's folder, which need not
        exist yet, and of its `tomeval.runs.live.Live`, that returns a context: in it the run plays.
    exporters : mapping of str to Exporter
        What ``export --format NAME`` can name.
    comparisons : mapping of str to Compared
        What ``compare --what NAME`` can show.
    models : mapping of str to tomeval.models.Backend
        Kinds of model.
    subjects : mapping
        Kinds of subject of matrix games: name to a subclass of `Subject`.
    players : mapping
        What else plays, ``DOMAIN KIND``: ``decrypto KIND`` a
        `tomeval.domains.decrypto.players.PlayerKind`.
    partners : mapping
        Sources of partners of matrix games, which experiments name ``NAME:...``: name to a
        `tomeval.domains.matrix.partner_specs.PartnerLibrary`.
    partner_sets : mapping
        Kinds of sets of partners of matrix games, tables of experiments that have the name as a
        key: name to a `tomeval.domains.matrix.partner_specs.PartnerSets`.
    game_sets : mapping
        Kinds of sets of matrix games, tables of ``games`` in experiments that have the name as a
        key: name to a `tomeval.domains.matrix.game_sets.GameSets`.
    games : mapping
        Games of the arena: name to a `Kind`.
    keys : mapping
        Tables of experiment files, ``DOMAIN KEY`` to a `tomeval.runs.experiment.ExtraTable`.
    strategies : mapping
        Name to a function that returns a strategy, or to a `tomeval.strategies.outside.AdvicePart`.
    domains : mapping
        Kinds of game: name to a `tomeval.runs.domain.Domain`.
    prompts : mapping of str to Path
        Sets of templates: name to a folder with a folder for each domain that it words.
    experiments : mapping of str to Path
        Experiments that can be run by name: TOML files.
    runs : mapping
        Recorded runs that can be read by name, as run folders are: name to a function of a path
        that makes the run folder there.
    docs : str
        Where its manual is: a page of ``docs/``, or an address.
    """

    name: str
    about: str = ""
    measures: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    first_figures: tuple[str, ...] = ()
    lists: Mapping[str, Any] = field(default_factory=dict)
    commands: Mapping[str, Any] = field(default_factory=dict)
    engines: Mapping[str, Any] = field(default_factory=dict)
    portions: Mapping[str, Any] = field(default_factory=dict)
    loggers: Mapping[str, Any] = field(default_factory=dict)
    exporters: Mapping[str, Any] = field(default_factory=dict)
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    subjects: Mapping[str, Any] = field(default_factory=dict)
    players: Mapping[str, Any] = field(default_factory=dict)
    partners: Mapping[str, Any] = field(default_factory=dict)
    partner_sets: Mapping[str, Any] = field(default_factory=dict)
    game_sets: Mapping[str, Any] = field(default_factory=dict)
    games: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    strategies: Mapping[str, Any] = field(default_factory=dict)
    domains: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, Any] = field(default_factory=dict)
    experiments: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, Any] = field(default_factory=dict)
    docs: str = ""


class CommandPart(NamedTuple):
    """What a command does in one domain, see `Extension.commands`.

    `run` is a function with Typer's annotations. `claims` is called with the command's first
    argument, empty if there is none, and tells whether it is of the domain; without it, the domain
    is the one for arguments that no other claims. `names` returns what the first argument can be,
    for near matches.
    """

    run: Any
    claims: Any = None
    names: Any = None


class Exporter(NamedTuple):
    """A format of ``tomeval export`` that is of the whole run.

    `write` is called with a run, a folder, and those of `options` that were given as
    ``--set KEY=VALUE``, as text; it returns the files that it wrote.
    """

    write: Any
    about: str
    options: tuple[str, ...] = ()


class Compared(NamedTuple):
    """A table of ``tomeval compare``.

    `table` is called with runs and with all options by name (``by``, ``baseline``, ``metrics``,
    ``reference``, ``resamples``, ``seed``, ``form`` and the others of the command); it returns
    rows, the lines above them, and the notes below. `options` are those that it reads, as
    ``--metric``; giving another is an error.
    """

    table: Any
    options: tuple[str, ...] = ()


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
                f"the extension {name!r} cannot be loaded: {error}; reinstall tomeval, or do "
                "without the extension"
            ) from error
        add(made)
    return _LOADED[name]


def add(extension: Extension) -> None:
    """Add an extension; one of the same name replaces itself.

    Raises
    ------
    TomevalError
        Its name, or that of one of its parts, is taken by something else.
    """
    name = extension.name
    if not isinstance(name, str) or not name.isidentifier():
        raise TomevalError(f"extension {name!r}: a name may have only letters, digits and _")
    for other in _LOADED.values():
        for kind in BY_NAME if other.name != name else ():
            for taken in set(getattr(extension, kind)) & set(getattr(other, kind)):
                raise TomevalError(
                    f"extension {name!r}: {kind}: the name {taken!r} is taken by the extension "
                    f"{other.name!r}; choose another"
                )
    for kind, take in _TAKERS.items():
        for part_name, made in getattr(extension, kind).items():
            if not isinstance(made, str):  # what is text is taken when it is asked for
                take(part_name, made)
    _LOADED[name] = extension


def bring(kind: str, name: str, made: Any, of: Any = None) -> None:
    """Add one part to the extension of the module in which it (or `of`) stands.

    That is what the decorators do; a part that is registered again replaces itself.
    """
    before = of_module(made if of is None else of)
    _TAKERS[kind](name, made)
    changed: dict[str, Any] = {kind: {**getattr(before, kind), name: made}}
    _LOADED[before.name] = replace(before, **changed)


def name_of_module(module: str) -> str:
    """Return the name of the extension that holds what a module registers."""
    return re.sub(r"\W", "_", module.removeprefix(FILE_PREFIX))


def of_module(made: Any) -> Extension:
    """Return the extension of the module in which something stands, empty if it is new."""
    module = str(getattr(made, "__module__", type(made).__module__))
    name = name_of_module(module)
    return _LOADED.get(name, Extension(name, f"what {module} registers"))


def receive(kind: str, take: Callable[[str, Any], None]) -> None:
    """Have a room take every part of a kind by name, when its extension is added."""
    _TAKERS[kind] = take
    for extension in list(_LOADED.values()):
        for name, made in getattr(extension, kind).items():
            if not isinstance(made, str):
                take(name, made)


_TAKERS: dict[str, Callable[[str, Any], None]] = {}
"""By kind, what enters its parts into the registry of a room."""

FILE_PREFIX = "tomeval_plugin_"
"""What the module of a file that ``--plugin`` names begins with."""

_OF_ITSELF = ("name", "about", "first_figures", "docs")
FIELDS = tuple(one.name for one in fields(Extension) if one.name not in _OF_ITSELF)
"""What an extension can bring."""

BY_NAME = tuple(kind for kind in FIELDS if kind not in ("measures", "tables", "figures"))
"""Kinds of parts whose names no two extensions may share."""


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


def player_kind(name: str) -> Any:
    """Return what plays, see `Extension.players`.

    Raises
    ------
    TomevalError
        No extension brings it.
    """
    made = part("players", name)
    if made is None:
        raise TomevalError(f"no extension has a player {name!r}")
    return made


def portion(name: str) -> Any:
    """Return what plays, shows or merges parts of an experiment, see `Extension.portions`.

    Raises
    ------
    TomevalError
        No extension brings it.
    """
    made = part("portions", name)
    if made is None:
        raise TomevalError(f"no extension offers {name!r} for parts of an experiment")
    return made


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
