"""CPU seconds of plans of shipped experiments, beside a made-up play for each step that is shown.

python benchmarks/plan_speed.py

No model is asked or timed; both sides run in one process, and are to give the same rows.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from unittest import mock

from tomeval.core.resources import shipped
from tomeval.report.tables import render
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import load_experiment
from tomeval.runs.plan import plan_rows

SHOWN = 8


def apart(
    previews: Any, cell: Any, seat: str, wanted: dict[str, list[int]], note: str = ""
) -> dict[Any, Any]:
    """Play once for each step."""
    found: dict[Any, Any] = {}
    for form, steps in wanted.items():
        for step in steps:
            found |= previews(cell, seat, {form: [step]}, note)
    return found


def main() -> None:
    """Print the plans that take longest."""
    rows: list[dict[str, Any]] = []
    for path in shipped("experiments").glob("*.toml"):
        experiment = load_experiment(path)
        domain = get_domain(experiment.domain)
        plan_rows(experiment)  # templates are read
        began = time.process_time()
        once = plan_rows(experiment)
        took = time.process_time() - began
        began = time.process_time()
        with mock.patch.object(domain.describe, "prompts", partial(apart, domain.describe.prompts)):
            assert repr(plan_rows(experiment)) == repr(once)  # costs may be NaN
        slow = time.process_time() - began
        row = {"experiment": f"`{path.stem}`", "cells": len(once), "plan, CPU s": round(took, 2)}
        rows.append(row | {"step by step": round(slow, 2), "ratio": f"{slow / took:.1f}"})
    rows.sort(key=lambda row: -row["plan, CPU s"])
    print(render(rows[:SHOWN], "markdown"))


if __name__ == "__main__":
    main()
