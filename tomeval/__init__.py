"""tomeval: measure functional and literal theory of mind on the same steps, exactly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tomeval.api import bounds as bounds
    from tomeval.api import run as run
    from tomeval.api import score as score
    from tomeval.auditing import audit as audit
    from tomeval.calibration import expected as expected
    from tomeval.comparing import compare as compare
    from tomeval.errors import TomevalError as TomevalError
    from tomeval.experiment import Experiment as Experiment
    from tomeval.experiment_files import load_experiment as load_experiment
    from tomeval.experiment_files import make_experiment as make_experiment
    from tomeval.games import MatrixGame as MatrixGame
    from tomeval.games import get_game as get_game
    from tomeval.partner_specs import get_partner as get_partner
    from tomeval.partner_specs import get_partner_set as get_partner_set
    from tomeval.partners import Partner as Partner
    from tomeval.partners import PartnerSet as PartnerSet
    from tomeval.planning import best_response as best_response
    from tomeval.planning import relevance as relevance
    from tomeval.planning import worst_response as worst_response
    from tomeval.results import Run as Run
    from tomeval.subjects import SUBJECTS as SUBJECTS
    from tomeval.subjects import Decision as Decision
    from tomeval.subjects import Invalid as Invalid
    from tomeval.subjects import Subject as Subject

_HOME = {
    "bounds": "api",
    "run": "api",
    "score": "api",
    "audit": "auditing",
    "expected": "calibration",
    "compare": "comparing",
    "TomevalError": "errors",
    "Experiment": "experiment",
    "load_experiment": "experiment_files",
    "make_experiment": "experiment_files",
    "MatrixGame": "games",
    "get_game": "games",
    "get_partner": "partner_specs",
    "get_partner_set": "partner_specs",
    "Partner": "partners",
    "PartnerSet": "partners",
    "best_response": "planning",
    "relevance": "planning",
    "worst_response": "planning",
    "Run": "results",
    "SUBJECTS": "subjects",
    "Decision": "subjects",
    "Invalid": "subjects",
    "Subject": "subjects",
}
__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that ``import tomeval`` is instant."""
    if name not in _HOME:
        raise AttributeError(f"module 'tomeval' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tomeval.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
