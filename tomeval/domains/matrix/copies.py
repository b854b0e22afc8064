"""Episodes that are certain copies of one another, because nothing in them is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.core.extensions import part
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.subject_specs import PartnerPlayer
from tomeval.domains.matrix.subjects import SUBJECTS, LLMSubject
from tomeval.domains.matrix.subjects.llm import SubjectOptions
from tomeval.models import is_served, model_name
from tomeval.strategies import recorded_strategy


def only_partner_drawn(setup: Setup) -> bool:
    """Tell whether an episode of a language model depends on which partner it drew, and no more.

    So it is if the partners are deterministic and the model is asked in a way that leaves nothing
    to chance: labels are scored and the most probable one is taken, the order of options is fixed,
    and what is written is written at temperature 0 by a model of this machine (served ones do not
    repeat themselves for certain, and a script may do anything). Where answers can be invalid, they
    must not become random actions.

    Equal up to the rounding of the backend, and but for ties of the most probable labels, which are
    drawn: they show in the answers only, see `tomeval.runs.runner`. Where a player sits in the
    partner's seat, this must hold for both.
    """
    if isinstance(setup.partners, PartnerPlayer):
        return _nothing_drawn(setup) and _nothing_drawn(setup.other)
    if not all(partner.is_deterministic for partner in setup.tables.partners):
        return False
    return _nothing_drawn(setup)


def _nothing_drawn(setup: Setup) -> bool:
    """Tell whether a language model leaves nothing to chance; see `only_partner_drawn`."""
    # None in a run with a subject from outside that is not loaded
    kind = SUBJECTS.get(setup.kind) or part("subjects", setup.kind)
    if kind is None or not issubclass(kind, LLMSubject):
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


def each_once(setup: Setup) -> bool:
    """Tell whether each distinct episode is played once: the first one of each partner.

    Partners must have equal weights. The plain mean over distinct episodes is then without bias,
    and exact if every partner was drawn. With unequal weights it would be neither, so all episodes
    are played: they are a sample of the partners, and the usual mean and interval hold.
    """
    if isinstance(setup.partners, PartnerSet):
        weights = setup.partners.weights
        if max(weights) - min(weights) >= 1e-9:
            return False
    return only_partner_drawn(setup)


def originals(setup: Setup, count: int) -> list[int]:
    """Return which of the first `count` episodes are to be played: all, or the distinct ones."""
    if not each_once(setup):
        return list(range(count))
    _, first = np.unique(setup.draw_partners(0, count), return_index=True)
    distinct: list[int] = np.sort(first).tolist()
    return distinct


def _option(setup: Setup, name: str) -> Any:
    return setup.options.get(name, getattr(SubjectOptions, name))
