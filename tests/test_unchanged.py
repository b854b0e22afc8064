"""Every request of known plays and every column of what commands print, as recorded before.

A prompt, a seed, a group or a sampling setting that changes by one character moves published rows.
A deliberate change is recorded anew: ``python tests/recording.py``. A new column is no change.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from recording import FILE, QUICK, experiment_case, experiment_cases, request_cases, same, what

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
REQUESTS, EXPERIMENTS = request_cases(), experiment_cases()


def test_every_case_is_recorded() -> None:
    assert set(RECORDED["requests"]) == set(REQUESTS)
    assert set(RECORDED["experiments"]) == set(EXPERIMENTS)


@pytest.mark.parametrize("prefix", sorted({name.partition(":")[0] for name in REQUESTS}))
def test_requests(prefix: str) -> None:
    asked = {name: case() for name, case in REQUESTS.items() if name.startswith(f"{prefix}:")}
    assert asked == {name: RECORDED["requests"][name] for name in asked}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if QUICK.get(name) != ()])
def test_what_commands_print_of_shipped_experiments(name: str) -> None:
    assert not changed(RECORDED["experiments"][name], EXPERIMENTS[name]())


@pytest.mark.parametrize("name", QUICK)
def test_what_some_commands_print(name: str) -> None:
    wanted = QUICK[name]
    recorded = {
        command: columns
        for command, columns in RECORDED["experiments"][name].items()
        if not wanted or what(command.split()) in wanted
    }
    assert {what(command.split()) for command in recorded} >= set(wanted)
    assert not changed(recorded, experiment_case(name, wanted))


def changed(recorded: dict[str, Any], printed: dict[str, Any]) -> list[str]:
    """Return every column that is not as it was recorded."""
    return [
        f"{command}: {column}"
        for command, columns in recorded.items()
        for column, before in columns.items()
        if not same(before, printed.get(command, {}).get(column))
    ]
