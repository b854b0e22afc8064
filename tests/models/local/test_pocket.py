"""The embedded models: files, the shared backend, and the groups that the instrument must order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from support import ROOT  # noqa: E402

from tomeval.core.errors import TomevalError  # noqa: E402
from tomeval.games.matrix.experiment import MatrixExperiment  # noqa: E402
from tomeval.models import open_model  # noqa: E402
from tomeval.models.local.load import POCKET, LocalOptions, load  # noqa: E402
from tomeval.play.runner import run_experiment  # noqa: E402
from tomeval.runs.results import Run  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def test_models_that_load_at_the_same_time_have_the_same_weights() -> None:
    folder = str(ROOT / "tomeval" / "models" / "pocket" / POCKET["pocket"])
    options = LocalOptions(dtype="float32", device="cpu")

    def loaded(_: int) -> Any:
        return load(folder, None, options).model.state_dict()

    alone = loaded(0)
    with ThreadPoolExecutor(4) as threads:
        for weights in threads.map(loaded, range(6)):
            assert weights.keys() == alone.keys()
            assert all(bool((weights[name] == alone[name]).all()) for name in alone)


def test_an_unknown_option_is_told_apart() -> None:
    with pytest.raises(TomevalError, match=r"unknown option 'dtyp' \(did you mean 'dtype'"):
        open_model({"name": "pocket", "dtyp": "float32"})


# In IPD pocket mostly defects, which pays: that it does not defect because it pays takes more
# episodes to see.
EPISODES = {"RPS": 12, "IBS": 12, "IPD": 120}


@pytest.fixture(
    scope="module",
    params=["RPS", *(pytest.param(game, marks=pytest.mark.slow) for game in ("IBS", "IPD"))],
)
def groups(request, tmp_path_factory):
    """LM answers of both models against every single-action partner, 30 rounds, beside RMax."""
    game, folder = request.param, tmp_path_factory.mktemp("groups") / "run"
    experiment = MatrixExperiment(
        name="groups",
        games=[game],
        partners="single_action",
        labels="neutral",
        horizon=30,
        episodes=EPISODES[game],
        seed=3,
        model=list(POCKET),
        subjects=[{"strategy": "LM", "option_order": "shuffled", "name": "LM"}, "rmax"],
    )
    run_experiment(experiment, folder)
    with Run(folder) as run:
        return game, {row["model"]: row for row in run.rows()}


FUNCTIONAL, LITERAL = "delta_functional_per_step", "delta_tom_best_response_per_step"


def test_the_known_groups_are_ordered(groups) -> None:
    """One that does not use what it predicts, one that does, and the tabular learner."""
    game, rows = groups
    for model in POCKET:  # they predict a partner that never changes
        assert rows[model]["episodes"] == EPISODES[game]
        assert rows[model]["invalid_rate"] == 0
        # The first step is a guess: 1 in 30. docs/pocket.md has T = 100, where 99 % are right.
        assert rows[model]["tom_percent"] > 95
    pocket, rational = rows["pocket"], rows["pocket-rational"]
    assert low(pocket, FUNCTIONAL) > high(pocket, LITERAL)
    assert low(pocket, FUNCTIONAL) > high(rational, FUNCTIONAL)
    assert low(rational, FUNCTIONAL) < high(rows[""], FUNCTIONAL)
    # Of the largest loss that the game allows in one step.
    span = {"RPS": 2, "IBS": 10, "IPD": 5}[game]
    assert rational[FUNCTIONAL] - rational[LITERAL] < 0.05 * span


def low(row, name):
    return row[f"{name}_ci95_low"]


def high(row, name):
    return row[f"{name}_ci95_high"]


def test_little_memory_costs_few_tokens(tmp_path) -> None:
    """Caches for two or three of eight episodes: those that have none wait, and none is lost."""
    encoded = {}
    for memory in (100_000_000, 6_000_000):
        model = {"name": "pocket", "cache_memory": memory}
        experiment = MatrixExperiment(
            name="memory",
            games="RPS",
            partners="tit_for_tat",
            horizon=8,
            episodes=8,
            seed=1,
            subjects=[{"strategy": "LM", "model": model, "option_order": "shuffled"}],
        )
        folder = tmp_path / str(memory)
        run_experiment(experiment, folder, concurrency=8)
        with Run(folder) as run:
            status = run.status()[0]
            assert status["complete"] == 8
            encoded[memory] = status["prompt_tokens"] - status["cached_tokens"]
    assert encoded[6_000_000] < 1.3 * encoded[100_000_000]


WRITTEN = ("CoT", "CoT + 3-Shot", "S2A", "Reflexion 1", "Plans + Insights")


@pytest.mark.parametrize("names", [["QA"], pytest.param(WRITTEN, marks=pytest.mark.slow)])
def test_written_answers_can_be_read(tmp_path, names) -> None:
    experiment = MatrixExperiment(
        name="written",
        games=["RPS", "IPD"],
        partners="tit_for_tat",
        labels="neutral",
        horizon=6,
        episodes=2,
        seed=1,
        model="pocket",
        on_invalid="random",
        subjects=[{"strategy": name, "max_attempts": 1, "name": name} for name in names],
    )
    run_experiment(experiment, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        rows = run.rows()
    assert sum(row["invalid_rate"] for row in rows) / len(rows) < 0.05
    assert max(row["invalid_rate"] for row in rows) < 0.2
