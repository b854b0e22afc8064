"""What `plan` counts, held against what a run asks, and against hand-worked cases."""

from __future__ import annotations

import json
import math

import pytest
from known import PAIRS, Known
from support import scripts

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import get_game
from tomeval.models import open_model
from tomeval.models.base import ScoreRequest
from tomeval.play.plan import NOTE, TYPICAL, plan_rows, plan_totals
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import flatten

SERVED = "openai:big@http://127.0.0.1:9/v1"
IPD = get_game("IPD")


def experiment(*subjects, base=None, **keys):
    data = {
        "games": ["IPD"],
        "partners": ["tit_for_tat"],
        "labels": "neutral",
        "horizon": 5,
        "episodes": 2,
        "subjects": list(subjects),
        "model": "pocket",
    }
    return make_experiment(data | keys, base=base)


def shared_prefix(one, other):
    """Return how many characters two texts begin with together."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0) or (
        min(len(one), len(other)) if one[:1] == other[:1] else 0
    )


@pytest.mark.parametrize("strategy", PAIRS, ids=lambda strategy: strategy.name)
def test_what_caches_save_is_what_episodes_share(tmp_path, strategy):
    """Every prompt of a real episode is compared with every earlier one."""
    long = "x" * (4 * NOTE - 20)
    known = Known(IPD, IPD.label_set("neutral"), tag=long)

    def script(request):
        said = known(request)
        purpose, step, _ = known.log[-1]  # notes differ from their first word on
        return said.replace(long, f"{purpose} {step} {long}") if isinstance(said, str) else said

    with scripts(rule=script):
        loaded = experiment(
            {"strategy": strategy.name}, model="scripted:rule", episodes=1, horizon=12
        )
        [row] = plan_rows(loaded)
        run_experiment(loaded, tmp_path / "run")
    texts = [flatten(request.prompt) for request in known.requests]
    sizes = [sum(len(m.content) for m in request.prompt.messages) for request in known.requests]
    saved = sum(
        size * max((shared_prefix(text, other) for other in texts[:number]), default=0) / len(text)
        for number, (text, size) in enumerate(zip(texts, sizes, strict=True))
    )
    assert row["calls"] == len(texts)
    assert row["prompt_tokens"] == pytest.approx(sum(sizes) / 4, rel=0.03)
    assert row["cached_percent"] == pytest.approx(100 * saved / sum(sizes), abs=3)
    longest = max(
        sum(-(-len(m.content.encode()) // 3) for m in request.prompt.messages)
        + (0 if isinstance(request, ScoreRequest) else request.sampling.max_tokens)
        for request in known.requests
    )
    notes = strategy.summarises or strategy.reflects or strategy.advice == "plans_insights"
    # These may be longer than they were here.
    assert row["longest"] >= 0.97 * longest
    assert notes or row["longest"] == pytest.approx(longest, rel=0.03)


def test_tokens_written_by_hand():
    """S2A writes two summaries before every round, and answers two questions in it."""
    subject = {"strategy": "S2A", "model": "scripted:decrypto", "max_attempts": 4}
    [row] = plan_rows(experiment({**subject, "max_tokens": 100}))
    notes, answers = 10 * 2, 10 * 2  # two episodes
    assert row["calls"] == notes + answers
    assert row["completion_tokens"] == 100 * notes + TYPICAL["qa"] * answers  # no more than allowed
    [longer] = plan_rows(experiment(subject))
    assert longer["completion_tokens"] == NOTE * notes + TYPICAL["qa"] * answers


def priced(**cached):
    return {"name": SERVED, "price": {"prompt": 2.0, "completion": 8.0, **cached}}


def test_money():
    subjects = {"strategy": "QA"}, "rmax"
    model = priced()
    row, tabular = plan_rows(experiment(*subjects, model=model, horizon=100))
    by_hand = (2 * row["prompt_tokens"] + 8 * row["completion_tokens"]) / 1e6
    assert row["cost"] == pytest.approx(by_hand)
    assert tabular["cost"] == 0
    cheaper = plan_rows(experiment(*subjects, model=priced(cached=0.5), horizon=100))[0]
    saved = 1.5 * cheaper["prompt_tokens"] * cheaper["cached_percent"] / 100 / 1e6
    assert row["cost"] - cheaper["cost"] == pytest.approx(saved, rel=0.02)
    assert cheaper["cached_percent"] > 50
    other = [model, "openai:other@http://127.0.0.1:9/v1"]
    rows = plan_rows(experiment({"strategy": "QA"}, model=other))
    assert math.isnan(rows[1]["cost"])
    assert any("not counting cells without a price: 1" in t for t in plan_totals(rows))
    assert "cost" not in plan_rows(experiment({"strategy": "QA"}, model=SERVED))[0]


def test_prompts_beyond_the_context_are_named_before_anything_is_spent(tomeval, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(
        f'games = "IPD"\nsubjects = {{ strategy = ["QA", "CoT"] }}\nmodel = "{SERVED}"\n'
        'partners = "tit_for_tat"\nhorizon = 60\nepisodes = 1\n'
    )
    planned = json.loads(tomeval("plan", path, "--format", "json")[1])
    one, two = (row["longest"] for row in planned)
    assert one < two
    assert [row["context"] for row in planned] == [None, None]
    code, _, err = tomeval("plan", path, "--context", one)
    assert code == 1
    assert "in 1 of 2 cells the context of" in err
    assert "cell 0" not in err
    assert tomeval("plan", path, "--context", two)[0] == 0


@pytest.mark.parametrize("strategy", ["LM", "QA"])
def test_a_context_ends_at_the_first_step_that_does_not_fit(strategy):
    """Second way: an experiment of one step less fits, and one that ends there does not."""

    def row(horizon, context=None):
        made = experiment({"strategy": strategy, "model": SERVED}, horizon=horizon)
        return plan_rows(made, context=context)[0]

    context = row(40)["longest"]
    assert row(40, context)["context_ends"] is None
    ends = row(90, context)["context_ends"]
    assert 35 < ends < 45
    assert row(ends - 2)["longest"] <= context < row(ends + 1)["longest"]


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "pocket", "dtyp": "float32"},
        {"name": "pocket", "chat": "yes"},
        {"name": "hf:org/model", "batch_tokens": 0},
        "hf:./nowhere",
        "openai:model",
        {"name": SERVED, "concurency": 3},
        {"name": SERVED, "price": {"prompt": 1.0}},
        "scripted:nobody",
        {"name": "scripted:decrypto", "seed": 1},
    ],
    ids=str,
)
def test_models_that_a_run_refuses_are_refused(spec):
    if spec == "hf:./nowhere":
        pytest.importorskip("torch")
    with pytest.raises(TomevalError) as refused:
        open_model(spec)
    with pytest.raises(TomevalError) as planned:
        plan_rows(experiment({"strategy": "QA", "model": spec}))
    assert str(planned.value) == str(refused.value)
