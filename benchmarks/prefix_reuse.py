"""Encode every token once: CPU seconds at one thread beside plain encoding, for LM and QA.

usage: python benchmarks/prefix_reuse.py [pocket] [35M] [--episodes 1,8,32] [--rounds 100]
       [--prompts benchmarks/short_prompts]

The pocket model and a random one of 35 M parameters play rock-paper-scissors end to end through
tomeval. Plain encoding takes minutes to hours for the same, so it is timed on three rounds (16, 50
and 83 in a hundred) and scaled.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from one_thread import use_one_thread

import tomeval
import tomeval.runs.filling
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.preview import prompts_of_round
from tomeval.models import open_model
from tomeval.models.base import GenerateRequest, Prompt, Sampling, ScoreRequest
from tomeval.models.local.labels import LabelQuery
from tomeval.models.local.prefix import PrefixEngine
from tomeval.models.local.tasks import Task
from tomeval.models.local.transformers import TransformersModel

SIZES = ("pocket", "35M")
TOKENS = 15  # of a QA answer; the pocket model ends its own after three
# Labels to score are of several tokens; those to write are such as the pocket model can spell.
LABELS = {"LM": "nonsense", "QA": "neutral"}
SAMPLED = (0.16, 0.50, 0.83)


def setup(horizon: int, labels: str) -> Setup:
    """Return the task."""
    game = get_game("RPS")
    return Setup(
        "llm",
        {},
        game=game,
        labels=game.label_set(labels),
        partners=get_partner_set("tit_for_tat", game),
        horizon=horizon,
        seed=0,
    )


def load(size: str, horizon: int, folder: str) -> TransformersModel:
    """Return a model of the package, or a random one."""
    if size == "pocket":
        model = open_model("pocket")
        assert isinstance(model, TransformersModel)
        return model
    with tempfile.TemporaryDirectory() as made:
        make_model(Path(made), horizon, folder)
        return TransformersModel(made)


def make_model(folder: Path, horizon: int, templates: str) -> None:
    """Write a random Llama and a byte-level tokenizer trained on the prompts of the game."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    made = with_options(setup(horizon, "neutral"), "QA", templates)
    seen = prompts_of_round(made, "act", horizon)
    text = [prompt.messages[0].content for _, prompt in seen]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        text,
        trainers.BpeTrainer(
            vocab_size=700, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet
        ),
    )
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=8192,
            hidden_size=512,
            num_hidden_layers=8,
            num_attention_heads=8,
            num_key_value_heads=8,
            intermediate_size=1408,
            max_position_embeddings=32768,
            bos_token_id=0,
            eos_token_id=1,
        )
    ).save_pretrained(folder)


def with_options(made: Setup, strategy: str, templates: str) -> Setup:
    """Return a setup whose subject is a language model."""
    return replace(made, kind="llm", options={"strategy": strategy, "prompts": templates})


def prompts(strategy: str, number: int, horizon: int, templates: str) -> list[Prompt]:
    """Return the prompts of act and predict in one round."""
    return [
        prompt
        for form in ("act", "predict")
        for _, prompt in prompts_of_round(
            with_options(setup(horizon, LABELS[strategy]), strategy, templates), form, number
        )
    ]


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Spy:
    """Keeps what every group was asked, to count its different tokens."""

    def __init__(self, engine: PrefixEngine) -> None:
        self.engine = engine
        self.paths: dict[str, list[tuple[int, ...]]] = {}

    def score(self, queries: Sequence[LabelQuery]) -> Any:
        """Pass on."""
        for query in queries:
            paths = self.paths.setdefault(query.group, [])
            paths += [query.prefix + sequence[:-1] for sequence in query.sequences]
        return self.engine.score(queries)

    def generate(self, tasks: Sequence[Task]) -> Any:
        """Pass on."""
        results = self.engine.generate(tasks)
        for task, result in zip(tasks, results, strict=True):
            self.paths.setdefault(task.group, []).append(task.ids + tuple(result.tokens[:-1]))
        return results

    def slots(self) -> int:
        """Pass on."""
        return self.engine.slots()

    def unique(self) -> int:
        """Return how many different tokens were asked: the nodes of each group's prefix tree."""
        total = 0
        for paths in self.paths.values():
            last: tuple[int, ...] = ()
            for path in sorted(paths):
                same = next(
                    (i for i, (a, b) in enumerate(zip(last, path, strict=False)) if a != b),
                    min(len(last), len(path)),
                )
                total += len(path) - same
                last = path
        return total

    def longest(self) -> tuple[int, ...]:
        """Return the longest sequence."""
        return max((path for paths in self.paths.values() for path in paths), key=len)


