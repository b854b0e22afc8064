"""Kinds of data that only some runs have: what extensions measure, and are loaded for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.core.once import once_each
from tomeval.games.matrix.scene import FRAME, PERSONAS
from tomeval.games.matrix.subject_specs import LLM
from tomeval.games.matrix.subjects.llm import SubjectOptions
from tomeval.runs.capabilities import Worded
from tomeval.runs.store import Store
from tomeval.strategies.options import SHARED, split_wording


@once_each
def has_changes(store: Store) -> bool:
    """Tell whether a partner of the run changes its policy within an episode; looked up once."""
    return any(
        "change" in table and table["change"]["step"] <= told["horizon"]
        for _, told in store.cells()
        for table in told["partners"]["tables"]
    )


@once_each
def has_fresh_games(store: Store) -> bool:
    """Tell whether a run has disguised games."""
    return any("disguise" in definition["game"] for _, definition in store.cells())


@once_each
def has_internal(store: Store) -> bool:
    """Tell whether the run's experiment asks for what activations hold; looked up once."""
    return any("internal" in definition for _, definition in store.cells())


LABELS = "labels"
OPTIONS = ("option_order", "goal", *PERSONAS, FRAME, "literal_order", "examples")
"""Options of subjects that change what the model reads, and neither the game nor the strategy."""

WORDING = SHARED | {name: str(getattr(SubjectOptions, name)) for name in OPTIONS}


def worded(definition: Mapping[str, Any]) -> Worded | None:
    """Return how a cell's subject is asked, given the cell's definition; None: it is no model."""
    if definition["kind"] != LLM:
        return None
    player, said = split_wording(definition["options"], definition["strategy"], WORDING)
    labels = {LABELS: str(definition["labels"]["name"])}
    return Worded(player, str(definition["model"]), labels | said, WORDING)
