"""Small runs of every kind of game, played whole and in shards, and stores made of some rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import every_domain
from support import scripts

from tomeval.extensions.shards.sharding import Shard
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import add_session, begin_or_resume, make_folder
from tomeval.runs.runner import run_experiment
from tomeval.runs.store import Store

SIMULATED = {
    "name": "simulated",
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "noisy_tit_for_tat(0.2)"],
    "subjects": ["rmax", {"kind": "simulated", "p": 0.8}],
    "horizon": 6,
    "episodes": 5,
    "seed": 3,
}
ARENA = {
    "domain": "arena",
    "episodes": 5,
    "games": {"g": {"game": "ipd3", "rounds": 3}},
    "players": {
        "tft": {"kind": "tit_for_tat"},
        "alld": {"kind": "always_defect"},
        "r": {"kind": "random"},
    },
    "lineups": [
        {"game": "g", "subject": "tft", "others": ["r", "alld"]},
        {"game": "g", "subject": "r", "others": ["tft", "alld"]},
    ],
}
KINDS = ("simulated", "matrix", "decrypto", "arena", "toy")


def experiment(kind: str, **more: Any):
    """Return a small experiment, simulated or of scripted language models; seconds at most."""
    if kind == "simulated":
        return make_experiment(SIMULATED | more)
    if kind == "arena":
        return make_experiment(ARENA | more)
    return make_experiment(
        every_domain.experiment(kind, "scripted:rule", **({"episodes": 5} | more))
    )


def script_of(kind: str):
    """Return the script that a kind of game needs; some of its replies cannot be read."""
    if kind in ("simulated", "arena"):
        return lambda request: "nothing"
    good = every_domain.good(kind)
    episode = every_domain.episode_of
    return lambda request: "what?" if episode(request) % 4 == 3 else good(request)


def play(kind: str, folder: Path, shard: Shard | None = None, script=None, **more: Any) -> Path:
    """Play an experiment, or a shard of it, and return its folder."""
    with scripts(rule=script or script_of(kind)):
        run_experiment(experiment(kind, **more), folder, part=shard)
    return folder


def play_shards(kind: str, folder: Path, count: int, **more: Any) -> list[Path]:
    """Play all shards of an experiment and return their folders."""
    shards = [Shard(number, count) for number in range(1, count + 1)]
    return [play(kind, folder / f"shard{s.number}", s, **more) for s in shards]


def places(folder: Path) -> set[tuple[int, int]]:
    """Return cell and episode of all that is stored."""
    with closing(Store(folder)) as store:
        return set(store.query("SELECT cell, episode FROM episodes"))


def part_of(whole: Path, folder: Path, chosen: Iterable[tuple[int, int]]) -> Path:
    """Make a run folder of some of a run's episodes."""
    make_folder(folder)
    with closing(Store(whole)) as store:
        part = Store(folder, get_domain(store.domain.name))
        try:
            begin_or_resume(part, folder, store.identity(), 5)
            add_session(folder, 5)
            for place in sorted(chosen):
                part.add(place[0], store.played(*place))
        finally:
            part.close()
    return folder


def listed(folder: Path, name: str) -> list[Any]:
    """Return a list beside a store."""
    return json.loads((folder / name).read_text())
