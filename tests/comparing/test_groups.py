"""Games that were recorded elsewhere: people as pairs, in any order of the rows the same."""

from __future__ import annotations

import csv
import random

import numpy as np
import pytest
import scipy.stats

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.core.errors import TomevalError

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


BOTH = [(f"P{i}", c) for i in range(8) for c in ("calm", "hurried")]


@pytest.mark.parametrize("by", [("condition",), ("participant", "condition")])
def test_in_any_order_of_the_rows_the_numbers_are_the_same(tmp_path, by):
    compared = "condition" if len(by) > 1 else "subject"
    said = []
    for order in range(3):
        with imported(tmp_path / str(order), games(BOTH), by, order) as run:
            said.append(rows(run, compared)[0])
    for other in said[1:]:
        for one, two in zip(said[0], other, strict=True):
            for key, value in one.items():
                other = two[key]
                if isinstance(value, float):
                    other = pytest.approx(other, rel=1e-12, nan_ok=True)
                assert value == other, key


def test_groups_of_different_people_are_no_pairs(tmp_path):
    alone = games([(f"{c}{i}", c) for c in ("calm", "hurried") for i in range(8)])
    with (
        imported(tmp_path / "a", alone, ("condition",)) as run,
        pytest.raises(TomevalError, match="need a participant, or a `seed`, on both sides"),
    ):
        rows(run, "subject")


def test_a_person_is_one_unit_over_all_tasks(tmp_path):
    """Who plays the same again in a second task adds nothing: all numbers are those of one task."""
    path = tmp_path / "two.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        head = ["participant", "condition", "partner", "episode", "step"]
        table.writerow([*head, "own_action", "partner_action", "predicted_action"])
        for person, condition, name, own, _, predicted in games(BOTH):
            for partner in ("always(0)", "alternator(0, 0)"):
                for step, (mine, said) in enumerate(zip(own, predicted, strict=True), 1):
                    table.writerow([person, condition, partner, name, step, mine, 0, said])
    with tomeval.import_log(path, tmp_path / "run", "IPD", by=("condition",)) as run:
        found = compare(run, "subject", "calm", metrics=NAMES, resamples=99)
    names = ("pairs", "difference", "difference_low", "difference_high", "p_t")
    assert len(found.scopes) == 3
    for metric in NAMES:
        whole, one, other = (found.at("hurried", metric, scope) for scope in range(3))
        assert whole["pairs"] == 8
        for name in names:
            assert whole[name] == pytest.approx(one[name], rel=1e-9), name
            assert other[name] == pytest.approx(one[name], rel=1e-9), name


def test_people_in_both_conditions_are_their_own_pairs(tmp_path):
    matches = games([(f"P{i}", c) for i in range(7) for c in ("calm", "hurried")], each=2)
    extra = games([("X", "calm")], seed=9, each=2)
    for by, compared in (
        (("condition",), "subject"),
        (("participant", "condition"), "condition"),
    ):
        with imported(tmp_path / compared, [*matches, *extra], by) as run:
            found, comparison = rows(run, compared)
            notes = " ".join(comparison.notes)
        assert ": 2 complete episodes left out, as their counterpart" in notes
        x, y = (values(matches, c, by_person=True) for c in ("hurried", "calm"))
        for place, row in enumerate(found):
            paired = scipy.stats.ttest_rel(*([v[p][place] for p in sorted(v)] for v in (x, y)))
            assert (row["pairs"], row["unpaired"], row["test"]) == (7, 2, "sign flip")
            assert row["p_t"] == pytest.approx(paired.pvalue)
