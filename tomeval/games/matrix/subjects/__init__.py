"""What is measured: learners, known policies and, joined to a model, prompting strategies."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from tomeval.core.errors import unknown
from tomeval.core.parts import find, parts, register
from tomeval.games.matrix.subjects.base import Subject as Subject
from tomeval.games.matrix.subjects.learners import FictitiousPlay, RMax
from tomeval.games.matrix.subjects.llm import LLMSubject as LLMSubject
from tomeval.games.matrix.subjects.simulated import (
    Believer,
    BestResponseOracle,
    EquilibriumPlayer,
    SimulatedSubject,
    UniformRandom,
)

SUBJECTS: dict[str, type[Subject]] = {
    "rmax": RMax,
    "fictitious_play": FictitiousPlay,
    "random": UniformRandom,
    "equilibrium": EquilibriumPlayer,
    "best_response": BestResponseOracle,
    "simulated": SimulatedSubject,
    "believer": Believer,
    "llm": LLMSubject,
}
"""The kinds of subject that ship here; extensions and `register_subject` bring more."""


def subject_class(kind: Any, where: str = "") -> type[Subject]:
    """Return a kind of subject by name; an extension that brings it is loaded.

    Raises
    ------
    TomevalError
        An unknown name, with the near match, or an extension that is not installed.
    """
    if not isinstance(kind, str):
        raise unknown("subject", kind, SUBJECTS, where)
    return cast("type[Subject]", find("subjects", kind, "subject", where, SUBJECTS))


def all_subjects() -> dict[str, type[Subject]]:
    """Return every kind of subject by name, with those of extensions that can be loaded."""
    return SUBJECTS | parts("subjects")


_Class = TypeVar("_Class", bound=type[Subject])


def register_subject(name: str) -> Callable[[_Class], _Class]:
    """Register a kind of subject, a subclass of `Subject`, under the name that experiments write.

    Its options are the keyword arguments of its ``__init__`` after the seat. It is played one
    episode at a time.

    Raises
    ------
    TomevalError
        The name is taken or cannot be shown.

    Examples
    --------
    >>> from tomeval.core.outcomes import Decision
    >>> @register_subject("stubborn")
    ... class Stubborn(Subject):
    ...     def act(self, observation):
    ...         return Decision(0)
    ...
    ...     def predict(self, observation, own_action):
    ...         return Decision(0)
    >>> subject_class("stubborn").__name__
    'Stubborn'
    """

    def add(made: _Class) -> _Class:
        register("subjects", name, made)
        return made

    return add
