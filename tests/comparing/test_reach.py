"""What a comparison's test can reach at all, said where it can reach nothing."""

from __future__ import annotations

import numpy as np
import pytest
from paired_arrays import paired
from support import scripts

import tomeval
from tomeval.comparing.comparison import compare, compare_pairs
from tomeval.report.comparisons import overview

NONE = np.array([np.nan])


def made(*differences, **options):
    return compare_pairs(paired(*differences), margin=NONE, resamples=9_999, **options)


def test_six_pairs_and_five_comparisons_find_nothing() -> None:
    """Differences of 100 SD: p is 2/64, times five; eight pairs give 2/256 times five."""
    rng = np.random.default_rng(0)
    for pairs, verdict in ((6, "too few"), (7, "too few"), (8, "higher")):
        found = made(100 + rng.normal(size=(pairs, 5)))
        assert found.p_smallest[0, :, 0] == pytest.approx(min(1, 5 * 2 / 2**pairs))
        assert (found.p_holm == found.p_smallest).all()
        assert found.at("a", "tom_percent")["verdict"] == verdict
        row = found.at("a", "tom_percent")
        assert (row["pairs_enough"], row["differing"]) == (8, pairs)
        if verdict == "too few":
            shown = overview(found)[0][0]["verdict"]
            assert shown == f"too few: {pairs} of 8"


def test_every_scope_says_so() -> None:
    """Four tasks of six pairs: 24 units together are enough, each task alone is not."""
    rng = np.random.default_rng(1)
    found = made(*(100 + rng.normal(size=(6, 5)) for _ in range(4)))
    assert found.scopes[0] == "all tasks"
    said = [found.at("b", "tom_percent", s)["verdict"] for s in range(5)]
    assert said == ["higher", *["too few"] * 4]


def test_pairs_without_a_difference_do_not_count() -> None:
    """Of 30 pairs four differ: 2/16 at the least, however large these differences are."""
    values = np.zeros((30, 1))
    values[:4] = 1.0
    found = made(values)
    assert found.differing[0, 0, 0] == 4
    assert found.p_smallest[0, 0, 0] == 2 / 2**4
    assert found.at("a", "tom_percent")["verdict"] == "too few"
    assert found.at("a", "tom_percent")["pairs_enough"] == 6


def test_an_undecided_comparison_could_have_been_decided() -> None:
    rng = np.random.default_rng(2)
    found = made(rng.normal(size=(12, 2)))
    assert found.p_smallest[0, 0, 0] == pytest.approx(2 * 2 / 2**12)
    assert {found.at(level, "tom_percent")["verdict"] for level in "ab"} == {"undecided"}


MIXED = {
    **{"games": ["RPS", "IPD"], "partners": "tit_for_tat", "labels": "neutral", "horizon": 2},
    **{"subjects": ["rmax", "fictitious_play", {"strategy": ["QA", "CoT"]}], "episodes": 4},
    "on_invalid": "random",
}
"""A language model's strategies and a tabular learner meet a tabular baseline."""


def test_a_task_is_one_with_and_without_a_model(tmp_path) -> None:
    """Two tasks, three levels; of two models each is a task, and a pair without one counts once."""
    with scripts(one=lambda request: "A", two=lambda request: "B"):
        for name, model in (("one", "scripted:one"), ("two", ["scripted:one", "scripted:two"])):
            tomeval.run(MIXED | {"model": model}, tmp_path / name, go_on=True).close()
    found = compare(tmp_path / "one", "subject", "rmax", metrics=["reward_per_step"])
    assert found.scopes == ("all tasks", "RPS, tit_for_tat", "IPD, tit_for_tat")
    assert found.covered.tolist() == [[2, 2, 2], [1, 1, 1], [1, 1, 1]]
    assert found.family_size.max() == 3
    both = compare(tmp_path / "two", "strategy", "rmax", metrics=["reward_per_step"])
    models = [None, *["", "scripted:one", "scripted:two"] * 2]
    assert [task.get("model") for task in both.tasks] == models
    assert (both.pairs[0] == 8).all()  # two models, the same four episodes of each game
    bare = both.levels.index("fictitious_play")
    assert both.covered[0].tolist() == [2 if k == bare else 4 for k in range(3)]
    assert not any("paired in" in note for note in (*found.notes, *both.notes))
