"""What reading a run of many cells may cost: work that cells share is done once."""

from __future__ import annotations

import tracemalloc
from unittest import mock

import numpy as np
import pytest
import scipy.stats

import tomeval
from tomeval.comparing.comparison import compare, compare_pairs
from tomeval.comparing.pairing import Meeting, Pairing, pair
from tomeval.comparing.sides import read_sides
from tomeval.domains.matrix import optima, responses
from tomeval.domains.matrix.measures import MEASURES, METRICS
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.statistics.improvement import improvement

GRID = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "subjects": ["random", "fictitious_play", *({"kind": "simulated", "p": p} for p in (0.2, 0.8))],
    "horizon": 3,
    "episodes": 6,
    "seed": [1, 2, 3],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sizes") / "run"
    tomeval.run(GRID, path).close()
    return path


def test_a_table_solves_each_game_and_partner_once(folder) -> None:
    for solved in (optima.known_best_response, optima.reference_rewards):
        solved.cache_clear()  # other tests solve some of them
    with (
        Run(folder) as run,
        mock.patch.object(optima, "_induction", wraps=optima._induction) as one,
    ):
        assert len(run.rows()) == 2 * 2 * 4 * 3
    # single_action: three partners in RPS and two in IPD; tit for tat: one in each
    # each for the best and for the worst response, between which regret lies
    assert one.call_count == 2 * (3 + 2 + 1 + 1)


def test_cells_share_their_games_and_partners(folder) -> None:
    with Run(folder) as run:
        assert len({id(cell.game) for cell in run.cells}) == 2
        assert len({id(partner) for cell in run.cells for partner in cell.partners}) == 7


def test_shared_tables_cannot_be_written_to() -> None:
    game = tomeval.get_game("IPD")
    partner = tomeval.get_partner("tit_for_tat", game)
    for shared in (
        responses.best_responses(game),
        responses.stepwise_regret(game),
        responses.misjudgement_cost(game, "misprediction"),
        optima.reference_rewards(game, partner, 5, "horizon"),
        optima.reference_rewards(game, partner, 5, "stationary"),
    ):
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1


def test_titles_look_at_each_cell_a_few_times(folder) -> None:
    with Run(folder) as run:
        facts = RunCell.facts.fget
        with mock.patch.object(RunCell, "facts", property(mock.Mock(side_effect=facts))) as looked:
            titles = [cell.title for cell in run.cells]
    assert looked.fget.call_count <= 3 * len(titles)
    assert titles[:3] == [f"random, seed {seed}" for seed in (1, 2, 3)]


def many_tasks(tasks: int, width: int) -> Pairing:
    """Return pairs of two episodes in each of many tasks, whose chances are independent."""
    x, y = np.random.default_rng(0).normal(size=(2, tasks, 2, 1, 1, width))
    paired = np.ones((2, 1, 1), dtype=bool)
    units = [(0, 0), (0, 1)]
    meetings = [Meeting(units, [t], x[t], y[t], paired) for t in range(tasks)]
    names = tuple(map(str, range(tasks)))
    measures = tuple(MEASURES[name] for name in METRICS[:width])
    columns = tuple({"game": name} for name in names)
    alone = np.zeros((tasks, 1), dtype=np.int64)
    sizes = np.ones((len(names), len(measures)))
    return Pairing("subject", "base", ("one",), measures, names, columns, meetings, alone, sizes)


def test_a_comparison_holds_the_resamples_of_one_task_at_a_time() -> None:
    tasks, width, resamples = 200, 2, 4_000
    pairing = many_tasks(tasks, width)
    compare_pairs(many_tasks(2, width), margin=np.full(width, np.nan), resamples=99)  # imports
    tracemalloc.start()
    compare_pairs(pairing, margin=np.full(width, np.nan), resamples=resamples, by_task=False)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.5 * (8 * resamples * tasks * width)  # bytes of all resampled values


def test_without_tasks_all_other_numbers_are_the_same(folder) -> None:
    whole, short = (
        compare(folder, by="subject", resamples=199, by_task=on) for on in (True, False)
    )
    for name in ("p_permutation", "p_holm", "t_low", "improvement", "difference"):
        assert np.array_equal(getattr(whole, name), getattr(short, name), equal_nan=True), name
    for name in ("bca_low", "bca_high"):
        full, part = getattr(whole, name), getattr(short, name)
        assert np.array_equal(full[0], part[0], equal_nan=True)
        assert np.isfinite(part[0]).any()
        assert np.isfinite(full[1:]).any()
        assert np.isnan(part[1:]).all()


def test_improvement_counts_pairs_as_ranks_do() -> None:
    x, y = np.random.default_rng(1).integers(0, 6, size=(2, 9, 4)).astype(float)
    y[2, 3] = np.nan
    value, moved = improvement(x, y)
    wins = (x[:, None] > y[None]).mean(axis=(0, 1)) + (x[:, None] == y[None]).mean(axis=(0, 1)) / 2
    assert value[:3] == pytest.approx(wins[:3])
    theirs = scipy.stats.mannwhitneyu(x[:, :3], y[:, :3], axis=0).statistic / 81
    assert value[:3] == pytest.approx(theirs)
    assert np.isnan(value[3])
    assert np.isnan(moved[:, 3]).all()


def test_pairs_are_looked_up_by_task(folder) -> None:
    """The episodes of seeds that one side lacks are counted as a plain search counts them."""
    with Run(folder) as run:
        sides = read_sides([run], "subject", ["reward_per_step"])
        found = compare(run, by="subject", metrics=["reward_per_step"], resamples=99)
    assert found.unpaired.sum() == 0
    assert found.pairs[0].tolist() == [3 * 6 * 4] * 3
    kept = [s for s in sides if (s.level, s.seed) not in {("random", 2), ("fictitious_play", 3)}]
    pairing = pair(kept, "subject", "random", ["reward_per_step"])
    # fictitious_play has seeds 1 and 2, of which only 1 is the baseline's: 6 of its episodes and 6
    # of the baseline's (seed 3) are alone in every task; the others lack seed 2: 6 of their own
    column = dict(zip(pairing.levels, pairing.alone.T.tolist(), strict=True))
    assert column["fictitious_play"] == [12] * 4
    assert all(column[level] == [6] * 4 for level in pairing.levels if "simulated" in level)
