"""What extensions and decorators add to domains: measures, tables and figures of some runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import (
    ADDED,
    PER_DOMAIN,
    Extension,
    add,
    extensions_with,
    is_installed,
    of_module,
    shipped,
    with_parts,
)
from tomeval.core.once import once_each
from tomeval.core.plugins import check_new
from tomeval.runs.measures import Measure, guarded

if TYPE_CHECKING:
    from tomeval.runs.columns import Table
    from tomeval.runs.domain import Domain
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store

_T = TypeVar("_T")

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


def once_settled(function: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """Return a function of a store that is computed once for each that is not `changing`.

    What it returns must not be changed either.
    """
    known = once_each(function)
    return wraps(function)(lambda store: function(store) if store.changing else known(store))


_Of = TypeVar("_Of", bound=Callable[[Any, str], Any])


def make_measure(name: str, of: Callable[[Any, str], Any], **fields: Any) -> Measure:
    """Return a measure of your own; see `register_measure` for its function and its fields.

    Raises
    ------
    TomevalError
        A field is missing or contradicts another.
    """
    try:
        return Measure(name, of=guarded(of, name), **fields)
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
    fields = {"heading": heading, "meaning": meaning, "unit": unit, "better": better}

    def register(of: _Of) -> _Of:
        made = make_measure(name, of, **fields, source=source, spoken=spoken)
        extension = of_module(of)
        before = extension["measures"].get(domain, ())
        known = {m.name: m.of for one in ADDED.values() for m in _measures_of(one, domain)}
        check_new("measure", name, known, made.of)
        added = [*(m for m in before if m.name != name), made]
        changed = with_parts(extension, "measures", {**extension["measures"], domain: added})
        if domain in LOADED:
            adopt(LOADED[domain], changed)
        add(changed)
        return of

    return register


def groups_of(extension: Extension, domain: str) -> list[Group]:
    """Return the groups of measures that an extension brings a domain."""
    brought = extension.resolve("measures", domain) or ()
    return [Group(one.name, (one,)) if isinstance(one, Measure) else one for one in brought]


def tables_of(extension: Extension, domain: str) -> Mapping[str, Table]:
    """Return the tables that an extension brings a domain."""
    tables: Mapping[str, Table] = extension.resolve("tables", domain) or {}
    return tables


def figures_of(extension: Extension, domain: str) -> Mapping[str, Any]:
    """Return what draws the figures that an extension brings a domain, by name."""
    figures: Mapping[str, Any] = extension.resolve("figures", domain) or {}
    return figures


def extensions_for(domain: Domain, store: Store) -> list[Extension]:
    """Return the extensions that add to a run of a domain: those whose data it has."""
    adding = [one for one in _adding_to(domain) if _has_data(one, domain, store)]
    for extension in adding:
        adopt(domain, extension)
    return adding


def with_all_extensions(domain: Domain) -> list[Extension]:
    """Give a domain the measures of every extension that is there, and return those."""
    adding = list(_adding_to(domain))
    for extension in adding:
        adopt(domain, extension)
    return adding


def lacking(domain: Domain, store: Store) -> list[str]:
    """Return sentences on what a run has data for, but no extension that is there."""
    return [
        f"The extension {extension.name!r} cannot be loaded: its measures of this run are not "
        "shown."
        for extension in shipped().values()
        if domain.name in extension.data
        and _has_data(extension, domain, store)
        and not is_installed(extension)
    ]


def _adding_to(domain: Domain) -> Iterator[Extension]:
    for extension in extensions_with(*PER_DOMAIN):
        if any(domain.name in extension[kind] for kind in PER_DOMAIN):
            yield extension


def _has_data(extension: Extension, domain: Domain, store: Store) -> bool:
    needed = extension.data.get(domain.name)
    return needed is None or domain.read.data[needed](store)


def known_tables(domain: Domain) -> dict[str, Table]:
    """Return a domain's tables, with those of every extension that is there, by name."""
    tables = dict(domain.show.tables)
    for extension in with_all_extensions(domain):
        tables |= tables_of(extension, domain.name)
    return tables


def known_figures(domain: Domain) -> dict[str, Any]:
    """Return what draws a domain's figures, with those of every extension, by name."""
    figures = dict(domain.show.figures)
    for extension in with_all_extensions(domain):
        figures |= figures_of(extension, domain.name)
    return figures


def readers(
    store: Store, number: int, definition: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Return what reads more of a cell, for the groups of measures that its run has data for."""
    return {
        name: cache(partial(read, store, number, definition))
        for name, read in _reading(store).items()
    }


@once_settled
def _reading(store: Store) -> dict[str, Callable[..., Any]]:
    """Return what reads more of the cells of a store, by name."""
    return {
        group.name: group.read
        for extension in extensions_for(store.domain, store)
        for group in groups_of(extension, store.domain.name)
        if group.read is not None and group.present(store)
    }


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
    """Give a domain an extension's measures.

    Raises
    ------
    TomevalError
        The domain, or an extension that is still there, has a measure of one of their names.
    """
    adopted = _ADOPTED.setdefault(domain.name, {})
    for measure in _measures_of(extension, domain.name):
        owner = adopted.get(measure.name)
        there = {*shipped(), *ADDED} - {extension.name}
        if measure.name in domain.measures and (owner is None or owner in there):
            raise TomevalError(
                f"extension {extension.name!r}: measure {measure.name!r}: the domain "
                f"{domain.name!r} already has a measure of this name; choose another"
            )
        adopted[measure.name] = extension.name
        domain.measures = {**domain.measures, measure.name: measure}


def _measures_of(extension: Extension, domain: str) -> list[Measure]:
    return [measure for group in groups_of(extension, domain) for measure in group.measures]
