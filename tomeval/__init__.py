"""tomeval: measure functional and literal theory of mind on the same steps, exactly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from tomeval.api.opened import Run as Run
    from tomeval.api.opened import run as run
    from tomeval.comparing.comparison import compare as compare
    from tomeval.core.errors import TomevalError as TomevalError
    from tomeval.core.outcomes import Decision as Decision
    from tomeval.core.outcomes import Invalid as Invalid
    from tomeval.extensions.environments import TextEnvironment as TextEnvironment
    from tomeval.extensions.environments import environment as environment
    from tomeval.extensions.inspect.comparing import compare_logs as compare_logs
    from tomeval.extensions.inspect.stopping import StopWhenDecided as StopWhenDecided
    from tomeval.games.matrix.bounds import bounds as bounds
    from tomeval.games.matrix.games import MatrixGame as MatrixGame
    from tomeval.games.matrix.games import get_game as get_game
    from tomeval.games.matrix.optima import best_response as best_response
    from tomeval.games.matrix.optima import relevance as relevance
    from tomeval.games.matrix.optima import worst_response as worst_response
    from tomeval.games.matrix.partner_specs import get_partner as get_partner
    from tomeval.games.matrix.partner_specs import get_partner_set as get_partner_set
    from tomeval.games.matrix.partners import Partner as Partner
    from tomeval.games.matrix.partners import PartnerSet as PartnerSet
    from tomeval.games.matrix.recording import import_log as import_log
    from tomeval.games.matrix.subjects import SUBJECTS as SUBJECTS
    from tomeval.games.matrix.subjects import Subject as Subject
    from tomeval.games.matrix.subjects import register_subject as register_subject
    from tomeval.games.matrix.subjects.simulated import expected as expected
    from tomeval.models import register_model as register_model
    from tomeval.runs.analyses import register_measure as register_measure
    from tomeval.runs.experiment import Experiment as Experiment
    from tomeval.runs.experiment import load_experiment as load_experiment
    from tomeval.runs.experiment import make_experiment as make_experiment
    from tomeval.strategies.compose import ADVICE as ADVICE
    from tomeval.strategies.compose import ANSWERS as ANSWERS
    from tomeval.strategies.compose import CONTEXTS as CONTEXTS
    from tomeval.strategies.parts import register_advice as register_advice

_HOME = {
    "api.opened": ("Run", "run"),
    "comparing.comparison": ("compare",),
    "core.errors": ("TomevalError",),
    "core.outcomes": ("Decision", "Invalid"),
    "games.matrix.bounds": ("bounds",),
    "games.matrix.subjects.simulated": ("expected",),
    "games.matrix.games": ("MatrixGame", "get_game"),
    "games.matrix.optima": ("best_response", "relevance", "worst_response"),
    "games.matrix.partner_specs": ("get_partner", "get_partner_set"),
    "games.matrix.partners": ("Partner", "PartnerSet"),
    "games.matrix.subjects": ("SUBJECTS", "Subject", "register_subject"),
    "games.matrix.recording": ("import_log",),
    "extensions.environments": ("TextEnvironment", "environment"),
    "extensions.inspect.comparing": ("compare_logs",),
    "extensions.inspect.stopping": ("StopWhenDecided",),
    "models": ("register_model",),
    "runs.analyses": ("register_measure",),
    "runs.experiment": ("Experiment", "load_experiment", "make_experiment"),
    "strategies.compose": ("ADVICE", "ANSWERS", "CONTEXTS"),
    "strategies.parts": ("register_advice",),
}
_MODULES = {name: f"tomeval.{module}" for module, names in _HOME.items() for name in names}
__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``import tomeval`` is instant."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tomeval' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
