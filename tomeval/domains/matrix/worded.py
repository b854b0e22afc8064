"""How the questions to a language model are worded in matrix games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.domains.matrix.subject_specs import LLM
from tomeval.domains.matrix.subjects.llm import SubjectOptions
from tomeval.runs.capabilities import Worded
from tomeval.strategies.wording import SHARED, split_wording

LABELS = "labels"
OPTIONS = ("option_order", "goal", "literal_order", "examples")
"""Options of subjects that change what the model reads, and neither the game nor the strategy."""

WORDING = SHARED | {name: str(getattr(SubjectOptions, name)) for name in OPTIONS}


def worded(definition: Mapping[str, Any]) -> Worded | None:
    """Return how a cell's subject is asked, given the cell's definition; None: it is no model."""
    if definition["kind"] != LLM:
        return None
    player, said = split_wording(definition["options"], definition["strategy"], WORDING)
    return Worded(player, str(definition["model"]), {LABELS: definition["labels"]["name"], **said})
