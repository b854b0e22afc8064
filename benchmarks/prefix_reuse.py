"""Encode every token once: CPU seconds at one thread beside two plain ways, for LM and QA.

usage: python benchmarks/prefix_reuse.py [pocket] [35M] [--episodes 1,8,32] [--rounds 100]
       [--prompts benchmarks/short_prompts]

The pocket model and a random one of 35 M parameters play rock-paper-scissors end to end through
tomeval, against a partner that draws its actions, so that no episode is a copy of another. What the
plain ways would take for the episodes that were played is timed on three rounds (16, 50 and 83 in a
hundred) and scaled: one forward pass per label, as most harnesses do; and one per prompt, whose
keys and values the labels, or the written answer, go on from.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import nan
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
from tomeval.models.local.prefix import PrefixEngine
from tomeval.models.local.tasks import LabelQuery, Task
from tomeval.models.local.transformers import TransformersModel

SIZES = ("pocket", "35M")
TOKENS = 15  # of a QA answer; the pocket model ends its own after three
# Labels to score are of several tokens; those to write are such as the pocket model can spell.
LABELS = {"LM": "nonsense", "QA": "neutral"}
SAMPLED = (0.16, 0.50, 0.83)
PARTNER = "mixture(0.3, 0.3, 0.4)"


def setup(horizon: int, labels: str) -> Setup:
    """Return the task."""
    game = get_game("RPS")
    return Setup(
        "llm",
        {},
        game=game,
        labels=game.label_set(labels),
        partners=get_partner_set(PARTNER, game),
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

    def forget(self, groups: Iterable[str]) -> None:
        """Pass on."""
        self.engine.forget(groups)

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
) -> tuple[int, float, Spy, float]:
    """Play end to end; return distinct episodes, CPU seconds, what was asked, seconds inside."""
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
        "partners": PARTNER,
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
        with tomeval.Run(folder) as run:
            distinct = {
                tuple(run.store.query("SELECT partner_action FROM steps WHERE episode = ?", place))
                for place in run.store.query("SELECT episode FROM episodes")
            }
    engine._forward._model.forward = forward
    model.engine = engine
    return len(distinct), seconds, spy, inside


def plain(
    model: TransformersModel, strategy: str, horizon: int, templates: str, per_label: bool
) -> float:
    """Return the CPU seconds of plain encoding for one episode, scaled up from three rounds."""
    engine = model.engine
    assert isinstance(engine, PrefixEngine)
    model.engine = engine.plain
    labels = setup(horizon, LABELS[strategy]).labels.own
    score = by_label if per_label else by_prompt
    total = 0.0
    for share in SAMPLED:
        asked = prompts(strategy, max(1, round(share * horizon)), horizon, templates)
        if strategy == "LM":
            queries = [model.codec.label_query(ScoreRequest(prompt, labels)) for prompt in asked]
            total += cpu(lambda queries=queries: [score(model, query) for query in queries])  # type: ignore[misc]
        else:
            drawn = [GenerateRequest(p, Sampling(max_tokens=TOKENS), 1) for p in asked]
            total += cpu(  # one by one, as a harness without batching does
                lambda drawn=drawn: [model.generate_batch([one]) for one in drawn]  # type: ignore[misc]
            )
    model.engine = engine
    return total / len(SAMPLED) * horizon


@torch.inference_mode()
def by_label(model: TransformersModel, query: LabelQuery) -> list[float]:
    """Return log-probabilities of labels by one forward pass over prompt and label for each."""
    found = []
    for sequence in query.sequences:
        ids = torch.tensor([query.prefix + sequence[:-1]])
        logits = model.model(input_ids=ids, logits_to_keep=len(sequence)).logits[0]
        found.append(chance(logits, sequence))
    return found


@torch.inference_mode()
def by_prompt(model: TransformersModel, query: LabelQuery) -> list[float]:
    """Return log-probabilities of labels by one forward pass over the prompt, which they go on."""
    ids = torch.tensor([query.prefix])
    out = model.model(input_ids=ids, logits_to_keep=1, use_cache=True)
    found = []
    for sequence in query.sequences:
        logits = out.logits[0]
        if len(sequence) > 1:
            rest, past = torch.tensor([sequence[:-1]]), out.past_key_values
            more = model.model(input_ids=rest, past_key_values=past).logits[0]
            past.crop(1 - len(sequence))
            logits = torch.cat([logits, more])
        found.append(chance(logits, sequence))
    return found


def chance(logits: torch.Tensor, sequence: Sequence[int]) -> float:
    """Return the log-probability of tokens, given the logits of each."""
    logprobs = torch.log_softmax(logits.float(), -1)
    return float(logprobs[range(len(sequence)), list(sequence)].sum())


def check(model: TransformersModel, horizon: int, templates: str) -> None:
    """Hold both plain ways to each other: they must give the same numbers."""
    prompt = prompts("LM", max(1, horizon // 2), horizon, templates)[0]
    labels = setup(horizon, LABELS["LM"]).labels.own
    query = model.codec.label_query(ScoreRequest(prompt, labels))
    one, other = by_label(model, query), by_prompt(model, query)
    assert all(abs(a - b) < 1e-3 for a, b in zip(one, other, strict=True)), (one, other)


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
        "size    answer  episodes  one per label  one per prompt  tomeval  one prefill  "
        "times less, per label  per prompt  of prefill  processed/unique  outside model"
    )
    for size in options.sizes:
        model = load(size, rounds, folder)
        check(model, rounds, folder)
        for strategy in ("LM", "QA"):
            each = plain(model, strategy, rounds, folder, per_label=False)
            labels = (
                plain(model, strategy, rounds, folder, per_label=True) if strategy == "LM" else nan
            )
            for episodes in map(int, options.episodes.split(",")):
                played, seconds, spy, inside = ours(model, strategy, episodes, rounds, folder)
                single = prefill(model, spy, played)
                ratio = spy.engine.processed / spy.unique()
                print(
                    f"{size:7} {strategy:6} {played:9} {labels * played:14.1f} "
                    f"{each * played:15.1f} {seconds:8.1f} {single:12.1f} "
                    f"{labels * played / seconds:22.1f} {each * played / seconds:11.1f} "
                    f"{seconds / single:11.2f} {ratio:17.3f} "
                    f"{100 * (1 - inside / seconds):12.0f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
