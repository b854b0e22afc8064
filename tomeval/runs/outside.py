"""What extensions and decorators add to domains: measures, tables and figures of some runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import (
    Extension,
    add,
    load_if_installed,
    loaded,
    of_module,
    resolved,
)
from tomeval.core.plugins import check_new
from tomeval.core.shipped import SHIPPED
from tomeval.runs.measures import Measure, guarded

if TYPE_CHECKING:
    from tomeval.runs.columns import Table
    from tomeval.runs.domain import Domain
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store

LOADED: dict[str, Domain] = {}
"""The domains that are loaded, by name; see `tomeval.runs.domain.get_domain`."""


def _every(store: Store) -> bool:
    return True


@dataclass(frozen=True)
class Group:
    """Measures that need more of a cell than what the domain's own are made of.

    Attributes
    ----------
    name : str
        Key of what it reads in `more` of the played episodes.
    measures : tuple of Measure
        In the order of tables.
    present : callable
        Tells whether a run has the data; tables of other runs leave the measures out. Default:
        every run that has what the extension needs.
    read : callable or None
        Returns what the measures need of one cell, given its number and definition: arrays over the
        complete episodes in the order of the played ones. Called once, when a measure is first
        asked for. None: they need nothing more.
    """

    name: str
    measures: tuple[Measure, ...]
    present: Callable[[Store], bool] = _every
    read: Callable[[Store, int, Mapping[str, Any]], Any] | None = None


def readers(
    domain: Domain, store: Store, number: int, definition: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Return what reads more of a cell, for the groups of measures that its run has data for."""
    added = (
        group for one in extensions_for(domain, store) for group in groups_of(one, domain.name)
    )
    return {
        group.name: cache(partial(group.read, store, number, definition))
        for group in added
        if group.read is not None and group.present(store)
    }


_Of = TypeVar("_Of", bound=Callable[[Any, str], Any])


def make_measure(
    name: str,
    of: Callable[[Any, str], Any],
    *,
    heading: str,
    meaning: str,
    unit: str,
    better: Literal[1, 0, -1],
    source: str,
    spoken: str = "",
) -> Measure:
    """Return a measure of your own; see `register_measure` for what its function takes and gives.

    Raises
    ------
    TomevalError
        A field is missing or contradicts another.
    """
    try:
        return Measure(name, heading, meaning, unit, better, source, guarded(of, name), spoken)
    except ValueError as error:
        raise TomevalError(str(error)) from None


def register_measure(
    domain: str,
    name: str,
    *,
    heading: str,
    meaning: str,
    unit: str,
    better: Literal[1, 0, -1],
    source: str,
    spoken: str = "",
) -> Callable[[_Of], _Of]:
    """Register a measure of a domain; it decorates the function that computes it.

    Tables, figures, comparisons, reports and exports take it up, after the domain's own. The
    parameters are those of `tomeval.runs.measures.Measure`. The function is called with a cell's
    played episodes, as the domain's own measures read them, and the reference of regret. It returns
    `Totals`, or an array of shape (E,): the value of every episode.

    Raises
    ------
    TomevalError
        The name is taken, or a field is missing or contradicts another.
    """

    def register(of: _Of) -> _Of:
        made = make_measure(
            name,
            of,
            heading=heading,
            meaning=meaning,
            unit=unit,
            better=better,
            source=source,
            spoken=spoken,
        )
        extension = of_module(of)
        added = [m for m in extension.measures.get(domain, ()) if m.name != name]
        known = {m.name: m.of for one in loaded() for m in lone_measures(one, domain)}
        check_new("measure", name, known, made.of)
        changed = replace(extension, measures={**extension.measures, domain: [*added, made]})
        if domain in LOADED:
            adopt(LOADED[domain], changed)
        add(changed)
        return of

    return register


def lone_measures(extension: Extension, domain: str) -> list[Measure]:
    """Return the measures that an extension brings a domain for every run, in no group."""
    brought = resolved(extension.measures.get(domain, ()))
    return [one for one in brought if isinstance(one, Measure)]


