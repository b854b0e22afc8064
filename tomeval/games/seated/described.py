"""What lists, reports and comparisons say of players."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tomeval.runs.capabilities import Worded
from tomeval.runs.columns import as_text
from tomeval.strategies.options import WITH_MEMORY, split_wording


def player_row(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a player of a run with its options; a seat played from a record has no options."""
    options = dict(data.get("options", {}))
    return {
        "player": data["name"],
        "kind": data.get("kind", ""),
        "model": data.get("model", ""),
        "strategy": as_text(options.pop("strategy", "")),
        "options": ", ".join(f"{key} {as_text(value)}" for key, value in options.items()),
    }


def worded(player: Mapping[str, Any]) -> Worded | None:
    """Return how a player of a run is asked; None without a model."""
    if not player["model"]:
        return None
    strategy = player["options"].get("strategy", "QA")
    shown = strategy if isinstance(strategy, str) else json.dumps(strategy)
    name, wording = split_wording(player["options"], shown, WITH_MEMORY)
    return Worded(name, player["model"], wording, WITH_MEMORY)
