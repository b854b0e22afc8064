"""Cells in which nothing is drawn: they have as many episodes as they have partners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.subject_specs import PartnerPlayer
from tomeval.games.matrix.subjects import LLMSubject, subject_class
from tomeval.games.matrix.subjects.llm import SubjectOptions
from tomeval.models import is_served, model_name
from tomeval.strategies import recorded_strategy

if TYPE_CHECKING:
    from tomeval.games.matrix.play import Setup


def nothing_drawn(setup: Setup) -> bool:
    """Tell whether nothing but the partner is left to chance in an episode of a language model.

    Then a cell has one episode for each of its partners, in their order: a further one would be a
    copy. So it is if the partners are deterministic and equally likely, and the model is asked in a
    way that leaves nothing to chance: labels are scored and the most probable one is taken, the
    order of options is fixed, and what is written is written at temperature 0 by a model of this
    machine (served ones do not repeat themselves for certain, and a script may do anything). Where
    answers can be invalid, they must not become random actions.

    Equal up to the rounding of the backend, and but for ties of the most probable labels, which are
    drawn. Where a player sits in the partner's seat, this must hold for both.
    """
    if isinstance(setup.partners, PartnerPlayer):
        return _by_rule(setup) and _by_rule(setup.other)
    weights = setup.partners.weights
    equal = max(weights) - min(weights) < 1e-9
    return (
        equal and all(one.is_deterministic for one in setup.partners.partners) and _by_rule(setup)
    )


def _by_rule(setup: Setup) -> bool:
    """Tell whether a language model leaves nothing to chance; see `nothing_drawn`."""
    try:
        kind = subject_class(setup.kind)
    except TomevalError:  # in a run whose subject is of an extension that is not here
        return False
    if not issubclass(kind, LLMSubject):
        return False
    spec = _option(setup, "model")
    # Sets without a model are made in tests and examples only, and sit down with a script.
    if not spec or model_name(spec).startswith("scripted:"):
        return False
    if _option(setup, "option_order") == "shuffled":
        return False
    name = _option(setup, "strategy")
    strategy = recorded_strategy(name)
    if strategy is None:  # a plug-in's, in a run that is only read: by its name
        return "LM" in str(name).split() and _option(setup, "decide") == "argmax"
    if strategy.part.belief is not None:  # what is stated is drawn for every step
        return False
    if strategy.scored and _option(setup, "decide") != "argmax":
        return False
    if strategy.scores and _option(setup, "predict") != "argmax":
        return False
    served, greedy = is_served(spec), _option(setup, "temperature") == 0
    if setup.on_invalid == "random" and (strategy.writes or served):
        return False
    return not strategy.writes or (greedy and not served)


def _option(setup: Setup, name: str) -> Any:
    return setup.options.get(name, getattr(SubjectOptions, name))
