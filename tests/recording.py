"""Digests of what is asked, and of every column that tables, comparisons, exports show.

``python tests/recording.py`` writes ``recorded.json`` anew; with names, such as ``arena_pool``,
only those. A deliberate change is recorded in a commit of its own, which says why.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import arena_table
import decrypto_support
from known import Known, fixed, make_setup, play
from support import scripts

import tomeval
from tomeval.cli import main as command_line
from tomeval.core.errors import TomevalError
from tomeval.games.arena.scripts import play_arena
from tomeval.games.matrix.games import get_game
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.play.runner import run_experiment
from tomeval.runs.analyses import known_tables
from tomeval.runs.experiment import load_experiment, make_experiment
from tomeval.strategies import all_strategies
from tomeval.strategies.asking import flatten

FILE = Path(__file__).parent / "recorded.json"


def digest(data: Any, size: int = 24) -> str:
    text = json.dumps(data, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:size]


def request(asked: GenerateRequest | ScoreRequest) -> list[Any]:
    sampling = getattr(asked, "sampling", None)
    return [
        flatten(asked.prompt),
        getattr(asked, "seed", None),
        asked.group,
        # Stop texts, which no request had, were part of what was recorded.
        sorted({**vars(sampling), "stop": ()}.items()) if sampling else None,
        list(getattr(asked, "choices", ())),
        list(getattr(asked, "labels", ())),
    ]


# Requests: each case is a name and a function that gives its digest.


def matrix_case(name: str, labels: str, strategy: Any) -> str:
    game = get_game(name)
    script = Known(game, game.label_set(labels))
    partner = fixed(game, [(2 * i + 1) % game.m for i in range(4)])
    options = {"conditional": True, "option_order": "shuffled"}
    record = play(make_setup(game, partner, strategy, 4, labels, **options), script)
    rows = [
        [record.column("own_action")],
        [record.column("predicted_action")],
        [list(map(bool, record.column("told")))],
        [[record.episode, step, form] for step, _, form, _ in record.calls],
    ]
    return digest([[request(one) for one in script.requests], rows])


DECRYPTO = {
    "both": [
        *("QA / QA", "CoT / CoT", "Social QA / QA", "Social QA + CoT / CoT", "Oracle / QA"),
        *("Oracle + CoT / CoT", "Reflexion 1 / Reflexion 2", "Reflexion 3 + CoT / Reflexion 3"),
        *("Oracle + Max / LM", "CoT + 3-Shot / CoT + 3-Shot", "Plans + Insights / Social QA"),
        "Plans + Insights + LM / Plans + Insights + LM",
    ],
    "restated": [
        *("QA -History / QA -History", "LM -History / Social LM"),
        *("S2A / S2A", "S2A + CoT / S2A + CoT", "S2A + Social QA / QA"),
        "S2A + Reflexion 2 / S2A + Reflexion 1",
    ],
}


def decrypto_case(memory: str, encoder: str, other: str, in_view: bool = False) -> str:
    logs = {
        role: decrypto_support.Logged(decrypto_support.everything)
        for role in decrypto_support.ROLES
    }
    options = {
        role: {"strategy": encoder if role == "encoder" else other, "memory": memory}
        for role in decrypto_support.ROLES
    }
    probes = decrypto_support.ALL_PROBES.model_copy(update={"beliefs_in_view": in_view})
    game = decrypto_support.play(decrypto_support.table(logs, probes=probes, **options))
    turns = [
        [
            *(turn.number, turn.hints, turn.bob, turn.eve, turn.outcomes, turn.attempts),
            *(turn.told, turn.details),
            [[p.question, p.outcome, p.value, p.attempts] for p in turn.probes],
        ]
        for turn in game.turns
    ]
    asked = {role: [request(one) for one in log.requests] for role, log in logs.items()}
    calls = [[turn, role, call.get("purpose")] for turn, role, call in game.calls]
    return digest([asked, game.status, game.outcome, turns, calls])


ARENA_GAMES = {
    "dilemma": ({"game": "ipd3", "rounds": 2, "talk": 1}, ["tit_for_tat", "promise_breaker"]),
    "blotto": ({"game": "blotto", "fields": 3, "units": 6, "rounds": 3}, ["random"]),
    "codenames": ({"game": "codenames", "preset": "small"}, ["embedding"] * 3),
    "mafia": ({"game": "mafia", "talk": "acts"}, ["believer", "follower"] * 2 + ["believer"]),
    "mafia, talking": ({"game": "mafia", "talk": "free"}, ["follower"] * 5),
}
ARENA_STRATEGIES = {
    "restated": [
        *("QA", "CoT", "CoT + 3-Shot", "Social QA", "Social LM", "S2A + CoT", "LM"),
        *("Plans + Insights", "Reflexion 2", "Oracle", "Oracle + Max", "S2A + Social QA"),
    ],
    "conversation": ["QA", "CoT", "Reflexion 1 + CoT", "Plans + Insights", "Social QA", "Oracle"],
}


def arena_case(game: str, memory: str, strategy: str) -> str:
    rules, others = ARENA_GAMES[game]
    log = arena_table.Logged(lambda _, asked: play_arena(asked))
    experiment = {
        "domain": "arena",
        "episodes": 2,
        "seed": 1,
        "values": False,
        "games": {"game": rules},
        "players": {
            "model": {"model": "scripted:logged", "strategy": strategy, "memory": memory},
            **{kind: {"kind": kind} for kind in others},
        },
        "lineups": [{"game": "game", "subject": "model", "others": [others]}],
    }
    with scripts(logged=log), tempfile.TemporaryDirectory() as folder:
        try:
            made = make_experiment(experiment, where="recorded.toml")
        except TomevalError:
            return "refused"
        run_experiment(made, Path(folder, "run"))
    return digest(sorted([request(one) for one in log.requests], key=lambda one: one[2]))


def request_cases() -> dict[str, Any]:
    """Return every case of requests by name, as a function of nothing."""
    labels = {"RPS": "neutral", "IPD": "canonical"}
    cases: dict[str, Any] = {
        f"matrix: {game}: {strategy.name}": partial(matrix_case, game, labels[game], strategy)
        for game in labels
        for strategy in all_strategies()
    }
    for memory in ("restated", "conversation"):
        for pair in DECRYPTO["both"] + DECRYPTO.get(memory, []):
            case = partial(decrypto_case, memory, *pair.split(" / "))
            cases[f"decrypto: {memory}: {pair}"] = case
    cases["decrypto: in view"] = partial(decrypto_case, "restated", "QA", "QA", True)
    for game in ARENA_GAMES:
        for memory, strategies in ARENA_STRATEGIES.items():
            for strategy in strategies:
                case = partial(arena_case, game, memory, strategy)
                cases[f"arena: {game}: {memory}: {strategy}"] = case
    return cases


# Shipped experiments that play offline, made small.
MATRIX = ["horizon=4", "episodes=6"]
ONE = ["model=pocket-rational"]
FILES: dict[str, list[str]] = {
    "arena_errors": ["episodes=6"],
    "arena_pool": ["episodes=1"],
    "beyond_adaptation": ["horizon=12", "episodes=6", *ONE],
    "beyond_levels": ["episodes=5"],
    "beyond_personas": ["horizon=2", "episodes=3"],
    "beyond_planted": ["horizon=3", "episodes=5"],
    "beyond_probabilistic": MATRIX,
    "decrypto_quickstart": ["episodes=20"],
    "fresh_quickstart": ["horizon=2", "episodes=3"],
    "internal_quickstart": ["horizon=3", "episodes=12"],
    "known_models": ["horizon=3", "episodes=2"],
    "known_players": ["horizon=20", "episodes=8"],
    "pocket_dissociation": MATRIX,
    "pocket_held_out": ["horizon=3", "episodes=5", *ONE],
    "sixteen_subjects": ["horizon=20", "episodes=8"],
    "tabular_baseline": ["episodes=20"],
    "arena_quickstart": ["episodes=6"],
    "arena_league": [],
    "arena_reference": [],
    "beyond_quickstart": ["horizon=12", "episodes=6"],
    "beyond_sensitivity": ["horizon=2", "episodes=5", *ONE],
    "pocket_strategies": ["horizon=2", "episodes=5"],
    "quickstart": MATRIX,
}
QUICK: dict[str, tuple[str, ...]] = {
    "arena_errors": (),
    "beyond_adaptation": ("adaptation",),
    "beyond_planted": ("planted",),
    "decrypto_quickstart": (
        *("cells", "functional", "outcomes", "turns"),
        "differences",
        *("steps", "episodes", "answers"),
    ),
    "known_players": (),
    "pocket_dissociation": (),
}
"""What the gate checks of which: these values of ``--what``, or every command where none is named.

