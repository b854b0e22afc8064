"""Comparisons of real run folders, held against numbers computed from exported episodes."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import scipy.stats
from paired_arrays import pairing_of
from support import edit, make_game, scripts

import tomeval
from tomeval.comparing.comparison import compare as compare_all
from tomeval.comparing.comparison import compare_pairs
from tomeval.core.errors import TomevalError
from tomeval.games.matrix.measures import METRICS
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.results import iterate_export
from tomeval.statistics.paired import holm, sign_flip_exact

SUBJECTS = [
    {"kind": "simulated", "name": "low", "p": 0.6, "q": 0.8},
    {"kind": "simulated", "name": "high", "p": 0.9, "q": 0.8},
    {"kind": "random"},
]
SWEEP = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "subjects": SUBJECTS,
    "horizon": 15,
    "episodes": 12,
    "seed": [1, 2],
}
SMALL = {**SWEEP, "games": "IPD", "partners": "tit_for_tat", "seed": 1}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "run"
    tomeval.run(SWEEP, folder).close()
    return folder


def compare(runs, *args, metrics=METRICS, **options):
    """Compare what every step adds to; ΔToM over T steps is there in some of these cells only."""
    return compare_all(runs, *args, metrics=metrics, **options)


def small(folder, **changes):
    tomeval.run({**SMALL, **changes}, folder, go_on=True).close()
    return folder


def share_ends(difference, half):
    """Return Student's interval of a difference of shares, which lies between -100 and 100.

    An end m solves (difference - m)² = half² (100² - m²) / (100² - difference²).
    """
    c = half**2 / (1e4 - difference**2)
    return sorted(np.roots([1 + c, -2 * difference, difference**2 - 1e4 * c]).real)


def episodes(folder):
    """Return metrics by (subject, game, partners), in order of seed and episode."""
    with tomeval.Run(folder) as run:
        columns, rows = iterate_export(run, "episodes")
        found: dict[tuple[str, ...], list[list[float]]] = {}
        at = {name: i for i, name in enumerate(columns)}
        for row in rows:
            key = tuple(row[at[name]] for name in ("subject", "game", "partners"))
            found.setdefault(key, []).append([row[at[name]] for name in METRICS])
    return {key: np.array(values) for key, values in found.items()}


def test_every_number_of_a_task_is_scipys(sweep) -> None:
    found = compare(sweep, "subject", "low", resamples=999)
    data = episodes(sweep)
    scope = found.scopes.index("IPD, tit_for_tat")
    x, y = data["high", "IPD", "tit_for_tat"], data["low", "IPD", "tit_for_tat"]
    level, names = found.levels.index("high"), list(METRICS)
    at = (scope, level)
    assert found.pairs[at] == 24
    assert found.difference[at] == pytest.approx((x - y).mean(axis=0))
    assert found.level_mean[at] == pytest.approx(x.mean(axis=0))
    assert found.baseline_mean[at] == pytest.approx(y.mean(axis=0))
    for m in (names.index("tom_percent"), names.index("delta_functional_per_step")):
        theirs = scipy.stats.ttest_rel(x[:, m], y[:, m])
        assert found.p_t[(*at, m)] == pytest.approx(theirs.pvalue)
        low, high = theirs.confidence_interval(0.95)
        if m == 0:
            low, high = share_ends((low + high) / 2, (high - low) / 2)
        assert found.t_low[(*at, m)] == pytest.approx(low)
        assert found.t_high[(*at, m)] == pytest.approx(high)


def test_over_all_tasks_tasks_count_the_same(sweep) -> None:
    found = compare(sweep, "subject", "low", resamples=999)
    assert found.scopes[0] == "all tasks"
    assert found.difference[0] == pytest.approx(found.difference[1:].mean(axis=0))
    assert (found.pairs[0] == 96).all()
    # four independent strata: variances of the tasks' means add
    data = episodes(sweep)
    tasks = [(game, p) for game in ("RPS", "IPD") for p in ("single_action", "tit_for_tat")]
    parts = [
        (data["high", *task][:, 0] - data["low", *task][:, 0]).var(ddof=1) / 24 for task in tasks
    ]
    error = np.sqrt(sum(parts)) / 4
    freedom = sum(parts) ** 2 / sum(part**2 / 23 for part in parts)
    half = scipy.stats.t.ppf(0.975, freedom) * error
    at = (0, found.levels.index("high"), 0)
    ends = found.t_low[at], found.t_high[at]
    assert ends == pytest.approx(share_ends(found.difference[at], half))
    assert found.family_size[at] == 2
    assert found.p_holm[0, :, 0] == pytest.approx(holm(found.p_permutation[0, :, 0]))
    assert any("ranges differ between games (IPD 10, RPS 2)" in note for note in found.notes)


def test_few_pairs_are_enumerated(tmp_path) -> None:
    folder = small(tmp_path / "run", episodes=3, games=["IPD", "RPS"])
    found = compare(folder, "subject", "low")
    data = episodes(folder)
    parts = [
        (data["high", game, "tit_for_tat"] - data["low", game, "tit_for_tat"]) / 6
        for game in ("IPD", "RPS")
    ]
    at = (0, found.levels.index("high"))
    assert found.p_permutation[at] == pytest.approx(sign_flip_exact(parts))
    alone = found.scopes.index("IPD, tit_for_tat"), at[1]
    assert found.p_permutation[alone] == pytest.approx(sign_flip_exact(parts[:1]))


def test_one_pair_has_a_difference_and_nothing_else(tmp_path) -> None:
    found = compare(small(tmp_path / "run", episodes=1), "subject", "low")
    assert np.isfinite(found.difference).all()
    for name in ("t_low", "p_t", "p_permutation", "p_holm", "effect_size"):
        assert np.isnan(getattr(found, name)).all(), name
    assert found.at("high", "tom_percent")["verdict"] == "untested"
    assert any("no intervals (" in note for note in found.notes)


def test_equal_subjects_are_identical(tmp_path) -> None:
    subjects = [
        {"kind": "best_response", "name": "one"},
        {"kind": "best_response", "name": "two"},
        {"kind": "random"},
    ]
    found = compare(small(tmp_path / "run", subjects=subjects), "subject", "one")
    at = (0, found.levels.index("two"))
    assert (found.difference[at] == 0).all()
    bounded = np.isin(METRICS, ("tom_percent", "self_consistency_percent"))
    assert (found.t_low[at][~bounded] == 0).all()
    # As many pairs say that few others can differ, and no more: a share q² / (n + q²), q of scipy.
    count = int(found.pairs[at])
    q = scipy.stats.t.ppf(0.975, count - 1)
    assert found.t_high[at][bounded] == pytest.approx(100 * q**2 / (count + q**2))
    assert (found.p_permutation[at] == 1).all()
    assert (found.p_t[at] == 1).all()
    assert (found.effect_size[at] == 0).all()
    assert found.at("two", "tom_percent")["verdict"] == "identical"


def test_tasks_of_equal_pairs_are_identical_together_even_if_one_has_a_single_pair() -> None:
    tasks = [(np.full((pairs, 1, 1), 5.0),) * 2 for pairs in (3, 1)]
    pairing = pairing_of(*tasks, metrics=["reward_per_step"])
    found = compare_pairs(pairing, margin=np.full(1, np.nan), resamples=99)
    said = [found.at("a", "reward_per_step", scope)["verdict"] for scope in range(3)]
    assert said == ["identical", "identical", "untested"]


def test_differences_that_never_vary(tmp_path) -> None:
    """Always wrong against always right: 100 points in every pair."""
    subjects = [
        {"kind": "simulated", "name": "right", "p": 1.0, "q": 1.0},
        {"kind": "simulated", "name": "wrong", "p": 0.0, "q": 1.0},
    ]
    folder = small(tmp_path / "run", subjects=subjects, episodes=30)
    found = compare(folder, "subject", "right", margins={"tom_percent": 1.0})
    at = (0, 0, METRICS.index("tom_percent"))
    assert found.difference[at] == found.t_low[at] == -100
    assert np.isnan([found.p_t[at], found.effect_size[at], found.p_equivalence[at]]).all()
    assert found.p_permutation[at] == pytest.approx(1 / 10_000)
    assert found.at("wrong", "tom_percent")["verdict"] == "lower"


def ended(statuses):
    """Return a change of lines that gives episodes another status."""

    def change(line):
        place = line["cell"], line["episode"]
        return line | {"status": statuses.get(place, line["status"])}

    return change


def test_voided_episodes_leave_their_pair(tmp_path) -> None:
    folder = small(tmp_path / "run")
    whole = episodes(folder)
    ends = {(0, 3): "void", (1, 3): "failed", (1, 5): "failed"}
    edit(folder, ended(ends))
    found = compare(folder, "subject", "low")
    at = (0, found.levels.index("high"))
    kept = [i for i in range(12) if i not in (3, 5)]
    x, y = (whole[name, "IPD", "tit_for_tat"][kept] for name in ("high", "low"))
    assert found.pairs[at] == 10
    assert found.unpaired[at] == 1  # the baseline's episode 5
    assert found.difference[at] == pytest.approx((x - y).mean(axis=0))
    assert any("complete episodes left out, as their counterpart" in note for note in found.notes)


def test_missing_cells_and_seeds_are_told(sweep, tmp_path) -> None:
    less = tmp_path / "less"
    tomeval.run({**SWEEP, "games": "IPD", "seed": 2, "subjects": [SUBJECTS[0]]}, less).close()
    more = tmp_path / "more"
    tomeval.run({**SWEEP, "subjects": SUBJECTS[1:]}, more).close()
    found = compare([more, less], "subject", "high")
    low = found.levels.index("low")
    assert found.covered[0].tolist() == [4, 2]
    assert found.pairs[0, low] == 24
    assert found.unpaired[0, low] == 24  # seed 1 of the two tasks, on the baseline's side
    note = next(note for note in found.notes if note.startswith("low: paired in 2 of 4 tasks"))
    assert "RPS, single_action" in note
    data, chosen = episodes(sweep), slice(12, 24)
    expected = np.mean(
        [
            data["low", "IPD", p][chosen] - data["high", "IPD", p][chosen]
            for p in ("single_action", "tit_for_tat")
        ],
        axis=(0, 1),
    )
    assert found.difference[0, low] == pytest.approx(expected)


def test_label_sets_share_their_episodes(tmp_path) -> None:
    """Two label sets of one game met the same partners: they are one sampling unit."""
    labels = list(tomeval.get_game("RPS").labels)[:2]
    folder = small(tmp_path / "run", games="RPS", labels=labels, partners="single_action")
    found = compare(folder, "subject", "low")
    assert found.pairs[:, 0].tolist() == [12, 12, 12]
    with tomeval.Run(folder) as run:
        cells = {
            (cell.definition["subject"], cell.labels.name): cell.metrics() for cell in run.cells
        }
    unit = np.mean(
        [cells["high", name]["tom_percent"] - cells["low", name]["tom_percent"] for name in labels],
        axis=0,
    )
    expected = scipy.stats.ttest_1samp(unit, 0)
    at = (0, found.levels.index("high"), METRICS.index("tom_percent"))
    assert found.p_t[at] == pytest.approx(expected.pvalue)
    across = compare(folder, "labels", labels[0], metrics=["tom_percent"])
    assert across.levels == (labels[1],)
    assert len(across.scopes) == 4  # all tasks, and three subjects


def test_margins_and_verdicts(tmp_path) -> None:
    subjects = [
        {"kind": "simulated", "name": "one", "p": 0.9, "q": 0.5},
        {"kind": "simulated", "name": "same", "p": 0.9, "q": 0.4},
        {"kind": "simulated", "name": "other", "p": 0.6, "q": 0.5},
    ]
    folder = small(tmp_path / "run", subjects=subjects, episodes=150, horizon=30)
    found = compare(folder, "subject", "one", margins={"tom_percent": 3.0})
    assert found.at("same", "tom_percent")["verdict"] == "equivalent"
    assert found.at("other", "tom_percent")["verdict"] == "lower"
    without = compare(folder, "subject", "one")
    assert without.at("same", "tom_percent")["verdict"] == "undecided"
    assert np.isnan(without.p_equivalence).all()


def test_refusals(sweep, tmp_path) -> None:
    def refused(message, *args, **options):
        with pytest.raises(TomevalError, match=message):
            compare(*args, **options)

    refused("did you mean 'low'", sweep, "subject", "lo")
    refused("unknown --by 'partner'", sweep, "partner")
    refused("did you mean 'tom_percent'", sweep, "subject", metrics=["tom_procent"])
    refused("margin of tom_percent must be above 0", sweep, margins={"tom_percent": 0.0})
    refused("did you mean 'tom_percent'", sweep, margins={"tom_precent": 1.0})
    refused(
        "unknown metric of a margin 'tom_percent'", sweep, metrics=["regret"], margins={"tom": 1}
    )
    refused("resamples must be at least 99", sweep, resamples=10)
    refused("no player has a model in these runs: compare by strategy, subject", sweep, "model")
    refused("did you mean 'subject'", sweep, "subjects")
    refused("no run was given", [])
    refused("not a run folder", tmp_path)
    refused("same run folder was given twice", [sweep, sweep])
    copy = tmp_path / "copy"
    shutil.copytree(sweep, copy)
    refused("two cells have subject 'low' in the same task with seed 1", [sweep, copy], "subject")
    one = small(tmp_path / "one", subjects=SUBJECTS[:1])
    refused("only one subject was played", one, "subject")
    other = small(tmp_path / "other", subjects=SUBJECTS[1:2], seed=9)
    refused("nothing can be paired", [one, other], "subject")


def test_other_draws_of_partners_are_refused(tmp_path) -> None:
    folder = small(tmp_path / "run", partners="single_action")

    def change(line):
        other = (line["cell"], line["episode"]) == (1, 4)
        return line | {"partner": 1 - line["partner"]} if other else line

    edit(folder, change)
    with pytest.raises(TomevalError, match="different draws in episodes with the same number"):
        compare(folder, "subject")


def test_a_metric_without_a_value_in_some_episode() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 25, 1, 2))
    x[3, 0, 1] = np.nan
    pairing = pairing_of((x, y), metrics=METRICS[:2])
    found = compare_pairs(pairing, margin=np.full(2, 0.1), resamples=99)
    assert np.isfinite(found.p_holm[0, 0, 0])
    for name in ("difference", "t_low", "p_t", "p_permutation"):
        assert np.isnan(getattr(found, name)[0, 0, 1]), name
    assert found.family_size.tolist() == [[[1, 0]]]
    assert any("no difference in ΔFunctional/T: some" in note for note in found.notes)


def test_one_pair_in_one_of_several_tasks() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 25, 1, 2))
    pairing = pairing_of((x, y), (x[:1], y[:1]), metrics=METRICS[:2])
    found = compare_pairs(pairing, margin=np.full(2, np.nan), resamples=99)
    assert np.isfinite(found.difference[0]).all()
    assert np.isnan(found.t_low[0]).all()
    assert np.isfinite(found.t_low[1]).all()
    assert any("and two in every task" in note for note in found.notes)


def test_a_subject_without_a_model_is_paired_with_every_model(tmp_path, monkeypatch) -> None:
    for name in ("one", "two"):
        monkeypatch.setitem(SCRIPTS, name, lambda request: "no answer")
    folder = small(
        tmp_path / "run",
        subjects=["rmax", {"strategy": ["QA", "CoT"]}],
        model=["scripted:one", "scripted:two"],
        horizon=2,
        episodes=4,
        on_invalid="random",
    )
    found = compare(folder, "strategy", "rmax", metrics=["tom_percent"])
    assert found.levels == ("QA", "CoT")
    assert [task.get("model") for task in found.tasks] == [None, "scripted:one", "scripted:two"]
    assert (found.pairs == 4).all()  # two models, the same four episodes


def test_a_player_without_a_model_is_left_out_where_models_are_compared(tmp_path) -> None:
    """As if only the models' players had been played: every number is the same."""
    keys = {"horizon": 2, "episodes": 4, "on_invalid": "random", "games": ["IPD", "RPS"]}
    models = {"model": ["scripted:one", "scripted:two"]}
    asked = {"strategy": ["QA", "CoT"]}
    with scripts(one=lambda request: "no answer", two=lambda request: "Answer: J"):
        mixed = small(tmp_path / "mixed", subjects=["rmax", asked, "random"], **models, **keys)
        alone = small(tmp_path / "alone", subjects=[asked], **models, **keys)
    both, only = (compare(folder, "model", metrics=["tom_percent"]) for folder in (mixed, alone))
    assert (both.baseline, both.levels) == ("scripted:one", ("scripted:two",))
    assert np.array_equal(both.difference, only.difference, equal_nan=True)
    assert np.array_equal(both.p_holm, only.p_holm, equal_nan=True)
    told = "2 players without a model left out: rmax, random"
    assert told in both.notes
    assert not any("left out: " in note for note in only.notes)
    with pytest.raises(TomevalError, match="unknown model as the baseline 'rmax'"):
        compare(mixed, "model", "rmax", metrics=["tom_percent"])


