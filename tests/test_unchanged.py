"""Every request of known plays and every column of what commands print, as recorded before.

A prompt, a seed, a group or a sampling setting that changes by one character moves published rows.
A deliberate change is recorded anew: ``python tests/recording.py``. A new column is no change.
"""

from __future__ import annotations

import json

import pytest
from recording import FILE, LONG, experiment_cases, request_cases, same

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
REQUESTS, EXPERIMENTS = request_cases(), experiment_cases()


def test_every_case_is_recorded() -> None:
    assert set(RECORDED["requests"]) == set(REQUESTS)
    assert set(RECORDED["experiments"]) == set(EXPERIMENTS)


@pytest.mark.parametrize("prefix", sorted({name.partition(":")[0] for name in REQUESTS}))
def test_requests(prefix: str) -> None:
    asked = {name: case() for name, case in REQUESTS.items() if name.startswith(f"{prefix}:")}
    assert asked == {name: RECORDED["requests"][name] for name in asked}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EXPERIMENTS]
)
def test_what_commands_print_of_shipped_experiments(name: str) -> None:
    recorded = RECORDED["experiments"][name]
    printed = EXPERIMENTS[name]()
    changed = [
        f"{what}: {column}"
        for what, columns in recorded.items()
        for column, before in columns.items()
        if not same(before, printed.get(what, {}).get(column))
    ]
    assert not changed
