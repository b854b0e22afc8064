"""Compiled models: what they hold and use comes out as their weights have it; rows stay."""

import numpy as np
import pytest
import torch
from compiled import BACKEND
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions import internal
from tomeval.extensions.internal import found_of, kept, path_of, probe, share_of, states, why_not
from tomeval.extensions.internal.states import RANDOM, TWIN, Watched
from tomeval.models import BACKENDS, open_model
from tomeval.models.base import Message, Prompt, ScoreRequest
from tomeval.runs.experiment import load_experiment
from tomeval.runs.results import Run

KINDS = ("uses", "idle", "elsewhere", "blind")
EXPERIMENT = {
    "games": ["RPS"],
    "partners": "single_action",
    "labels": "canonical",
    "horizon": 3,
    "episodes": 18,
    "model": [f"compiled:{kind}" for kind in KINDS],
    "subjects": [
        # Without rewards: their lengths tell moves apart by where a prompt's last token stands.
        {"kind": "llm", "name": "LM", "strategy": "LM -Rewards", "option_order": "shuffled"}
    ],
}


@pytest.fixture(scope="module", autouse=True)
def compiled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "compiled", BACKEND)
        patch.setattr(probe, "FOLDS", 3)
        patch.setattr(states, "PAIRS", 8)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, compiled):
    path = tmp_path_factory.mktemp("internal") / "run"
    tomeval.run(EXPERIMENT, path).close()
    return path


@pytest.fixture(scope="module")
def made(folder):
    with Run(folder) as run:
        return {kind: found_of(cell) for kind, cell in zip(KINDS, run.cells, strict=True)}


def test_the_belief_is_read_where_block_2_writes_it_and_nowhere_below(made) -> None:
    for kind in ("uses", "idle", "elsewhere"):
        one = made[kind]
        assert min(one.chosen) == 2, kind
        assert one.of("holds").mean() == 100
        assert one.of("shuffled").mean() < 60
        assert one.p == 0.05
    assert made["blind"].p > 0.05
    assert made["blind"].of("holds").mean() < 70


def test_exchanges_follow_where_the_next_block_reads(made) -> None:
    def at(kind, condition=TWIN):
        return [round(share_of(made[kind], layer, condition).share, 6) for layer in range(4)]

    assert at("uses") == [0, 0, 1, 1]
    assert at("elsewhere") == [0, 0, 0, 1]  # block 3 reads the moves again
    assert at("uses", RANDOM)[:3] == [0, 0, 0]
    assert made["uses"].probed == made["elsewhere"].probed == 2
    assert not made["idle"].swaps  # it plays Rock, whatever the partner did
    assert not made["blind"].swaps


@pytest.mark.slow
def test_the_embedded_models_are_ordered(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(probe, "FOLDS", 5)  # as users have them
    monkeypatch.setattr(states, "PAIRS", 20)
    tomeval.run(load_experiment("internal_quickstart"), tmp_path).close()
    with Run(tmp_path) as run:
        main, rational = (found_of(cell) for cell in run.cells)
    assert main.p == rational.p == 0.05
    assert main.of("holds").mean() < rational.of("holds").mean()
    used = [share_of(one, one.probed, TWIN).share for one in (main, rational)]
    assert used[0] > 0.5
    assert used[1] < 0.5


def test_states_are_a_file_with_what_was_played(folder, made) -> None:
    with (
        np.load(folder / "internal" / "cell_0.npz", allow_pickle=False) as file,
        Run(folder) as run,
    ):
        played = run.cells[0].played
        assert file["states"].shape[:2] == (36, 4)
        assert str(file["states"].dtype) == "float16"
        assert file["step"].tolist() == [2, 3] * 18
        for name, values in (
            ("own", played.own),
            ("partner", played.partner),
            ("predicted", played.predicted),
        ):
            assert (file[f"{name}_action"] == values.reshape(18, 3)[:, 1:].ravel()).all()


def test_what_was_found_is_kept(folder, made, monkeypatch) -> None:
    monkeypatch.setattr(internal, "read", None)  # it is not read again
    with Run(folder) as run:
        shown = run.tables["internal"].rows(run, [])
        assert [one["pairs"] for one in shown] == [8, 0, 8, 0]
        assert [shown[0][name] for name in ("holds_percent", "used_percent")] == [100, 100]
        path = path_of(run.cells[0], "json")
        before = path.read_text()
        for other in (before.replace('"version":5', '"version":4'), "[", '{"p": 1}'):
            path.write_text(other)
            assert kept(run.cells[0]) is None
        path.write_text(before)


def test_a_run_that_is_not_reproduced_is_one_line(folder, monkeypatch) -> None:
    with Run(folder) as run:
        monkeypatch.setattr(states, "CLOSE", -1)
        with pytest.raises(TomevalError, match="the run is not reproduced here"):
            states.read(run.cells[0], Watched(open_model("compiled:uses", scores=True)))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"episodes": 5}, "5 complete episodes, fewer than 10"),
        ({"subjects": ["random"], "model": []}, "no language model that plays against tables"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, keys, said) -> None:
    with tomeval.run({**EXPERIMENT, **keys}, tmp_path / "run", go_on=True) as run:
        assert said in why_not(run.cells[0])
        assert not run.tables.keys() & {"internal"}


LABELS = ("J", "Falter", "B")
SHAPE = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
BUILDS = {
    "Llama": lambda size: LlamaForCausalLM(
        LlamaConfig(vocab_size=size, num_hidden_layers=2, **SHAPE)
    ),
    "GPT-2": lambda size: GPT2LMHeadModel(
        GPT2Config(vocab_size=size, n_layer=2, n_embd=16, n_head=2)
    ),
}


@pytest.fixture(scope="module", params=[None, *BUILDS])
def watched(request):
    """Return the embedded model, or with its tokenizer one of another architecture."""
    model = open_model("pocket", scores=True)
    if request.param:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            made = BUILDS[request.param](model.model.config.vocab_size).eval()
        for weights in made.parameters():  # wide enough that what is exchanged matters
            weights.data *= 4 if weights.ndim > 1 else 1
        model.model = made
    return Watched(model)


def asked(*moves):
    lines = (f"You chose J, the other player chose {move}." for move in moves)
    return ScoreRequest(
        Prompt((Message("user", "\n".join([*lines, "Which?"])),), "I choose"), LABELS
    )


def test_states_are_those_of_transformers(watched) -> None:
    question = asked("B", "J")
    ids = torch.tensor([watched.local.codec.label_query(question).prefix])
    model = watched.local.model
    with torch.no_grad():
        told = model(ids, output_hidden_states=True).hidden_states
    seen = watched.run(question).states
    assert len(seen) == len(told)
    for layer in range(len(told) - 1):  # the last one has the final norm there
        assert seen[layer] == pytest.approx(told[layer][0, -1].float().numpy(), abs=1e-4)


def test_at_the_top_an_exchange_gives_the_other_answer_and_changes_no_model(watched) -> None:
    here, there = asked("B", "B"), asked("J", "B")
    plain, other, top = watched.run(here), watched.run(there), len(watched.blocks)
    ran = watched.run(here, (top, other.states[top]))
    # The later tokens of a label read states of the prompt below the layer, too.
    for n, label in enumerate(watched.local.codec.label_query(here).sequences):
        if len(label) == 1:
            assert ran.logprobs[n] == pytest.approx(other.logprobs[n], abs=1e-3)
    assert plain.logprobs != pytest.approx(other.logprobs, abs=1e-3)
    assert watched.run(here).logprobs == plain.logprobs
