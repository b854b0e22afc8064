"""A key that is none, in every table of the files that people write: one line that names it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from support import ROOT

from tomeval.core.errors import TomevalError
from tomeval.play.plan import plan_rows
from tomeval.runs.experiment import make_experiment

EXPERIMENTS = sorted([*ROOT.glob("experiments/*.toml"), *ROOT.glob("examples/experiment/*/*.toml")])
NAMES = ("games", "players")
"""Tables whose keys are names that people give."""


def tables(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where the tables of a file are."""
    if isinstance(value, dict):
        yield at
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(one, (*at, key))


def table_at(data: Any, at: tuple[str | int, ...]) -> Any:
    for key in at:
        data = data[key]
    return data


def refused(data: dict[str, Any], load: Any, seen: set[Any]) -> int:
    """Check that each table refuses an unknown key and, with its match, each key misspelt.

    Tables of one place with the same keys and kind are tried once: the tried ones are in `seen`.
    """
    count = 0
    for at in tables(data):
        here = table_at(data, at)
        alike = (at[:1], len(at), *here, str(here.get("kind", "")))
        if alike in seen:
            continue
        seen.add(alike)
        wrong = {"x_unknown": ("x_unknown", 1)}
        if at not in [(name,) for name in NAMES]:
            wrong |= {key: (f"{key}z", value) for key, value in here.items()}
        for key, (typed, value) in wrong.items():
            changed = copy.deepcopy(data)
            table_at(changed, at)[typed] = value
            with pytest.raises(TomevalError) as caught:
                load(changed)
            said, count = str(caught.value), count + 1
            assert "\n" not in said
            assert typed in said, (at, said)
            assert key == "x_unknown" or f"did you mean '{key}'" in said, (at, said)
    return count


ASKED = {"name": "openai:m@http://127.0.0.1:9/v1", "timeout": 5.0}
SEATED = {"strategy": {"ROLE": "QA"}, "max_tokens": {"qa": 9}}
SMALL: list[dict[str, Any]] = [
    {
        "games": ["IPD"],
        "subjects": [
            {"strategy": {"context": "full", "answer": "qa"}, "max_tokens": {"qa": 9}},
            {"strategy": "CoT", "model": {"name": "pocket", "device": "cpu"}},
        ],
        "model": ASKED,
    },
    {"games": ["RPS"], "subjects": [{"strategy": "QA"}], "model": ASKED},
    {
        **{"domain": "decrypto", "model": {"name": "pocket", "device": "cpu"}},
        "players": {"m": {"model": ASKED}, "n": {}, "chance": {"kind": "random"}},
        "pairings": [{"encoder": "chance", "decoder": ["m", "n"], "interceptor": "chance"}],
        **{**SEATED, "strategy": {"decoder": "QA"}},
    },
    {
        **{"domain": "arena", "model": {"name": "pocket", "device": "cpu"}},
        "players": {"m": {"model": ASKED}, "n": {}, "chance": {"kind": "random"}},
        "lineups": [{"game": "ipd3", "subject": ["m", "n"], "others": "chance"}],
        **{**SEATED, "strategy": {"answer": "qa"}},
    },
]
"""What no shipped file has."""


@pytest.mark.parametrize("domain", ["matrix", "decrypto", "arena"])
def test_every_table_of_an_experiment_refuses_what_it_does_not_know(domain) -> None:
    seen: set[Any] = set()
    count = 0
    for path in sorted(EXPERIMENTS, key=lambda path: path.stat().st_size):  # long ones take long
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if data.get("domain", "matrix") == domain:
            if isinstance(model := data.get("model"), dict):
                data["model"] = model["name"]  # the next test is of tables of models
            load = partial(make_experiment, base=path.parent, where=path.name)
            load(copy.deepcopy(data))
            count += refused(data, load, seen)
    assert count > 50


@pytest.mark.parametrize("data", SMALL, ids=lambda data: data.get("domain", "matrix"))
def test_so_do_tables_of_models_before_anything_is_played(data) -> None:
    def load(changed: dict[str, Any]) -> None:
        plan_rows(make_experiment(changed))

    load(copy.deepcopy(data))
    assert refused(data, load, set()) > 4
