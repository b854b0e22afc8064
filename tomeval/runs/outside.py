"""Measures from outside, and the domains that are loaded, which they are added to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.plugins import check_new
from tomeval.runs.measures import Measure, guarded

if TYPE_CHECKING:
    from tomeval.runs.domain import Domain

LOADED: dict[str, Domain] = {}
"""The domains that are loaded, by name; see `tomeval.runs.domain.get_domain`."""

_Of = TypeVar("_Of", bound=Callable[[Any, str], Any])


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
    label: str = "",
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
        try:
            made = Measure(
                name, heading, meaning, unit, better, source, guarded(of, name), spoken, label
            )
        except ValueError as error:
            raise TomevalError(str(error)) from None
        mine = _OUTSIDE.setdefault(domain, {})
        check_new("measure", name, {key: _MADE_BY[domain, key] for key in mine}, of)
        if domain in LOADED:
            _add_measure(LOADED[domain], made)
        mine[name], _MADE_BY[domain, name] = made, of
        return of

    return register


def outside_measures(domain: str) -> Mapping[str, Measure]:
    """Return the measures of a domain that were registered from outside, by name."""
    return _OUTSIDE.get(domain, {})


def forget_measure(domain: str, name: str) -> None:
    """Forget a measure from outside."""
    del _OUTSIDE[domain][name], _MADE_BY[domain, name]
    if domain in LOADED:
        kept = LOADED[domain].measures
        LOADED[domain].measures = {key: kept[key] for key in kept if key != name}


_OUTSIDE: dict[str, dict[str, Measure]] = {}
_MADE_BY: dict[tuple[str, str], object] = {}


def add_outside_measures(domain: Domain) -> None:
    """Give a domain that was just loaded the measures that were registered for it."""
    for measure in outside_measures(domain.name).values():
        _add_measure(domain, measure)


def _add_measure(domain: Domain, measure: Measure) -> None:
    """Give a domain one more measure; its own ones keep their names."""
    if measure.name in domain.measures and measure.name not in outside_measures(domain.name):
        raise TomevalError(
            f"measure {measure.name!r}: the domain {domain.name!r} has one of this name; choose "
            "another"
        )
    domain.measures = {**domain.measures, measure.name: measure}
