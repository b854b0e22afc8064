"""Measures, tables and figures that extensions and decorators bring runs of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial, wraps
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

_T = TypeVar("_T")
_Of = TypeVar("_Of", bound=Callable[[Any, str], Any])


def once_settled(function: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """Return a function of a store that is computed once for each that is not `changing`.

    What it returns must not be changed either.
    """
    found = once_each(function)
    return wraps(function)(lambda store: function(store) if store.changing else found(store))


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
            _with(LOADED[domain], {}, {name: Analysis(measures=[made])})
        register("analyses", f"{domain} {name}", Analysis(measures=[made]), of)
        return of

    return add


def _brought(domain: str) -> Iterator[tuple[str, Part]]:
    """Yield the analyses of a domain by name."""
    load_plugins()
    for name, one in known("analyses").items():
        if name.partition(" ")[0] == domain:
            yield name.partition(" ")[2], one


def all_analyses(domain: Domain) -> dict[str, Analysis]:
    """Return every analysis of a domain that is there, loaded."""
    brought = _brought(domain.name)
    return {name: _loaded(one) for name, one in brought if is_installed(one.extension)}


def _loaded(part: Part) -> Analysis:
    one: Analysis = part.made
    return Analysis(*map(resolved, one))


def analyses_of(domain: Domain, store: Store) -> dict[str, Analysis]:
    """Return the analyses that a run has the data for, loaded."""
    brought = [(n, one) for n, one in _brought(domain.name) if is_installed(one.extension)]
    return {name: _loaded(one) for name, one in brought if _is_present(one.made, store)}


def _is_present(analysis: Analysis, store: Store) -> bool:
    return analysis.present is None or bool(resolved(analysis.present)(store))


def lacking(domain: Domain, store: Store) -> list[str]:
    """Return sentences on what a run has data for, but no extension that is there."""
    return [
        f"The extension {one.extension!r} cannot be loaded: its measures of this run are not shown."
        for _, one in _brought(domain.name)
        if not is_installed(one.extension) and _is_present(one.made, store)
    ]


def known_tables(domain: Domain) -> dict[str, Table]:
    """Return a domain's tables, with those of every extension that is there, by name."""
    brought = [one.tables for one in all_analyses(domain).values()]
    return {name: table for some in (domain.tables, *brought) for name, table in some.items()}


def known_figures(domain: Domain) -> dict[str, Any]:
    """Return what draws a domain's figures, with those of every extension, by name."""
    brought = [one.figures for one in all_analyses(domain).values()]
    return {name: draw for some in (domain.figures, *brought) for name, draw in some.items()}


def known_measures(domain: Domain) -> dict[str, Measure]:
    """Return a domain's measures, with those of every extension that is there, by name."""
    return _with(domain, domain.measures, all_analyses(domain))


def measures_for(domain: Domain, run: Run) -> dict[str, Measure]:
    """Return the measures that a run of a domain has data for, those of extensions last."""
    own = domain.measured(run) if domain.measured else domain.measures
    return _with(domain, own, analyses_of(domain, run.store))


def _with(
    domain: Domain, own: Mapping[str, Measure], analyses: Mapping[str, Analysis]
) -> dict[str, Measure]:
    """Return measures with those of analyses; a name that is taken is an error."""
    measures = dict(own)
    for name, analysis in analyses.items():
        for measure in analysis.measures:
            if measure.name in domain.measures or measure.name in measures:
                raise TomevalError(
                    f"analysis {name!r}: measure {measure.name!r}: the domain {domain.name!r} "
                    "already has a measure of this name; choose another"
                )
            measures[measure.name] = measure
    return measures


def readers(
    store: Store, number: int, definition: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """Return what reads more of a cell, by the name of the analysis that needs it."""
    return {
        name: cache(partial(one.read, store, number, definition))
        for name, one in _present(store).items()
        if one.read is not None
    }


@once_settled
def _present(store: Store) -> dict[str, Analysis]:
    return analyses_of(store.domain, store)
