"""Cells and measures chosen by name: one rule for tables, figures, comparisons and reports."""

import pytest

import tomeval
from tomeval.runs.analyses import known_measures
from tomeval.runs.domain import get_domain
from tomeval.runs.measures import is_score
from tomeval.runs.selection import choose_measures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("selection") / "run"
    experiment = {
        "games": ["RPS", "IPD"],
        "subjects": ["random", {"kind": "simulated", "p": [0.5, 1.0], "q": 1.0}],
        "partners": ["single_action"],
        "episodes": 2,
        "horizon": 5,
    }
    tomeval.run(experiment, out).close()
    return out


def chosen(folder, *where):
    with tomeval.Run(folder, where) as run:
        return [(cell.columns["subject"], cell.columns["game"]) for cell in run.cells]


def test_conditions_hold_together_and_keep_the_order(folder):
    assert len(chosen(folder)) == 6
    sims = [name for name, game in chosen(folder, "game=RPS") if name != "random"]
    assert sims == ["simulated(p=0.5, q=1.0)", "simulated(p=1.0, q=1.0)"]
    assert chosen(folder, "game=IPD", f"subject={sims[1]}, random") == [
        ("random", "IPD"),
        (sims[1], "IPD"),
    ]
    assert chosen(folder, "subject!=simulated*") == [("random", "RPS"), ("random", "IPD")]
    assert chosen(folder, "T=5", "game!=RPS") == chosen(folder, "horizon=5", "game=IPD")


def test_a_measure_is_known_by_name_heading_and_synonym(folder):
    with tomeval.Run(folder) as run:
        asked = ["ΔFunctional/T", "regret", "tom", "ToM %", "reward"]
        assert choose_measures(run.measures, asked) == [
            "delta_functional_per_step",
            "tom_percent",
            "reward_per_step",
        ]
        with pytest.raises(tomeval.TomevalError, match="did you mean 'reward_per_step'"):
            choose_measures(run.measures, ["rewad_per_step"])


@pytest.mark.parametrize("name", ["matrix", "decrypto", "arena"])
def test_every_measure_has_three_names_of_its_own(name):
    measures = known_measures(get_domain(name))
    for measure in measures.values():
        scored = is_score(measure.name)  # from 0 at chance to 100, whatever the unit
        assert scored or ("%" in measure.heading) == measure.name.endswith("_percent")
        for asked in (measure.name, measure.heading, measure.short):
            assert choose_measures(measures, [asked]) == [measure.name]
    assert len({measure.short for measure in measures.values()}) == len(measures)
