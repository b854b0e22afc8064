"""Cells and measures chosen by name: one rule for tables, figures, comparisons and reports."""

import pytest

import tomeval
from tomeval.plots.registry import draw_one
from tomeval.report.page import write_report
from tomeval.runs import selection
from tomeval.runs.domain import get_domain
from tomeval.runs.measures import SCORE_PARTS, SCORES
from tomeval.runs.outside import with_all_extensions
from tomeval.runs.selection import choose_measures, first_part


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


def test_of_a_large_run_a_part_is_shown_that_where_names(folder, monkeypatch):
    with tomeval.Run(folder) as run:
        assert first_part(run) == (run, "")
        monkeypatch.setattr(selection, "MANY", 5)
        monkeypatch.setattr(selection, "SHOWN", 2)
        part, said = first_part(run)
        assert said.startswith("2 of the 6 cells are shown: those with game=RPS and subject=random")
        assert said.endswith("; choose others with --where")
        texts = said.split("those with ")[1].split("; ")[0].split(" and ")
        same = tomeval.Run(folder, texts)
        assert [c.number for c in same.cells] == [c.number for c in part.cells] == [0, 1]
        same.close()
        assert all(said in one.caption for one in draw_one(run, "forest"))
        page = write_report(run, folder.parent / "page.html").read_text()
        assert said in page
        assert "simulated(p=0.5" in page
        assert "simulated(p=1.0" not in page
        monkeypatch.setattr(selection, "SHOWN", 1)
        assert len(first_part(run)[0].cells) == 1


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (["gme=RPS"], "unknown column 'gme' (did you mean 'game'?)"),
        (["game=RSP"], "no cell has the game 'RSP' (did you mean 'RPS'?)"),
        (["game"], "write COLUMN=VALUE"),
        (["game=RPS", "game!=RPS"], "no cell has game=RPS and game!=RPS"),
    ],
)
def test_what_no_cell_has_is_an_error(folder, where, said):
    with pytest.raises(tomeval.TomevalError) as error:
        chosen(folder, *where)
    assert said in str(error.value)


def test_a_measure_is_known_by_name_heading_and_synonym(folder):
    with tomeval.Run(folder) as run:
        asked = ["ΔFunctional/T", "regret", "tom", "ToM %", "reward"]
        assert choose_measures(run.measures, asked) == [
            "delta_functional_per_step",
            "tom_percent",
            "reward_per_step",
        ]
        with pytest.raises(tomeval.TomevalError, match="several metrics begin like this: delta_"):
            choose_measures(run.measures, ["delta"])
        with pytest.raises(tomeval.TomevalError, match="did you mean 'reward_per_step'"):
            choose_measures(run.measures, ["rewad_per_step"])


@pytest.mark.parametrize("name", ["matrix", "decrypto", "arena"])
def test_every_measure_has_three_names_of_its_own(name):
    domain = get_domain(name)
    with_all_extensions(domain)
    measures = domain.measures
    for measure in measures.values():
        scored = measure.name in (
            *SCORES,
            *SCORE_PARTS,
        )  # from 0 at chance to 100, whatever the unit
        assert scored or ("%" in measure.heading) == measure.name.endswith("_percent")
        for asked in (measure.name, measure.heading, measure.short):
            assert choose_measures(measures, [asked]) == [measure.name]
    assert len({measure.short for measure in measures.values()}) == len(measures)


def test_short_names_follow_from_columns():
    measures = get_domain("matrix").measures
    short = {n: measures[n].short for n in ("stepwise_regret_per_step", "reward_per_step")}
    assert list(short.values()) == ["stepwise_regret", "reward"]
    assert measures["delta_functional_per_step"].short == "regret"
    assert get_domain("arena").measures["delta_functional_low_per_decision"].short == "regret_low"
