"""A local model of the CPU: threads, the width of its weights, and what its caches take.

python benchmarks/small_models.py

Ratios are measured side by side in one process, on a machine as busy as the table says.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from tomeval.models.base import Message, Prompt, ScoreRequest
from tomeval.models.local.load import pocket_folder
from tomeval.models.local.transformers import TransformersModel
from tomeval.report.tables import render

EPISODES, ROUNDS = 4, 5


def prompt(rounds: int) -> Prompt:
    """Return a made-up play."""
    lines = [f"Round {n}: you chose J, the other player chose F." for n in range(1, rounds + 1)]
    return Prompt(
        (Message("user", "\n".join(["Two players choose.", *lines])),), prefill="I choose"
    )


def play(model: TransformersModel, name: str) -> None:
    """Score labels in a growing play of several episodes."""
    groups = [f"{name} {episode}" for episode in range(EPISODES)]
    for rounds in range(1, ROUNDS + 1):
        model.score_batch([ScoreRequest(prompt(rounds), ("J", "F"), group) for group in groups])
    model.forget(groups)


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def small_llama(folder: Path) -> None:
    """Store a random model of 35 M parameters in float16, with the embedded tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(pocket_folder("pocket"))
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=10,
        num_attention_heads=8,
        max_position_embeddings=8192,
    )
    LlamaForCausalLM(config).half().save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Print the three tables."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # they would win over the rule
        os.environ.pop(name, None)
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder:
        small_llama(Path(folder))
        models = {
            "pocket, 1.0 M": str(pocket_folder("pocket")),
            "random Llama, 35 M": folder,
        }
        print(render(threads(models), "markdown"), "\n")
        print(render(widths(folder), "markdown"), "\n")
    print(render(caches(), "markdown"))


def threads(models: dict[str, str]) -> list[dict[str, str]]:
    """Compare all cores with the rule of `tomeval.models.local.forward`."""
    rows = []
    for name, path in models.items():
        took, load = {}, os.getloadavg()[0]
        for count in (os.cpu_count(), None):
            model = TransformersModel(path, threads=count)
            play(model, "warm")
            took[count] = seconds(partial(play, model, "timed"))
        (cpu, wall), (rule_cpu, rule_wall) = took.values()
        rows.append(
            {
                "model": name,
                "load of the machine": f"{load:.0f}",
                "all cores, CPU s": f"{cpu:.2f}",
                "rule, CPU s": f"{rule_cpu:.2f}",
                "times less CPU": f"{cpu / rule_cpu:.1f}",
                "times less wall time": f"{wall / rule_wall:.1f}",
            }
        )
    return rows


def widths(folder: str) -> list[dict[str, str]]:
    """Compare a float16 checkpoint as it is run by default with float16 arithmetic."""
    took = {}
    for dtype in ("float16", "auto"):
        model = TransformersModel(folder, dtype=dtype, threads=1)
        play(model, "warm")
        took[dtype] = seconds(partial(play, model, "timed"))[0]
    return [
        {
            "random Llama, 35 M, stored in float16": "CPU s",
            "dtype float16": f"{took['float16']:.2f}",
            "default": f"{took['auto']:.2f}",
            "ratio": f"{took['float16'] / took['auto']:.1f}",
        }
    ]


def caches() -> list[dict[str, str]]:
    """Return what the caches of the embedded model may take, and take after many episodes."""
    model = TransformersModel(str(pocket_folder("pocket")))
    cache = model.engine.cache  # type: ignore[attr-defined]
    for batch in range(20):
        play(model, f"batch {batch}")
    taken = cache.slots * cache.places * cache.bytes_per_place
    weights = sum(part.numel() * part.element_size() for part in model.model.parameters())
    return [
        {
            "model": "pocket",
            "weights, MB": f"{weights / 1e6:.1f}",
            "caches at most, MB": f"{cache.memory / 1e6:,.0f}",
            f"after {20 * EPISODES} episodes, {EPISODES} at a time, MB": f"{taken / 1e6:.0f}",
        }
    ]


if __name__ == "__main__":
    main()