Of each domain and of each table one is left; `make slow` checks every command of every experiment.
"""


def printed(*arguments: str) -> str:
    """Return what a command prints."""
    screen = io.StringIO()
    code: Any = None
    with (
        mock.patch.object(sys, "argv", ["tomeval", *arguments]),
        redirect_stdout(screen),
        redirect_stderr(io.StringIO()),
    ):
        try:
            command_line()
        except SystemExit as stop:
            code = stop.code
    return f"refused: exit {code}\n" if code else screen.getvalue()


NUMBER = re.compile(r"-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")

Column = str | list[Any]
"""A digest; or that of the text between the numbers, and their count, sum and weighted sum."""


def _shortened(number: re.Match[str]) -> str:
    value = float(number[0])
    return f"{value if abs(value) >= 1e-12 else 0.0:.9g}"


def columns(text: str, approximate: bool) -> dict[str, Column]:
    """Return what is recorded of each column of a CSV: numbers with 9 digits, 0 below 1e-12.

    The last bits of models on torch differ by machine, and by what was asked at the same time:
    their numbers are summed up, see `Column`.
    """
    head, *rows = csv.reader(io.StringIO(text))
    assert len({*head}) == len(head), "a column stands there twice"
    recorded: dict[str, Column] = {}
    for place, name in enumerate(head):
        values = [row[place] for row in rows]
        numbers = [float(number) for value in values for number in NUMBER.findall(value)]
        if approximate and numbers:
            between = digest([NUMBER.sub("#", value) for value in values], 8)
            weighted = sum(number * (1 + index % 97) for index, number in enumerate(numbers))
            recorded[name] = [between, len(numbers), round(sum(numbers), 6), round(weighted, 4)]
        else:
            plain = [NUMBER.sub(_shortened, value) for value in values]
            recorded[name] = digest(plain, 8)
    return recorded


def same(recorded: Column, printed: Column | None) -> bool:
    """Tell whether a column is as it was recorded."""
    if isinstance(recorded, str) or not isinstance(printed, list):
        return recorded == printed
    near = (
        math.isclose(*pair, rel_tol=1e-5, abs_tol=1e-3)
        for pair in zip(recorded[2:], printed[2:], strict=True)
    )
    return recorded[:2] == printed[:2] and all(near)


def commands(folder: str) -> Iterator[tuple[str, ...]]:
    """Yield every command whose CSV is recorded."""
    with tomeval.Run(folder) as run:
        domain = run.domain
        known = known_tables(domain).items()
        for table in ["cells", *(name for name, table in known if table.present(run))]:
            yield ("table", folder, "--all", "--what", table)
    yield ("compare", folder, "--what", "differences", "--resamples", "99")
    for what in ("steps", "episodes", "answers", "cells"):
        yield ("export", folder, "--what", what)


def experiment_cases() -> dict[str, Any]:
    """Return every shipped experiment by name, as a function of nothing."""
    return {name: partial(experiment_case, name) for name in FILES}


def experiment_case(name: str, wanted: tuple[str, ...] = ()) -> dict[str, dict[str, Column]]:
    """Play a shipped experiment, made small; return the digests of what commands print of it.

    Where values of ``--what`` are wanted, only these commands are run.
    """
    with tempfile.TemporaryDirectory() as home:
        folder = f"{home}/run"
        # Some shipped experiments are for models that read prompts which the embedded one cannot.
        tomeval.run(load_experiment(name, FILES[name]), folder, go_on=True).close()
        approximate = '"pocket' in Path(folder, "experiment.json").read_text(encoding="utf-8")
        return {
            " ".join([command[0], *command[2:]]): columns(
                printed(*command, "--format", "csv"), approximate
            )
            for command in commands(folder)
            if not wanted or what(command) in wanted
        }


def what(command: Sequence[str]) -> str:
    """Return the value of ``--what``."""
    return command[command.index("--what") + 1]


def main(wanted: list[str]) -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    for kind, cases in (("requests", request_cases()), ("experiments", experiment_cases())):
        for name, case in cases.items():
            if not wanted or name in wanted:
                recorded[kind][name] = case()
    text = json.dumps(recorded, indent=1, sort_keys=True)
    in_line = re.sub(r"\[\s+([^][]*?)\s+\]", lambda one: f"[{' '.join(one[1].split())}]", text)
    FILE.write_text(f"{in_line}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