def test_rounding_makes_no_winner(tmp_path) -> None:
    """Payoffs of some 1e9 and best responses on both sides: every episode ties, by hand."""
    game = make_game(np.array([[3.0, 0.0], [5.0, 1.0]]) / 3 + 1e9)
    folder = small(
        tmp_path / "run",
        games=[game],
        partners=["always(0)", "always(1)"],
        subjects=[{"kind": "best_response", "name": n} for n in "ab"],
    )
    pairing = pairing_of(noise(), metrics=["reward_per_step"], size=1e9)
    found = compare_pairs(pairing, margin=np.full(1, np.nan), resamples=99)
    assert found.identical[0, 0, 0]
    real = compare(folder, "subject", metrics=["reward_per_step"], resamples=99)
    assert real.identical.all()


def noise():
    """Return the same three values of some 1e9 twice, as two orders of summing round them."""
    values = np.array([1e9 + 1 / 3, 1e9 + 2 / 3, 1e9 + 1.0])
    moved = np.nextafter(values, [0, 2e9, 0])
    assert (values != moved).all()
    return values[:, None, None], moved[:, None, None]


def test_small_payoffs_are_no_ties(tmp_path) -> None:
    """The same games in another unit: whether values differ must not depend on it."""
    found = []
    for unit in (1.0, 1e-12):
        game = make_game(unit * np.array([[1.0, 0.0], [0.0, 1.0]]))
        folder = small(tmp_path / f"{unit}", games=[game], partners="tit_for_tat")
        found.append(compare(folder, "subject", metrics=["reward_per_step"], resamples=99))
    assert (found[0].identical == found[1].identical).all()
    assert found[0].effect_size == pytest.approx(found[1].effect_size)
    assert not found[1].identical.all()


def test_horizons_share_the_draws_of_their_partners(tmp_path) -> None:
    """The same partner in every episode, so two horizons are one sample of partners."""
    folder = small(
        tmp_path / "run", partners="single_action", horizon=[5, 9], episodes=8, games="RPS"
    )
    with tomeval.Run(folder) as run:
        first, second = (
            next(c.which for c in run.cells if c.columns["horizon"] == T) for T in (5, 9)
        )
        assert first.tolist() == second.tolist()
    found = compare(folder, "subject", resamples=99)
    assert found.pairs[0].tolist() == [8, 8]
