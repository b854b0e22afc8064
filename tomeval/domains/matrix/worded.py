"""How the questions to a language model are worded in matrix games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.core.once import once_each
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.domains.matrix.subjects.llm import SubjectOptions
from tomeval.runs.capabilities import Worded
from tomeval.runs.store import Store
from tomeval.strategies.options import SHARED, split_wording

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


@once_each
def has_wordings(store: Store) -> bool:
    """Tell whether a run asks one model in one strategy and game in two wordings."""
    seen: dict[tuple[Any, ...], Mapping[str, str]] = {}
    for _, definition in store.cells():
        said = worded(definition)
        if said is not None:
            same = (said.player, said.model, definition["game"]["name"])
            place = (*same, definition["partners"]["name"], definition["horizon"])
            if seen.setdefault(place, said.options) != said.options:
                return True
    return False
