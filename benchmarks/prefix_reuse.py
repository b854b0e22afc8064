"""Encode every token once: CPU seconds at one thread beside two plain ways, for LM and QA.

usage: python benchmarks/prefix_reuse.py [pocket] [hf:FOLDER] [--episodes 1,8,32] [--rounds 100]

Each model plays rock-paper-scissors end to end through tomeval, against a partner that draws its
actions, so that no episode is a copy of another. What the plain ways would take is timed on three
rounds (16, 50 and 83 in a hundred) and scaled: one forward pass per label, as most harnesses do;
and one per prompt, whose keys and values the labels, or the written answer, go on from.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from typing import Any

import torch
from one_thread import use_one_thread

import tomeval
from tomeval.games.matrix.rules import SEAT
from tomeval.games.matrix.shown import example_cell
from tomeval.models import open_model, register_model
from tomeval.models.base import ScoreRequest
from tomeval.models.local.load import pocket_folder
from tomeval.models.local.transformers import TransformersModel

TOKENS = 15  # of a QA answer; the pocket model ends its own after three
# Labels to score are of several tokens; those to write are such as the pocket model can spell.
LABELS = {"LM": "nonsense", "QA": "neutral"}
SAMPLED = (0.16, 0.50, 0.83)
TASK = {"partners": "mixture(0.3, 0.3, 0.4)"}
OPENED: dict[str, TransformersModel] = {}
Way = Callable[..., Any]


@register_model("opened", "opened:MODEL")
def opened(name: str, options: dict[str, Any], opening: Any) -> TransformersModel:
    """Return a model that is loaded already."""
    return OPENED[name.partition(":")[2]]


def questions(strategy: str, rounds: int) -> list[Any]:
    """Return what is asked in each round: for the move, and for the prediction."""
    settings = TASK | {"labels": LABELS[strategy], "horizon": rounds}
    return example_cell(strategy, "", settings).questions(SEAT, "")[0]


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def play(name: str, strategy: str, count: int, rounds: int) -> tuple[int, float]:
    """Play end to end; return how many episodes differ, and CPU seconds."""
    subject = {"strategy": strategy, "max_attempts": 1, "max_tokens": TOKENS}
    experiment = TASK | {
        "games": "RPS",
        "labels": LABELS[strategy],
        "horizon": rounds,
        "episodes": count,
        "on_invalid": "random",  # a random model's replies cannot be read
        "subjects": [subject | {"model": f"opened:{name}"}],
    }
    with tempfile.TemporaryDirectory() as folder:
        seconds = cpu(lambda: tomeval.run(experiment, folder, concurrency=count, go_on=True))
        with tomeval.Run(folder) as run:
            moves = run.steps().groupby("episode").partner_action.apply(tuple)
    return len(set(moves)), seconds


def plain(model: Any, own: TransformersModel, strategy: str, rounds: int, way: Way) -> float:
    """Return the CPU seconds of a plain way for one episode, scaled up from three rounds."""
    asked, total = questions(strategy, rounds), 0.0
    for share in SAMPLED:
        number = max(1, round(share * rounds)) - 1
        for one in asked[2 * number : 2 * number + 2]:
            if strategy == "LM":
                query = own.codec.label_query(ScoreRequest(one.prompt, one.labels))
                total += cpu(partial(way, model, query.prefix, query.sequences))
            else:
                ids = own.codec.encode(one.prompt)[0]
                total += cpu(partial(way, model, ids))
    return total / len(SAMPLED) * rounds


@torch.inference_mode()
def by_label(model: Any, prefix: Sequence[int], sequences: Any) -> list[float]:
    """Return log-probabilities of labels by one forward pass over prompt and label for each."""
    values = []
    for sequence in sequences:
        ids = torch.tensor([prefix + sequence[:-1]])
        logits = model(input_ids=ids, logits_to_keep=len(sequence), use_cache=False).logits[0]
        values.append(chance(logits, sequence))
    return values


@torch.inference_mode()
def by_prompt(model: Any, prefix: Sequence[int], sequences: Any) -> list[float]:
    """Return log-probabilities of labels by one forward pass over the prompt, which they go on."""
    out = model(input_ids=torch.tensor([prefix]), logits_to_keep=1, use_cache=True)
    values = []
    for sequence in sequences:
        logits = out.logits[0]
        if len(sequence) > 1:
            rest, past = torch.tensor([sequence[:-1]]), out.past_key_values
            more = model(input_ids=rest, past_key_values=past).logits[0]
            past.crop(1 - len(sequence))
            logits = torch.cat([logits, more])
        values.append(chance(logits, sequence))
    return values


@torch.inference_mode()
def written(model: Any, ids: Sequence[int]) -> list[int]:
    """Return a greedy answer by transformers' own loop."""
    how = {"max_new_tokens": TOKENS, "do_sample": False, "pad_token_id": 0}
    written_ids: list[int] = model.generate(torch.tensor([ids]), **how)[0].tolist()
    return written_ids


def chance(logits: torch.Tensor, sequence: Sequence[int]) -> float:
    """Return the log-probability of tokens, given the logits of each."""
    logprobs = torch.log_softmax(logits.float(), -1)
    return float(logprobs[range(len(sequence)), list(sequence)].sum())


def main() -> None:
    """Print one table."""
    use_one_thread()
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["pocket"])
    parser.add_argument("--episodes", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--answers", default="LM,QA")
    options = parser.parse_args()
    rounds = options.rounds
    print("model   answer  episodes  per label  per prompt  tomeval  times less, label  prompt")
    for name in options.models:
        plainly = f"hf:{pocket_folder('pocket')}" if name == "pocket" else name
        other = open_model({"name": plainly, "dtype": "float32", "prefix_reuse": False})
        own = open_model(name)
        assert isinstance(other, TransformersModel)
        assert isinstance(own, TransformersModel)
        OPENED[name] = own
        for strategy in options.answers.split(","):
            first = written if strategy == "QA" else by_prompt
            each = plain(other.model, own, strategy, rounds, first)
            labels = nan
            if strategy == "LM":
                labels = plain(other.model, own, strategy, rounds, by_label)
            for count in map(int, options.episodes.split(",")):
                played, seconds = play(name, strategy, count, rounds)
                print(
                    f"{name:7} {strategy:6} {played:9} {labels * played:10.1f} "
                    f"{each * played:11.1f} {seconds:8.2f} {labels * played / seconds:18.1f} "
                    f"{each * played / seconds:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
