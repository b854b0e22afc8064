"""Questions that extensions have language models asked beside their moves, in chosen rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.errors import unknown
from tomeval.core.extensions import named, part, parts

if TYPE_CHECKING:
    from tomeval.domains.matrix.results import MatrixRunCell
    from tomeval.domains.matrix.subjects.base import Seat
    from tomeval.strategies.questions import Question

ROUNDS = ("never", "first", "ends", "always")
"""In which rounds it is asked: in none, the first, the first and the last, or all."""


class Aside(NamedTuple):
    """What is asked, where the option of its name says when: one of `ROUNDS`.

    The strategy's aids are not shown, its context is; an answer that cannot be read ends nothing.
    """

    # What its questions are called in records, before a number; and the form in previews.
    form: str
    about: str  # what the option asks for
    templates: Path
    # Returns the questions of a round, each for one of the own actions.
    questions: Callable[[Seat, int], list[Question[int]]]
    # Says in words what was answered, given a cell, which question, its outcome, and the value.
    said: Callable[[MatrixRunCell, int, str, str | None], str]


def asked(options: Mapping[str, Any], horizon: int = 1) -> dict[Aside, range]:
    """Return what a subject of these options is asked beside its moves, and in which rounds.

    Raises
    ------
    TomevalError
        An option that is none of `ROUNDS`.
    """
    rounds_of: dict[Aside, range] = {}
    for name in named("asides"):
        when = options.get(name, "never")
        if when not in ROUNDS:
            raise unknown(name, when, ROUNDS)
        if when != "never":
            rounds_of[part("asides", name)] = rounds(when, horizon)
    return rounds_of


def rounds(when: str, horizon: int) -> range:
    """Return the rounds that an option means.

    Examples
    --------
    >>> [list(rounds(when, 4)) for when in ROUNDS]
    [[], [1], [1, 4], [1, 2, 3, 4]]
    >>> list(rounds("ends", 1))
    [1]
    """
    steps = {"first": horizon, "ends": max(1, horizon - 1), "always": 1}
    return range(1, horizon + 1, steps[when]) if when != "never" else range(0)


def aside_templates(options: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the folders of templates that these options ask for besides those of the strategy."""
    return tuple(aside.templates for aside in asked(options))


def option_of(form: str) -> tuple[str, Aside] | None:
    """Return the option that asks questions of a form; None if no extension brings any."""
    for name, made in parts("asides").items():
        if made.form == form:
            return name, made
    return None
