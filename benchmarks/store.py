"""What keeping a run costs: episodes a second, bytes an episode, microseconds a record.

Episodes of matrix games as language models play them go into stores in several ways, in turns, so
that the ratios hold on a busy machine too: as texts (in tables without row numbers), as blocks, as
rows that were packed where they were played (what a driver of replicas does), such rows with 32
episodes in a transaction, and these after every reply was kept on its own (the most that a driver
has to write). Replies are English of the length that a strategy brings.
Then what a record takes to pack, to unpack and to count in `tomeval status`, and how the memory of
a writer grows. Episodes a second are those of CPU seconds of this process, which has one thread;
``wall`` is by the clock, with whatever else the machine does.

    python benchmarks/store.py [--episodes 320]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pickle
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from one_thread import use_one_thread

from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import Said, ScriptedModel
from tomeval.report.tables import render
from tomeval.runs import rows, schema, tallies
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.rows import Rows
from tomeval.runs.store import Store
from tomeval.runs.stored import identity_sha256

MATRIX = get_domain("matrix")
DOCS = Path(__file__).parents[1] / "docs"
TURN = 32
"""Episodes that each way writes in its turn, and that `together` writes at once."""


class Size(NamedTuple):
    """A size of episodes: who plays, how many steps, and the characters of a reply."""

    name: str
    strategy: str
    horizon: int
    characters: int


SIZES = [
    Size("LM, 100 steps", "LM", 100, 0),
    Size("QA, 100 steps", "QA", 100, 15),
    Size("CoT, 100 steps, replies of 500", "CoT", 100, 500),
    Size("CoT, 100 steps, replies of 3,000", "CoT", 100, 3000),
    Size("CoT, 10 steps, replies of 500", "CoT", 10, 500),
]


def english() -> list[str]:
    """Return the words of the manual, in their order."""
    pages = sorted(DOCS.rglob("*.md"))
    return re.findall(r"\S+", " ".join(page.read_text(encoding="utf-8") for page in pages))


def blocks(size: Size) -> tuple[Experiment, list[Block]]:
    """Play a few episodes of a size."""
    words, rng = english(), np.random.default_rng(1)

    def say(request: GenerateRequest | ScoreRequest) -> Said:
        if isinstance(request, ScoreRequest):
            values = rng.random(len(request.labels))
            return list(np.log(values / values.sum()).tolist())
        start, label = int(rng.integers(len(words) - size.characters)), "JF"[rng.integers(2)]
        text = " ".join(words[start : start + size.characters])[: size.characters - 15]
        return f"{text}\nFinal answer: {label}"

    experiment = make_experiment(
        {
            **{"name": "store", "games": "IPD", "partners": "tit_for_tat", "labels": "neutral"},
            **{"horizon": size.horizon, "model": "scripted:store"},
            "subjects": [{"strategy": size.strategy}],
        }
    )
    (cell,) = experiment.cells
    models = {seat: ScriptedModel(say) for seat in cell.models}
    played = (MATRIX.play.episode(cell, number, dict(models), lambda: None) for number in range(4))
    return experiment, [asyncio.run(one) for one in played]


def numbered(played: list[Block]) -> Iterator[Block]:
    """Yield episodes without end, of different numbers."""
    for number in range(1_000_000):
        one = played[number % len(played)]
        yield Block(
            *([(number, *row[1:]) for row in part] for part in (one.episodes, one.steps)),
            answers=[(number, *row[1:]) for row in one.answers],
            calls=[(number, *call[1:]) for call in one.calls],  # type: ignore[misc]
        )


@contextmanager
def as_texts() -> Iterator[None]:
    """Keep records as texts, in a table without row numbers."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(rows, "pack_json", json.dumps))
        stack.enter_context(
            mock.patch.object(schema, "_WITH_ROWID", ("cells", "origins", "answered"))
        )
        yield


@contextmanager
def as_it_is() -> Iterator[None]:
    """Change nothing."""
    yield


def write_each(store: Store, episodes: list[Any]) -> None:
    """Write one episode after the other."""
    for one in episodes:
        store.add(0, one)


def write_together(store: Store, episodes: list[Any]) -> None:
    """Write all of them in one transaction."""
    with store.together():
        write_each(store, episodes)


def write_kept(store: Store, episodes: list[Any]) -> None:
    """Write them as a driver does that heard of every reply in a turn before the episode's end."""
    with store.together():
        store.keep_replies(
            (0, row[1], "subject", sha256(f"{row[1]} {row[2]}".encode()).hexdigest(), row[-1])
            for one in episodes
            for row in one.calls
        )
    write_together(store, episodes)


class Way(NamedTuple):
    """How episodes are kept."""

    name: str
    patched: Callable[[], Any]
    packed: bool
    write: Callable[[Store, list[Any]], None]


