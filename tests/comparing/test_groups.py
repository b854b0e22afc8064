"""Games that were recorded elsewhere: groups of people, in any order of the rows the same."""

from __future__ import annotations

import csv
import random

import numpy as np
import pytest
import scipy.stats

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.comparing.power import episodes_needed
from tomeval.core.errors import TomevalError
from tomeval.statistics.paired import label_permutation

NAMES = ["reward_per_step", "tom_percent"]
STEPS = 6


def games(people, seed=3, each=1):
    """Return matches by person: (participant, condition, name, own, theirs, predicted)."""
    rng = np.random.default_rng(seed)
    found = []
    for person, condition in people:
        often = 0.25 if condition == "calm" else 0.75
        for match in range(each):
            moves = (rng.random(STEPS) < often, rng.random(STEPS) < 0.5, rng.random(STEPS) < 0.5)
            found.append((person, condition, f"{person} {match}", *(m.astype(int) for m in moves)))
    return found


def imported(folder, matches, by, order=0, **how):
    """Import matches whose rows stand in one of several orders."""
    matches = list(matches)
    random.Random(order).shuffle(matches)
    folder.mkdir(parents=True)
    path = folder / "people.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        head = ["participant", "condition", "episode", "step", "own_action", "partner_action"]
        table.writerow([*head, "predicted_action"])
        for person, condition, name, *moves in matches:
            for step, played in enumerate(zip(*moves, strict=True), 1):
                table.writerow([person, condition, name, step, *played])
    return tomeval.import_log(path, folder / "run", "IPD", "unknown", by=by, **how)


def values(matches, condition, by_person=False):
    """Return reward and ToM % by match, or by person, from the moves alone."""
    payoff = np.array([[8, 0], [10, 5]])
    found: dict[str, list[tuple[float, float]]] = {}
    for person, said, name, own, theirs, predicted in matches:
        if said == condition:
            mine = payoff[own, theirs].mean(), 100 * (predicted == theirs).mean()
            found.setdefault(person if by_person else name, []).append(mine)
    return {name: np.mean(mine, axis=0) for name, mine in found.items()}


def rows(run, by):
    found = compare(run, by, "calm", metrics=NAMES)
    return [found.at("hurried", name) for name in NAMES], found


ALONE = [(f"{c}{i}", c) for c in ("calm", "hurried") for i in range(8)]


@pytest.mark.parametrize(
    ("by", "columns"),
    [
        (("condition",), {"participant": ""}),
        (("condition",), {}),
        (("participant", "condition"), {}),
    ],
    ids=["nobody named", "people in groups", "people as subjects"],
)
def test_in_any_order_of_the_rows_the_numbers_are_the_same(tmp_path, by, columns):
    compared = "condition" if len(by) > 1 else "subject"
    said = []
    for order in range(3):
        with imported(tmp_path / str(order), games(ALONE), by, order, columns=columns) as run:
            said.append(rows(run, compared)[0])
    for other in said[1:]:
        for one, two in zip(said[0], other, strict=True):
            for key, value in one.items():
                other = two[key]
                if isinstance(value, float):
                    other = pytest.approx(other, rel=1e-12, nan_ok=True)
                assert value == other, key


def test_groups_of_people_are_no_pairs(tmp_path):
    """Welch's t, and all 12,870 divisions of 16 people, by scipy."""
    matches = games(ALONE)
    with imported(tmp_path / "a", matches, ("condition",)) as run:
        found, comparison = rows(run, "subject")
    assert any("compared as independent groups" in note for note in comparison.notes)
    for place, row in enumerate(found):
        x, y = (
            np.array([each[place] for each in values(matches, c).values()])
            for c in ("hurried", "calm")
        )
        welch = scipy.stats.ttest_ind(x, y, equal_var=False)
        assert (row["pairs"], row["unpaired"], row["test"]) == (16, 0, "exchange of units")
        assert row["difference"] == pytest.approx(x.mean() - y.mean())
        assert row["p_t"] == pytest.approx(welch.pvalue)
        exact = scipy.stats.permutation_test(
            (x, y), lambda a, b: np.mean(a) - np.mean(b), n_resamples=np.inf
        )
        assert row["p_permutation"] == pytest.approx(exact.pvalue, rel=1e-9)
        if place == 0:  # rewards have no bounds of their own
            ends = welch.confidence_interval(0.95)
            assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(ends))
        pooled = np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
        hedges = (x.mean() - y.mean()) / pooled * (1 - 3 / (4 * 14 - 1))
        assert row["effect_size"] == pytest.approx(hedges, rel=2e-3)