def ours(
    model: TransformersModel, strategy: str, episodes: int, horizon: int, templates: str
) -> tuple[float, Spy, float]:
    """Play end to end; return CPU seconds, what was asked, and the seconds inside the model."""
    engine = model.engine
    assert isinstance(engine, PrefixEngine)
    engine.cache.clear()
    engine.processed = 0
    spy = Spy(engine)
    inside = 0.0
    forward = engine._forward._model.forward

    def timed(*args: Any, **options: Any) -> Any:
        nonlocal inside
        start = time.process_time()
        result = forward(*args, **options)
        inside += time.process_time() - start
        return result

    experiment = {
        "games": "RPS",
        "labels": LABELS[strategy],
        "partners": "tit_for_tat",
        "horizon": horizon,
        "episodes": episodes,
        "on_invalid": "random",  # a random model's replies cannot be read
        "subjects": [
            {
                "model": "hf:benchmark",
                "strategy": strategy,
                "max_attempts": 1,
                "max_tokens": TOKENS,
                "prompts": templates,
            }
        ],
    }
    model.engine = spy
    tomeval.runs.filling.open_model = lambda *_, **__: model  # type: ignore[attr-defined]
    engine._forward._model.forward = timed
    with tempfile.TemporaryDirectory() as folder:
        seconds = cpu(lambda: tomeval.run(experiment, folder, concurrency=episodes))
    engine._forward._model.forward = forward
    model.engine = engine
    return seconds, spy, inside


def plain(
    model: TransformersModel, strategy: str, horizon: int, templates: str, per_label: bool
) -> float:
    """Return the CPU seconds of plain encoding for one episode, scaled up from three rounds."""
    engine = model.engine
    assert isinstance(engine, PrefixEngine)
    model.engine = engine.plain
    labels = setup(horizon, LABELS[strategy]).labels.own
    total = 0.0
    for share in SAMPLED:
        asked = prompts(strategy, max(1, round(share * horizon)), horizon, templates)
        if strategy == "LM" and per_label:
            total += cpu(lambda asked=asked: one_by_one(model, asked, labels))  # type: ignore[misc]
        elif strategy == "LM":
            requests = [ScoreRequest(prompt, labels) for prompt in asked]
            total += cpu(lambda requests=requests: model.score_batch(requests))  # type: ignore[misc]
        else:
            drawn = [GenerateRequest(p, Sampling(max_tokens=TOKENS), 1) for p in asked]
            total += cpu(  # one by one, as a harness without batching does
                lambda drawn=drawn: [model.generate_batch([one]) for one in drawn]  # type: ignore[misc]
            )
    model.engine = engine
    return total / len(SAMPLED) * horizon


def one_by_one(model: TransformersModel, asked: list[Prompt], labels: tuple[str, ...]) -> None:
    """Run one plain forward pass per prompt and label."""
    for prompt in asked:
        query = model.codec.label_query(ScoreRequest(prompt, labels))
        for sequence in query.sequences:
            ids = torch.tensor([query.prefix + sequence[:-1]])
            with torch.inference_mode():
                logits = model.model(input_ids=ids, logits_to_keep=len(sequence)).logits
                torch.log_softmax(logits.float(), -1)


def prefill(model: TransformersModel, spy: Spy, episodes: int) -> float:
    """Return the CPU seconds of one forward pass over an episode's number of unique tokens."""
    count = spy.unique() // episodes
    longest = spy.longest()
    ids = torch.tensor([(longest * (count // len(longest) + 1))[:count]])
    with torch.inference_mode():
        return cpu(lambda: model.model(input_ids=ids, logits_to_keep=1)) * episodes


def main() -> None:
    """Print one table."""
    use_one_thread()
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", default=SIZES)
    parser.add_argument("--episodes", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--prompts", default="", help="folder of other templates")
    options = parser.parse_args()
    rounds, folder = options.rounds, options.prompts
    print(
        "size    answer  episodes  plain/label  plain batched  this engine  one prefill  "
        "times less  of prefill  processed/unique  outside model"
    )
    for size in options.sizes:
        model = load(size, rounds, folder)
        for strategy in ("LM", "QA"):
            each = plain(model, strategy, rounds, folder, per_label=True)
            together = plain(model, strategy, rounds, folder, per_label=False)
            for episodes in map(int, options.episodes.split(",")):
                seconds, spy, inside = ours(model, strategy, episodes, rounds, folder)
                single = prefill(model, spy, episodes)
                ratio = spy.engine.processed / spy.unique()
                print(
                    f"{size:7} {strategy:6} {episodes:9} {each * episodes:12.1f} "
                    f"{together * episodes:14.1f} {seconds:12.1f} {single:12.1f} "
                    f"{each * episodes / seconds:11.1f} {seconds / single:11.2f} "
                    f"{ratio:17.3f} {100 * (1 - inside / seconds):12.0f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