WAYS = [
    Way("texts", as_texts, False, write_each),
    Way("blocks", as_it_is, False, write_each),
    Way("rows", as_it_is, True, write_each),
    Way(f"rows, {TURN} together", as_it_is, True, write_together),
    Way("and every reply kept", as_it_is, True, write_kept),
]


def opened(folder: Path, experiment: Experiment) -> Store:
    """Begin a store."""
    folder.mkdir()
    store, identity = Store(folder, MATRIX), experiment.identity()
    store.begin(identity, identity_sha256(identity))
    return store


def write(sizes: list[Size], episodes: int, work: Path) -> None:
    """Print how fast each way writes, and how large its store is."""
    table = []
    for index, size in enumerate(sizes):
        experiment, played = blocks(size)
        stores: dict[str, Store] = {}
        seconds: dict[str, list[float]] = {way.name: [] for way in WAYS}
        waited: dict[str, list[float]] = {way.name: [] for way in WAYS}
        sent = 0
        sources = {way.name: numbered(played) for way in WAYS}
        for way in WAYS:
            with way.patched():
                stores[way.name] = opened(work / f"{index} {way.name}", experiment)
        for _ in range(max(1, episodes // TURN)):
            for way in WAYS:
                some: list[Any] = list(islice(sources[way.name], TURN))
                if way.packed:
                    some = [Rows.of(0, one) for one in some]
                    sent = len(pickle.dumps(some[0]))
                with way.patched():
                    start, wall = time.process_time(), time.perf_counter()
                    way.write(stores[way.name], some)
                    seconds[way.name].append((time.process_time() - start) / TURN)
                    waited[way.name].append((time.perf_counter() - wall) / TURN)
        each = {}
        for way in WAYS:
            stores[way.name].close()
            count = len(seconds[way.name]) * TURN
            each[way.name] = stores[way.name].path.stat().st_size / count
        before, bytes_before = statistics.median(seconds["texts"]), each["texts"]
        for way in WAYS:
            took = statistics.median(seconds[way.name])
            table.append(
                {
                    "episodes": size.name,
                    "calls": len(played[0].calls),
                    "written as": way.name,
                    "episodes/s": round(1 / took),
                    "wall": round(1 / statistics.median(waited[way.name])),
                    "times texts": round(before / took, 2),
                    "kB each": round(each[way.name] / 1000, 1),
                    "of texts": f"{each[way.name] / bytes_before:.2f}",
                    "kB sent": round(sent / 1000, 1) if way.packed else "",
                }
            )
    print(render(table))


def pack(sizes: list[Size], work: Path) -> None:
    """Print what a record takes."""
    table = []
    for index, size in enumerate(sizes):
        experiment, played = blocks(size)
        texts = [json.dumps(call[-1]) for block in played for call in block.calls]
        schema.unpack(schema.pack(texts[0]))
        marks = [time.process_time()]
        packed = [schema.pack(text) for text in texts]
        marks.append(time.process_time())
        assert [schema.unpack(one) for one in packed] == texts
        marks.append(time.process_time())
        row: dict[str, Any] = {
            "record of": size.name,
            "bytes": round(sum(map(len, texts)) / len(texts)),
            "packed": round(sum(map(len, packed)) / len(texts)),
        }
        row["ratio"] = round(sum(map(len, texts)) / sum(map(len, packed)), 2)
        took = [(b - a) / len(texts) * 1e6 for a, b in pairwise(marks)]
        row["µs to pack"], row["µs to unpack"] = (round(value, 1) for value in took)
        for name, patched in (("texts", as_texts), ("now", as_it_is)):
            with patched():
                store = opened(work / f"count {index} {name}", experiment)
                write_together(store, list(islice(numbered(played), 20)))
                start = time.process_time()
                tallies.paid(store)
                calls = 20 * len(played[0].calls)
                row[f"µs to count, {name}"] = round((time.process_time() - start) / calls * 1e6, 1)
                store.close()
        table.append(row)
    print(render(table))


def memory(episodes: int, work: Path) -> None:
    """Print how the peak memory of a writer grows with the episodes."""
    experiment, played = blocks(SIZES[-1])
    store, source, table = opened(work / "memory", experiment), numbered(played), []
    done = 0
    for count in (episodes, 4 * episodes, 16 * episodes):
        while done < count:
            write_together(store, [Rows.of(0, one) for one in islice(source, TURN)])
            done += TURN
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = store.path.stat().st_size / 1e6
        table.append({"episodes": done, "peak MB": round(peak, 1), "store MB": round(size, 1)})
    store.close()
    print(render(table))


def main() -> None:
    """Measure, and print the tables."""
    use_one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=320)
    episodes = parser.parse_args().episodes
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        memory(episodes, work)  # first: a peak stays
        print()
        pack(SIZES, work)
        print()
        write(SIZES, episodes, work)


if __name__ == "__main__":
    main()
