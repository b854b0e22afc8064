"""Measures that only some cells have data for, in runs that mix such cells with others."""

from __future__ import annotations

import numpy as np
import pytest
from support import scripts

import tomeval
from tomeval.models.base import ScoreRequest
from tomeval.runs.analyses import analyses_of
from tomeval.runs.results import Run

SUBJECTS = [
    {"name": "tabular", "kind": "rmax"},
    {"name": "plain", "strategy": "QA"},
    {"name": "scored", "strategy": "LM"},
    {"name": "drawn", "strategy": "QA", "draws": 3},
    {"name": "told", "strategy": "QA + Belief 50% (own)"},
    {"name": "writes", "strategy": "CoT"},
    {"name": "other order", "strategy": "QA", "option_order": "shuffled"},
]
SHARES = {"compliance_right_percent", "compliance_wrong_percent"}


def answer(request):
    """Name the same label always."""
    if isinstance(request, ScoreRequest):
        return [-0.1, *(-3.0 for _ in request.labels[1:])]
    return "The other player will choose F.\nFinal answer: J"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with cells with and without the data of every group."""
    path = tmp_path_factory.mktemp("groups") / "run"
    experiment = {
        **{"games": "RPS", "labels": "neutral", "horizon": 6, "episodes": 2, "seed": 1},
        "partners": [{"switch": "single_action", "at": 3}, "tit_for_tat", {"kind": "random"}],
        **{"model": "scripted:same", "subjects": SUBJECTS},
    }
    with scripts(same=answer):
        tomeval.run(experiment, path).close()
    return path


def test_a_measure_is_a_share_in_all_cells_or_in_none(folder) -> None:
    with Run(folder) as run:
        brought = analyses_of(run.domain, run.store)
        assert {*brought} == {"adaptation", "planted", "probabilistic"}
        for name, group in brought.items():
            some = np.zeros(len(run.cells), bool)
            for measure in group.measures:
                totals = [cell.totals(measure.name) for cell in run.cells]
                assert {one.share for one in totals} == {measure.name in SHARES}, measure.name
                some |= [bool(np.isfinite(one.values).any()) for one in totals]
            assert some.any()
            assert not some.all() or name == "adaptation"
