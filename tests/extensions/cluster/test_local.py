"""A local model on replicas: probabilities are those of one process, up to rounding."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fake_engine import FakeEngine
from support import dump

from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

pytestmark = pytest.mark.usefixtures("one_thread")

POCKET = {
    "games": "RPS",
    "partners": ["single_action", "tit_for_tat"],
    "subjects": [{"strategy": "LM"}],
    "model": "pocket",
    "horizon": 3,
    "episodes": 2,
}


def scores(tables):
    found = {}
    for cell, episode, call, *_, record in tables["calls"]:
        found[cell, episode, call] = json.loads(record)["scores"]["logprobs"]
    return found


def test_probabilities_do_not_depend_on_replicas(tmp_path) -> None:
    pytest.importorskip("transformers")
    made = make_experiment(POCKET)
    run_experiment(made, tmp_path / "one")
    one = dump(tmp_path / "one")
    run_experiment(made, tmp_path / "many", engine=FakeEngine())
    many = dump(tmp_path / "many")
    assert many["meta"] == one["meta"]
    expected, found = scores(one), scores(many)
    assert found.keys() == expected.keys()
    assert len(found) >= 10
    for place, logprobs in expected.items():
        assert np.allclose(np.exp(found[place]), np.exp(logprobs), atol=1e-5), place