def extensions_for(domain: Domain, store: Store) -> list[Extension]:
    """Return the extensions that add to a run of a domain: those that ship if it has their data."""
    installed = [load_if_installed(name) for name in _with_data(domain, store)]
    installed += [one for one in loaded() if one.name not in SHIPPED]
    adding = [one for one in installed if one and _adds_to(one, domain.name)]
    for extension in adding:
        adopt(domain, extension)
    return adding


def lacking(domain: Domain, store: Store) -> list[str]:
    """Return sentences on what a run has data for, but no extension that can be loaded here."""
    return [
        f"The extension {name!r} cannot be loaded: its measures of this run are not shown."
        for name in _with_data(domain, store)
        if load_if_installed(name) is None
    ]


def _with_data(domain: Domain, store: Store) -> Iterator[str]:
    """Yield the extensions that ship whose data a run of a domain has; none is loaded for it."""
    for name, line in SHIPPED.items():
        if domain.name in line.data and domain.read.data[line.data[domain.name]](store):
            yield name


def _adds_to(extension: Extension, domain: str) -> bool:
    return any(domain in one for one in (extension.measures, extension.tables, extension.figures))


def groups_of(extension: Extension, domain: str) -> list[Group]:
    """Return the groups of measures that an extension brings a domain."""
    brought = resolved(extension.measures.get(domain, ()))
    return [Group(one.name, (one,)) if isinstance(one, Measure) else one for one in brought]


def tables_of(extension: Extension, domain: str) -> Mapping[str, Table]:
    """Return the tables that an extension brings a domain."""
    tables: Mapping[str, Table] = resolved(extension.tables.get(domain, {}))
    return tables


def known_tables(domain: Domain) -> dict[str, Table]:
    """Return a domain's tables, with those of every extension that can be loaded, by name."""
    added = (tables_of(one, domain.name) for one in with_all_extensions(domain))
    return {
        **domain.show.tables,
        **{name: table for tables in added for name, table in tables.items()},
    }


def known_figures(domain: Domain) -> dict[str, Any]:
    """Return what draws a domain's figures, with those of every extension, by name."""
    added = (figures_of(one, domain.name) for one in with_all_extensions(domain))
    return {
        **domain.show.figures,
        **{name: draw for figures in added for name, draw in figures.items()},
    }


def figures_of(extension: Extension, domain: str) -> Mapping[str, Any]:
    """Return what draws the figures that an extension brings a domain, by name."""
    figures: Mapping[str, Any] = resolved(extension.figures.get(domain, {}))
    return figures


def with_all_extensions(domain: Domain) -> list[Extension]:
    """Give a domain the measures of every extension that can be loaded, and return those."""
    shipped = [load_if_installed(n) for n, line in SHIPPED.items() if domain.name in line.data]
    adding = [one for one in (*shipped, *loaded()) if one and _adds_to(one, domain.name)]
    extensions = list({one.name: one for one in adding}.values())
    for extension in extensions:
        adopt(domain, extension)
    return extensions


def measures_for(domain: Domain, run: Run) -> dict[str, Measure]:
    """Return the measures that a run of a domain has data for, those of extensions last."""
    measures = dict(domain.read.measured(run) if domain.read.measured else domain.measures)
    for name in _ADOPTED.get(domain.name, ()):
        measures.pop(name, None)
    for extension in extensions_for(domain, run.store):
        for group in groups_of(extension, domain.name):
            if group.present(run.store):
                measures |= {measure.name: measure for measure in group.measures}
    return measures


_ADOPTED: dict[str, dict[str, str]] = {}
"""By domain, the names of measures that extensions have brought, and by which."""


def adopt(domain: Domain, extension: Extension) -> None:
    """Give a domain an extension's measures; its own ones keep their names."""
    adopted = _ADOPTED.setdefault(domain.name, {})
    for group in groups_of(extension, domain.name):
        for measure in group.measures:
            name, owner = measure.name, adopted.get(measure.name)
            there = {one.name for one in loaded()} - {extension.name}
            if name in domain.measures and (owner is None or owner in there):
                raise TomevalError(
                    f"extension {extension.name!r}: measure {name!r}: the domain {domain.name!r} "
                    "already has a measure of this name; choose another"
                )
            adopted[name] = extension.name
        domain.measures = {**domain.measures, **{one.name: one for one in group.measures}}
