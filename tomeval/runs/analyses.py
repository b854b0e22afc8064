"""Measures, tables and figures that extensions and decorators bring runs of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.once import once_each
from tomeval.core.parts import (
    Analysis,
    Part,
    is_installed,
    known,
    load_plugins,
    register,
    resolved,
)
from tomeval.runs.measures import Measure, guarded

if TYPE_CHECKING:
    from tomeval.runs.columns import Table
    from tomeval.runs.domain import Domain
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store

LOADED: dict[str, Domain] = {}
"""The domains that are loaded, by name; see `tomeval.runs.domain.get_domain`."""

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

    def add(of: _Of) -> _Of:
        made = make_measure(name, of, **fields, source=source)
        if domain in LOADED:
            _check_free(LOADED[domain], name, made, {})
        register("analyses", f"{domain} {name}", Analysis(measures=[made]), of)
        return of

    return add


def _brought(domain: str) -> Iterator[tuple[str, Part]]:
    """Yield the analyses of a domain by name."""
    load_plugins()
    for name, one in known("analyses").items():
        if name.partition(" ")[0] == domain:
            yield name.partition(" ")[2], one


def analyses_of(domain: Domain, store: Store | None = None) -> dict[str, Analysis]:
    """Return the analyses of a domain that are there, loaded: all, or what a run has data for."""
    return {
        name: Analysis(*map(resolved, one.made))
        for name, one in _brought(domain.name)
        if is_installed(one.extension) and (store is None or _is_present(one.made, store))
    }


def _is_present(analysis: Analysis, store: Store) -> bool:
    return analysis.present is None or bool(resolved(analysis.present)(store))


def lacking(domain: Domain, store: Store) -> list[str]:
    """Return sentences on what a run has data for, but no extension that is there."""
    return [
        f"The extension {one.extension!r} cannot be loaded: its measures of this run are not shown."
        for _, one in _brought(domain.name)
        if not is_installed(one.extension) and _is_present(one.made, store)
    ]


def known_tables(domain: Domain, store: Store | None = None) -> dict[str, Table]:
    """Return a domain's tables, those of extensions last: all, or what a run has data for."""
    brought = [one.tables for one in analyses_of(domain, store).values()]
    return {name: table for some in (domain.tables, *brought) for name, table in some.items()}


def known_figures(domain: Domain) -> dict[str, Any]:
    """Return what draws a domain's figures, with those of every extension, by name."""
    brought = [one.figures for one in analyses_of(domain).values()]
    return {name: draw for some in (domain.figures, *brought) for name, draw in some.items()}


def known_measures(domain: Domain, run: Run | None = None) -> dict[str, Measure]:
    """Return a domain's measures, those of extensions last: all, or what a run has data for.

    Raises
    ------
    TomevalError
        A name is taken.
    """
    own = domain.measures.items()
    measures = {name: one for name, one in own if run is None or one.present(run.store)}
    for name, analysis in analyses_of(domain, run.store if run else None).items():
        for measure in analysis.measures:
            _check_free(domain, name, measure, measures)
            measures[measure.name] = measure
    return measures


def _check_free(domain: Domain, name: str, measure: Measure, taken: Mapping[str, Measure]) -> None:
    if measure.name in domain.measures or measure.name in taken:
        raise TomevalError(
            f"analysis {name!r}: measure {measure.name!r}: the domain {domain.name!r} already has "
            "a measure of this name; choose another"
        )


def readers(
    store: Store, number: int, definition: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Return what reads more of a cell, by the name of the analysis that needs it."""
    return {
        name: cache(partial(one.read, store, number, definition))
        for name, one in _present(store).items()
        if one.read is not None
    }


@once_each
def _present(store: Store) -> dict[str, Analysis]:
    return analyses_of(store.domain, store)
