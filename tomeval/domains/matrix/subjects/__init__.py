"""What is measured: learners, known policies and, joined to a model, prompting strategies."""

from tomeval.domains.matrix.subjects.base import Subject
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
    "llm": LLMSubject,
    "person": Person,
}
"""Every kind of subject an experiment can name. Add your own class under a new name."""

__all__ = ["SUBJECTS", "LLMSubject", "Person", "Subject"]
