"""What is measured: learners, known policies and, joined to a model, prompting strategies."""

from tomeval.subjects.base import (
    INVALID_REASONS,
    VALID,
    Answer,
    Decision,
    Door,
    Invalid,
    Seat,
    Subject,
)
from tomeval.subjects.llm import LLMSubject
from tomeval.subjects.simulated import (
    BestResponseOracle,
    EquilibriumPlayer,
    SimulatedSubject,
    UniformRandom,
)
from tomeval.subjects.tabular import FictitiousPlay, RMax

SUBJECTS: dict[str, type[Subject]] = {
    "rmax": RMax,
    "fictitious_play": FictitiousPlay,
    "random": UniformRandom,
    "equilibrium": EquilibriumPlayer,
    "best_response": BestResponseOracle,
    "simulated": SimulatedSubject,
    "llm": LLMSubject,
}
"""Every kind of subject an experiment can name. Add your own class under a new name."""

__all__ = [
    "INVALID_REASONS",
    "SUBJECTS",
    "VALID",
    "Answer",
    "BestResponseOracle",
    "Decision",
    "Door",
    "EquilibriumPlayer",
    "FictitiousPlay",
    "Invalid",
    "LLMSubject",
    "RMax",
    "Seat",
    "SimulatedSubject",
    "Subject",
    "UniformRandom",
]
