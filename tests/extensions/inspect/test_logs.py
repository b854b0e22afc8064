"""Eval logs of anybody's tasks: compared, stopped early, and read for the moves of their games."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import random
import warnings
from pathlib import Path
from types import SimpleNamespace as Log

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect.comparing import compare_logs
from tomeval.extensions.inspect.games import game_log
from tomeval.extensions.inspect.stopping import StopWhenDecided
from tomeval.games.matrix.log_fields import Reading
from tomeval.games.matrix.recording import import_matches
from tomeval.statistics.sequences import mean_sequence


def scored(**values):
    return {name: Log(value=value, metadata=None) for name, value in values.items()}


def log(scores, task="quiz", **more):
    """Return a log by its scores: {(id, epoch): {scorer: value}}."""
    samples = [
        Log(
            id=id,
            epoch=epoch,
            error=None,
            input=f"q{id}",
            metadata={},
            store={},
            scores=scored(**v),
        )
        for (id, epoch), v in scores.items()
    ]
    return Log(eval=Log(task=task, model="m/x"), samples=samples, **more)


# --- comparisons ----------------------------------------------------------------------------------


def test_differences_by_hand() -> None:
    a = log({(1, 1): {"s": "C"}, (1, 2): {"s": "I"}, (2, 1): {"s": "C"}, (3, 1): {"s": 1}})
    b = log({(1, 1): {"s": 0.0}, (1, 2): {"s": "I"}, (2, 1): {"s": "P"}, (4, 1): {"s": True}})
    [row] = compare_logs(a, b)
    # sample 1 differs by 1 and 0 in its epochs, sample 2 by 1/2; 3 and 4 have no counterpart
    assert (row["samples"], row["left_out"], row["difference"]) == (2, 2, 0.5)
    assert (row["a"], row["b"]) == (0.75, 0.25)
    assert (row["low"], row["high"]) == mean_sequence([0.5, 0.5], bounds=(-1, 1))
    # as a mean between 0 and 1 both are 3/4, and fair bets of c x / m - c win c / 2 each time
    assert row["p"] == pytest.approx(1 / capital([0.75, 0.75]))
    assert row["p_holm"] == row["p"]


def capital(values):
    """Return the capital against 1/2, of all bets in turn."""
    octaves = np.array([0.02, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8])
    near = 1 / (1 + (octaves + math.log2(math.sqrt(2 * math.log(40) / 60))) ** 2)
    shares = 2 / 3 * near / near.sum() + np.array([1 / 3, *[0] * 11])
    bets = 2.0**-octaves
    up, down = (np.prod([1 + k * bets * (2 * x - 1) for x in values], axis=0) for k in (1, -1))
    return float(shares @ (up + down) / 2)


def test_holm_over_tasks_and_metrics() -> None:
    rng = random.Random(1)
    sides = []
    for lift in (0.0, 0.4):
        draw = {(i, 1): {"x": rng.random() < 0.4 + lift, "y": {"k": 0.5}} for i in range(60)}
        more = {(i, 1): {"x": rng.random() < 0.3 + lift / 2} for i in range(60)}
        sides.append([log(draw), log(more, task="other")])
    rows = compare_logs(*sides)
    names = [(row["task"], row["metric"]) for row in rows]
    assert names == [("quiz", "x"), ("quiz", "y/k"), ("other", "x")]
    found = multipletests([row["p"] for row in rows], method="holm")[1]
    assert [row["p_holm"] for row in rows] == pytest.approx(found.tolist())
    assert rows[0]["p_holm"] < 0.05
    assert rows[0]["high"] < 0
    assert rows[1]["p"] == 1
    assert [row["metric"] for row in compare_logs(*sides, metrics=["x"])] == ["x", "x"]


def test_swapped_sides_mirror_and_the_order_of_samples_does_not_matter() -> None:
    rng = random.Random(2)
    x, y = ({(i, 1): {"s": rng.random()} for i in range(30)} for _ in range(2))
    [one], [other] = compare_logs(log(x), log(y)), compare_logs(log(y), log(x))
    shuffled = log(dict(sorted(x.items(), key=lambda _: rng.random())))
    [again] = compare_logs(shuffled, log(y))
    assert (one["low"], one["p"]) == pytest.approx((-other["high"], other["p"]))
    assert [again[n] for n in ("low", "high", "p")] == pytest.approx(
        [one[n] for n in ("low", "high", "p")]
    )


def test_a_score_without_bounds_has_a_mean_and_no_interval() -> None:
    a, b = (log({(i, 1): {"s": value} for i in range(5)}) for value in (3.0, 1.0))
    [row] = compare_logs(a, b)
    assert row["difference"] == 2
    assert np.isnan([row["low"], row["high"], row["p"], row["p_holm"]]).all()
    assert compare_logs(a, b, bounds={"s": (0, 10)})[0]["low"] < 2


ONE = log({(1, 1): {"s": 1}})


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (log({(1, 1): {"s": "banana"}}), log({(1, 1): {"s": 1}}), "'1': s: 'banana' is no number"),
        (log({(1, 1): {"s": 1}}), log({(1, 1): {"s": 1}}, task="other"), "no task is in both"),
        (log({(1, 1): {"s": 1}}), log({(1, 1): {"t": 1}}), "no score is in both"),
        (log({(1, 1): {"s": [1]}}), log({(1, 1): {"s": 1}}), "is no number and no grade"),
        (log({}), log({(1, 1): {"s": 1}}), "the log of m/x holds no samples"),
        ([log({(1, 1): {"s": 1}})] * 2, log({(1, 1): {"s": 1}}), "two logs on one side"),
    ],
)
def test_logs_that_cannot_be_compared(a, b, message) -> None:
    with pytest.raises(TomevalError, match=message):
        tomeval.compare_logs(a, b)


TWICE = Log(eval=ONE.eval, samples=ONE.samples * 2)


@pytest.mark.parametrize(
    ("a", "how", "message"),
    [
        (TWICE, {}, "sample '1', epoch 1: is in a log twice"),
        (ONE, {"bounds": (1, 0)}, "bounds: 1 is not below 0"),
        (ONE, {"bounds": {"S": (0, 1)}}, "bounds: unknown metric 'S' .did you mean 's'"),
        (ONE, {"metrics": "t"}, "unknown metric 't'; known: s"),
    ],
)
def test_samples_bounds_and_metrics_that_are_wrong(a, how, message) -> None:
    with pytest.raises(TomevalError, match=message):
        compare_logs(a, ONE, **how)


def test_other_inputs_under_the_same_id_are_no_pairs() -> None:
    a, b = log({(1, 1): {"s": 1}}), log({(1, 1): {"s": 0}})
    b.samples[0].input = "another"
    with pytest.raises(TomevalError, match="sample '1' has another input in the other log"):
        compare_logs(a, b)
    a.samples[0].scores |= scored(said="words")
    b.samples[0].scores |= scored(said="other words")
    assert compare_logs(a, b, ["s"], other_inputs=True)[0]["difference"] == 1


# --- stopping -------------------------------------------------------------------------------------


def played(stop, values, epochs=1, order=None, **more):
    """Give a stopper scores by sample and epoch; return after how many samples it stopped."""
    ids = list(dict.fromkeys(id for id, _ in values))
    task = Log(task_id="t", model="m", dataset=Log(shuffled=True))

    async def play():
        await stop.start_task(task, [Log(id=id) for id in ids], epochs)
        for id, epoch in order or values:
            each = scored(s=values[id, epoch], **more)
            scores = {name: Log(score=score) for name, score in each.items()}
            await stop.complete_sample(id, epoch, scores)
        return await stop.complete_task()

    return asyncio.run(play())


def test_it_stops_where_the_sequence_first_leaves_the_value_out() -> None:
    rng = random.Random(3)
    values = {(i, 1): float(rng.random() < 0.8) for i in range(100)}
    drawn = list(values.values())
    looks = (n for n in range(1, 101) if mean_sequence(drawn[:n], bounds=(0, 1))[0] > 0.5)
    found = played(StopWhenDecided(value=0.5), values)
    assert found["samples"] == next(looks)
    assert found["mean"] == pytest.approx(np.mean(drawn[: found["samples"]]))
    widths = (n for n in range(1, 101) if np.diff(mean_sequence(drawn[:n], bounds=(0, 1)))[0] < 0.4)
    assert played(StopWhenDecided(width=0.4), values)["samples"] == next(widths)
    # whatever is fast: the same place in any order in which samples end
    late = sorted(values, key=lambda key: (-values[key], key))
    assert played(StopWhenDecided(value=0.5), values, order=late) == found


def test_it_pairs_with_a_finished_log() -> None:
    rng = random.Random(4)
    values = {(i, e): float(rng.random() < 0.7) for i in range(80) for e in (1, 2)}
    before = {(i, e): {"s": float(rng.random() < 0.2)} for i in range(1, 80) for e in (1, 2)}
    found = played(StopWhenDecided(against=log(before)), values, epochs=2)
    before[0, 1] = {"s": math.nan}  # no score, which is as if it lacked the sample
    assert played(StopWhenDecided(against=log(before)), values, epochs=2) == found
    differences = [
        sum(values[i, e] - before[i, e]["s"] for e in (1, 2)) / 2 for i in range(1, 80)
    ]  # the log lacks sample 0
    low, high = mean_sequence(differences[: found["samples"]], bounds=(-1, 1))
    assert (found["low"], found["high"]) == (low, high)
    assert low > 0 >= mean_sequence(differences[: found["samples"] - 1], bounds=(-1, 1))[0]


def test_it_seldom_stops_where_nothing_differs() -> None:
    """Looked at after each of 30 samples, at most 5 % of 100 evals find a difference of 0 out."""
    rng, wrong = random.Random(5), 0
    for _ in range(100):
        values = {(i, 1): float(rng.random() < 0.5) for i in range(30)}
        before = log({(i, 1): {"s": float(rng.random() < 0.5)} for i in range(30)})
        wrong += bool(played(StopWhenDecided(against=before), values)["stopped"])
    assert wrong <= 5


def test_what_it_cannot_read_loses_nothing() -> None:
    values = {(i, 1): 1.0 for i in range(30)}
    found = played(StopWhenDecided("s", value=0.5), values, other="no number")
    assert found["stopped"]
    found = played(StopWhenDecided(value=0.5), values | {(2, 1): 7.0})
    assert (found["samples"], found["stopped"]) == (2, "")
    assert found["note"] == "sample '2': [7.0] is not between 0 and 1: nothing more is stopped"
    assert "unknown score 't'" in played(StopWhenDecided("t", value=0.5), values)["note"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "name a value to leave out, or a width"),
        ({"width": 1.0}, "is not between 0 and 1"),
        ({"value": 2.0}, "value: 2 is not between 0 and 1"),
        ({"value": 0.5, "bounds": (1, 0)}, "must be finite"),
        ({"against": log({(1, 1): {"s": 1, "t": 1}})}, "against: unknown score"),
        # of two scores beyond the bounds the difference need not be
        ({"against": log({(1, 1): {"s": 7}})}, "sample '1': .7.0. is not between 0 and 1"),
    ],
)
def test_conditions_that_make_no_sense(how, message) -> None:
    with pytest.raises(TomevalError, match=message):
        StopWhenDecided(**how)


# --- games in anybody's logs ----------------------------------------------------------------------

STEPS = [("Cooperate", "Cooperate", 8), ("Defect", "Cooperate", 10), ("Defect", "Defect", 5)]
FIELDS = ("own_action", "partner_action", "own_reward")
TABLES = [dict(zip(FIELDS, step, strict=True)) for step in STEPS]
LISTS = {name: [step[i] for step in STEPS] for i, name in enumerate(FIELDS)}
ABOUT = {"game": "IPD", "partner": "tit_for_tat"}


@pytest.mark.parametrize(
    "held",
    [
        {"metadata": ABOUT | {"moves": TABLES}},
        {"metadata": ABOUT | LISTS},
        {"metadata": ABOUT, "store": {"history": LISTS | {"tags": ["x"]}}},
        {"metadata": ABOUT, "scores": {"s": Log(value=1, metadata={"rounds": TABLES})}},
    ],
    ids=["tables", "lists", "store", "score"],
)
def test_moves_in_samples(held, tmp_path, monkeypatch) -> None:
    base = {"id": "a", "epoch": 1, "error": None, "metadata": {}, "store": {}, "scores": {}}
    other = Log(**base | {"id": "b"})  # without moves
    made = Log(eval=Log(task="t", model="m/x"), samples=[Log(**base | held), other])
    reading = Reading()
    path = tmp_path / "x.eval"
    path.write_bytes(b"")
    monkeypatch.setattr("tomeval.extensions.inspect.games.read_log", lambda _: made)
    notes = import_matches(path, tmp_path / "run", reading)
    assert notes[1] == "note: 1 sample with an error or without moves: left out"
    with tomeval.Run(tmp_path / "run") as run:
        [row] = run.rows()
    assert (row["subject"], row["episodes"]) == ("m/x", 1)
    assert row["delta_functional_per_step"] == 1  # 23 of the best 26 over three steps
    made.samples[0].metadata, made.samples[0].store = {}, {"own_action": [1], "partner_action": []}
    made.samples[0].scores = {}
    with pytest.raises(TomevalError, match="eval, sample 'a', epoch 1: lists differ in length"):
        game_log(path, reading)
    made.samples = [other]
    with pytest.raises(TomevalError, match="'t', not of tomeval's own, and no sample holds moves"):
        game_log(path, reading)


# --- with inspect_ai itself -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_eval_stops_is_compared_and_imported(tomeval, tmp_path, monkeypatch) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="needs inspect-ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    def right(chance):
        def answer(messages, tools, choice, config):
            number = int(messages[-1].text.split()[-1])
            good = random.Random(number).random() < chance
            out = ModelOutput.from_content("mock", "yes" if good else "no")
            out.usage = ModelUsage(input_tokens=5, output_tokens=1, total_tokens=6)
            return out

        return get_model("mockllm/model", custom_outputs=answer, memoize=False)

    def evaluated(chance, stop=None):
        samples = [Sample(f"q {i}", target="yes", id=i, metadata=ABOUT | LISTS) for i in range(60)]
        data = MemoryDataset(samples)
        data.shuffle(1)
        task = inspect_ai.Task(
            data, solver=generate(), scorer=match(), early_stopping=stop, name="q"
        )
        with warnings.catch_warnings(action="ignore"):
            [done] = inspect_ai.eval(
                task,
                model=right(chance),
                log_dir=str(tmp_path / "logs"),
                display="none",
                log_level="error",
                max_connections=1,
                max_samples=1,
            )
            gc.collect()
        return Path(done.location.removeprefix("file://"))

    good = evaluated(0.95)
    poor = evaluated(0.1, StopWhenDecided("match", against=good))
    log = inspect_ai.log.read_eval_log(str(poor))
    kept = log.results.early_stopping
    assert log.status == "success"
    assert kept.metadata["samples"] == len(log.samples) < 60
    assert len(kept.early_stops) == 60 - len(log.samples)
    assert "the mean difference in match lies between" in kept.early_stops[0].reason
    [row] = compare_logs(str(poor), good)
    assert (row["samples"], row["high"]) == (len(log.samples), kept.metadata["high"])
    monkeypatch.chdir(tmp_path)
    code, out, errors = tomeval("import", good, "--out", "run")
    assert (code, out) == (0, "run\n"), errors
    [row] = json.loads(tomeval("table", "run", "--format", "json")[1])
    assert (row["subject"], row["episodes"]) == ("mockllm/model", 60)
    assert row["delta_functional_per_step"] == 1
