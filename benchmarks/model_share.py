"""What a run costs beside the model's passes, and how many tokens are encoded more than once.

usage: python benchmarks/model_share.py [MODEL] [--strategies LM,QA] [--episodes 8] [--rounds 20]

Each strategy plays rock-paper-scissors against tit for tat, its answers held to their form. Shares
are of CPU seconds once the model is open. Unique tokens are the nodes of a tree of all that was
read and written: those that a run must encode at least once.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any
from unittest import mock

from one_thread import use_one_thread

import tomeval
from tomeval.models import open_model, register_model
from tomeval.models.local.engine import Engine
from tomeval.models.local.transformers import TransformersModel

OPENED: dict[str, TransformersModel] = {}


@register_model("measured", "measured:MODEL")
def opened(name: str, options: dict[str, Any], opening: Any) -> TransformersModel:
    """Return the model, which is loaded already."""
    return OPENED["model"]


class Meter:
    """Counts tokens and times passes of an engine while a run plays."""

    def __init__(self) -> None:
        self.seconds, self.encoded, self.padded, self.unique = 0.0, 0, 0, 0
        self._tree: dict[int, Any] = {}
        self._run, self._score, self._write = Engine.run, Engine.score, Engine.write

    def run(self, engine: Engine, ids: Any, keep: Any, **options: Any) -> Any:
        """Time a pass."""
        start = time.process_time()
        result = self._run(engine, ids, keep, **options)
        self.seconds += time.process_time() - start
        self.padded += ids.numel()
        return result

    def score(self, engine: Engine, queries: Any) -> Any:
        """Count the tokens of labels to score."""
        found = self._score(engine, queries)
        for one in found:
            self.encoded += one.fed
            for tail in one.tails or ((),):
                self._add((*one.ids, *tail))
        return found

    def write(self, engine: Engine, texts: Any) -> None:
        """Count the tokens of texts; the last one that is drawn is not read."""
        self._write(engine, texts)
        for one in texts:
            read = max(0, one.drawn - 1)
            self.encoded += one.fed + read
            self._add(one.ids[: one.prompt + read])

    def _add(self, ids: tuple[int, ...]) -> None:
        node = self._tree
        for token in ids:
            self.unique += token not in node
            node = node.setdefault(token, {})


def measure(strategy: str, episodes: int, rounds: int) -> tuple[Meter, float]:
    """Play one strategy; return what was counted, and the CPU seconds of the run."""
    subject = {"strategy": strategy, "decide": "sample", "option_order": "shuffled"}
    experiment = {
        "games": "RPS",
        "partners": "tit_for_tat",
        "labels": "neutral",
        "horizon": rounds,
        "episodes": episodes,
        "model": "measured:MODEL",
        "subjects": [subject | {"max_tokens": {"qa": 24, "cot": 40, "lesson": 24}}],
    }
    meter = Meter()
    names = ("run", "score", "write")
    patches = [
        mock.patch.object(Engine, name, lambda *a, _n=name, **k: getattr(meter, _n)(*a, **k))
        for name in names
    ]
    with tempfile.TemporaryDirectory() as folder, patches[0], patches[1], patches[2]:
        start = time.process_time()
        tomeval.run(experiment, folder).close()
        return meter, time.process_time() - start


def main() -> None:
    """Print one table."""
    use_one_thread()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="pocket")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--strategies", default="LM,Social LM,QA,CoT,Reflexion 1,Oracle + Max")
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=20)
    how = parser.parse_args()
    model = open_model({"name": how.model, "dtype": how.dtype, "structured": "auto"})
    assert isinstance(model, TransformersModel)
    OPENED["model"] = model
    print("strategy      CPU s  beside passes %   encoded    unique  ratio   padded")
    for strategy in how.strategies.split(","):
        meter, seconds = measure(strategy, how.episodes, how.rounds)
        print(
            f"{strategy:12} {seconds:6.1f} {100 * (1 - meter.seconds / seconds):16.1f} "
            f"{meter.encoded:9,} {meter.unique:9,} {meter.encoded / meter.unique:6.3f} "
            f"{meter.padded:8,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