@pytest.mark.parametrize("by", [("condition",), ("participant", "condition")])
def test_a_person_is_one_unit_however_many_matches(tmp_path, by):
    matches = games(ALONE, each=3)
    with imported(tmp_path / "a", matches, by) as run:
        found, _ = rows(run, "condition" if len(by) > 1 else "subject")
        if len(by) == 1:  # the table's interval, too, is one over people
            assert {cell.units for cell in run.cells} == {8}
    x, y = (
        np.array(list(values(matches, c, by_person=True).values())) for c in ("hurried", "calm")
    )
    for place, row in enumerate(found):
        assert row["pairs"] == 16
        assert row["level_mean"] == pytest.approx(x[:, place].mean())
        welch = scipy.stats.ttest_ind(x[:, place], y[:, place], equal_var=False)
        assert row["p_t"] == pytest.approx(welch.pvalue)


@pytest.mark.parametrize("within", [False, True], ids=["groups", "pairs"])
def test_a_person_is_one_unit_over_all_tasks(tmp_path, within):
    """Who plays the same again in a second task adds nothing: all numbers are those of one task."""
    people = [(f"P{i}", c) for i in range(8) for c in ("calm", "hurried")] if within else ALONE
    path = tmp_path / "two.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        head = ["participant", "condition", "partner", "episode", "step"]
        table.writerow([*head, "own_action", "partner_action", "predicted_action"])
        for person, condition, name, own, _, predicted in games(people):
            for partner in ("always(0)", "alternator(0, 0)"):
                for step, (mine, said) in enumerate(zip(own, predicted, strict=True), 1):
                    table.writerow([person, condition, partner, name, step, mine, 0, said])
    with tomeval.import_log(path, tmp_path / "run", "IPD", by=("condition",)) as run:
        found = compare(run, "subject", "calm", metrics=NAMES, resamples=99)
    names = ("pairs", "difference", "difference_low", "difference_high", "p_t")
    assert len(found.scopes) == 3
    for metric in NAMES:
        whole, one, other = (found.at("hurried", metric, scope) for scope in range(3))
        assert whole["pairs"] == (8 if within else 16)
        for name in names:
            assert whole[name] == pytest.approx(one[name], rel=1e-9), name
            assert other[name] == pytest.approx(one[name], rel=1e-9), name


def test_people_who_change_sides_between_tasks_stay_units_of_each(tmp_path):
    """In the group of a level in one game and in the baseline's in the other."""
    path = tmp_path / "crossed.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(
            ["participant", "condition", "game", "episode", "step", "own_action", "partner_action"]
        )
        for person, condition, name, own, theirs, _ in games(ALONE):
            other = {"calm": "hurried", "hurried": "calm"}[condition]
            for game, played in (("IPD", condition), ("IBS", other)):
                for step, joint in enumerate(zip(own, theirs, strict=True), 1):
                    table.writerow([person, played, game, name, step, *joint])
    with tomeval.import_log(path, tmp_path / "run", None, "unknown", by=("condition",)) as run:
        found = compare(run, "subject", "calm", metrics=NAMES[:1])
    pairs = [found.at("hurried", NAMES[0], scope)["pairs"] for scope in range(3)]
    assert pairs == [32, 16, 16]


def test_people_in_both_conditions_are_their_own_pairs(tmp_path):
    matches = games([(f"P{i}", c) for i in range(7) for c in ("calm", "hurried")], each=2)
    extra = games([("X", "calm")], seed=9, each=2)
    for by, compared in (
        (("condition",), "subject"),
        (("participant", "condition"), "condition"),
    ):
        with imported(tmp_path / compared, [*matches, *extra], by) as run:
            found, _ = rows(run, compared)
            notes = " ".join(run.compare(compared).notes)
        assert ": 2 complete episodes left out, as their counterpart" in notes
        x, y = (values(matches, c, by_person=True) for c in ("hurried", "calm"))
        for place, row in enumerate(found):
            paired = scipy.stats.ttest_rel(*([v[p][place] for p in sorted(v)] for v in (x, y)))
            assert (row["pairs"], row["unpaired"], row["test"]) == (7, 2, "sign flip")
            assert row["p_t"] == pytest.approx(paired.pvalue)


def test_power_is_of_pairs_only(tmp_path):
    with (
        imported(tmp_path / "a", games(ALONE), ("condition",)) as run,
        pytest.raises(TomevalError, match="power needs pairs"),
    ):
        episodes_needed(run, "reward_per_step", 1.0, by="subject")


def test_many_divisions_are_drawn_and_near_the_exact_share():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 1)) + 0.4 * (np.arange(16) < 8)[:, None]
    member = np.arange(16) < 8
    stratum = [(x / 8, -x / 8, member)]
    exact = label_permutation(stratum, np.empty((0, 1)), 0, rng)
    # A flip of 0 adds nothing, but makes the test draw.
    drawn = label_permutation(stratum, np.zeros((1, 1)), 40_000, rng)
    assert drawn[0] == pytest.approx(exact[0], abs=0.01)
