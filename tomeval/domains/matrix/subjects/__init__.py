"""What is measured: learners, known policies and, joined to a model, prompting strategies."""

from collections.abc import Callable
from typing import TypeVar

from tomeval.core.plugins import check_new
from tomeval.domains.matrix.subjects.base import Subject
from tomeval.domains.matrix.subjects.believer import Believer
from tomeval.domains.matrix.subjects.detector import Detector
from tomeval.domains.matrix.subjects.forecaster import Forecaster
from tomeval.domains.matrix.subjects.laddered import Laddered
from tomeval.domains.matrix.subjects.llm import LLMSubject
from tomeval.domains.matrix.subjects.person import Person
from tomeval.domains.matrix.subjects.simulated import (
    BestResponseOracle,
    EquilibriumPlayer,
    SimulatedSubject,
    UniformRandom,
)
from tomeval.domains.matrix.subjects.tabular import FictitiousPlay, RMax

SUBJECTS: dict[str, type[Subject]] = {
    "rmax": RMax,
    "fictitious_play": FictitiousPlay,
    "random": UniformRandom,
    "equilibrium": EquilibriumPlayer,
    "best_response": BestResponseOracle,
    "simulated": SimulatedSubject,
    "detector": Detector,
    "forecaster": Forecaster,
    "believer": Believer,
    "laddered": Laddered,
    "llm": LLMSubject,
    "person": Person,
}
"""Every kind of subject an experiment can name; `register_subject` adds your own."""

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
    >>> SUBJECTS.pop("stubborn").__name__
    'Stubborn'
    """

    def register(made: _Class) -> _Class:
        check_new("subject", name, SUBJECTS, made)
        SUBJECTS[name] = made
        return made

    return register


__all__ = ["SUBJECTS", "LLMSubject", "Person", "Subject", "register_subject"]
