"""Small arena runs for tests of what people read."""

from __future__ import annotations

import json
from contextlib import contextmanager

from support import scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.readers import MARKER

PLAYERS = {
    "tft": {"kind": "tit_for_tat"},
    "alld": {"kind": "always_defect"},
    "chance": {"kind": "random"},
    "planner": {"kind": "planner"},
    "sloppy": {"kind": "tit_for_tat", "error_rate": 0.4},
    "band": {"kind": "bandwagon"},
    "believer": {"kind": "believer"},
    "clumsy": {"kind": "reactive", "error_rate": 0.3},
}


@contextmanager
def played(folder, lineups, games=None, **more):
    """Play an experiment into a folder, and open the run."""
    experiment = {
        "domain": "arena",
        "episodes": 6,
        "seed": 1,
        "games": games or {},
        "players": {**PLAYERS, **more.pop("players", {})},
        "lineups": lineups,
        **more,
    }
    with tomeval.run(make_experiment(experiment, where="x.toml"), folder) as run:
        yield run


@contextmanager
def talking(folder, message, **more):
    """Play two dilemmas of a model that says one message and cooperates, against two known."""
    get_domain("arena")  # its own scripts first

    def script(request):
        text = request.prompt.messages[-1].content
        key = next((k for k in ("message", "moves", "answer", "move") if f'"{k}"' in text), None)
        if key is None:
            raise TomevalError(f"no form in the prompt: {text[-200:]}")
        said = {"message": message, "moves": "cooperate", "move": "defect", "answer": "yes"}[key]
        items = [said] * (2 if key == "moves" else 1)
        return f"{message}\n{MARKER} {json.dumps({key: items})}"

    model = {"model": "scripted:talker"}
    games = {"g": {"game": "ipd3", "rounds": 2, "talk": 1, "message_limit": 100_000}}
    lineups = [{"game": "g", "subject": "m", "others": ["tft", "alld"]}]
    with (
        scripts(talker=script),
        played(folder, lineups, games, players={"m": model}, episodes=2, **more) as run,
    ):
        yield run


MAFIA = {
    "values": False,  # which would take long
    "games": {
        "quiet": {"game": "mafia"},
        "acts": {"game": "mafia", "talk": "acts"},
        "talk": {"game": "mafia", "talk": "free", "talk_rounds": 2},
    },
    "lineups": [
        {
            "game": ["quiet", "acts", "talk"],
            "subject": ["chance"],
            "others": [["band", "believer", "clumsy", "band", "believer"]],
        }
    ],
}
