"""Prompts of the arena as models read them, one file per template, for people to review.

``python tests/games/arena/test_golden.py --write`` writes the files anew.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

if __name__ == "__main__":  # as a test, pytest has put the folder on the path
    sys.path.insert(0, str(Path(__file__).parents[2]))

import golden_files
import numpy as np
import pytest

from tomeval.games.arena.domain import ARENA
from tomeval.games.arena.named_games import GAMES, get_kind
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import flatten
from tomeval.strategies.recording import times_asked
from tomeval.strategies.templates import Prompts, load_prompts

# For every shared template: game, strategy, options, question, step, and which of its calls.
SHARED: dict[str, tuple] = {
    "context/history": ("ipd3", "QA", {}, "talk", 1, -1),
    "context/news": ("ipd3", "QA", {"memory": "conversation"}, "moves", 2, -1),
    "context/s2a_act": ("ipd3", "S2A", {}, "moves", 2, 0),
    "context/s2a_predict": ("ipd3", "S2A", {}, "move", 2, 2),
    "context/summary": ("ipd3", "S2A", {}, "moves", 2, -1),
    "answer/dots": ("ipd3", "QA", {}, "move", 1, -1),
    "answer/qa": ("ipd3", "QA", {}, "moves", 1, -1),
    "answer/cot": ("ipd3", "CoT", {}, "moves", 1, -1),
    "answer/lm": ("ipd3", "Social LM", {}, "moves", 2, 0),
    "advice/plans_insights_write": ("mafia", "Plans + Insights + LM", {}, "vote", 1, -2),
    "advice/social": ("ipd3", "Social QA", {}, "moves", 2, -1),
    "advice/oracle": ("ipd3", "Oracle", {}, "moves", 2, -1),
    "advice/oracle_max": ("ipd3", "Oracle + Max", {}, "moves", 2, -1),
    "advice/reflexion": ("ipd3", "Reflexion 2", {}, "moves", 2, -1),
    "advice/reflexion_write": ("ipd3", "Reflexion 2", {}, "moves", 2, 0),
    "advice/plans_insights": ("ipd3", "Plans + Insights", {}, "moves", 2, -1),
    "advice/plans_insights_ask": ("ipd3", "Plans + Insights", {}, "moves", 1, -1),
}


def templates() -> list[str]:
    """Return the templates that prompts show."""
    return list(Prompts("arena").names())


@cache
def episodes(game: str, strategy: str, options: tuple, talk: str) -> list:
    """Return what is asked in made-up games, with parameters under which templates are shown."""
    rules: dict = {}
    if talk:
        rules = {"talk": talk, "probes": ["mafia", "doctor", "detective", "dies", "voted_out"]}
    data = {
        "domain": "arena",
        "games": {game: {"game": game, **rules}},
        "players": {
            "model": {"model": "scripted:arena", "strategy": strategy, **dict(options)},
            "random": {"kind": "random"},
        },
        "lineups": [{"game": game, "subject": "model", "others": "random"}],
    }
    return ARENA.questions(make_experiment(data).cells[0], "subject", "")


def talk_of(name: str) -> str:
    """Return how much is said in Mafia where a template of its own is shown."""
    return ("acts" if name.endswith("/act") else "free") if name.startswith("mafia/") else ""


def shown(name: str) -> tuple:
    """Return what shows a template."""
    if name in SHARED:
        return SHARED[name]
    game, _, part = name.partition("/")
    kind, _, question = part.partition("/")
    if kind == "examples":
        return (game, "CoT + 3-Shot", {}, question, 1, -1)
    if kind in ("ask", "probe"):
        return (game, "QA", {}, question, 2, -1)
    first = episodes(game, "QA", (), talk_of(name))[0][0].form
    return (game, "QA", {}, first, 3, -1)


def word() -> str:
    """Return the question whether an opponent keeps its word, which only a promise raises."""
    kind = get_kind("ipd3")
    game = kind.make(kind.rules())
    rng = np.random.default_rng(0)
    state = game.deal(rng)
    for seat in range(3):
        said = "I will cooperate with Player 0." if seat == 1 else ""
        _, state = game.after(state, {seat: said}, rng)
    view, ask = game.view(state, 0), game.due(state)[0]
    (probe,) = [probe for probe in game.probes(view._state, ask, None, {}) if probe.name == "word"]
    values = {"game": game, "view": view, "ask": ask, "probe": probe}
    asked = load_prompts("arena").render("ipd3/probe/word", **values)
    return f"ipd3/probe/word: the question alone\n\n{asked}\n"


def rendered(name: str) -> str:
    """Return a question of a made-up game that shows a template."""
    if name == "ipd3/probe/word":
        return word()
    game, strategy, options, question, step, call = shown(name)
    asked = episodes(game, strategy, tuple(options.items()), talk_of(name))
    times = times_asked(asked, question)
    prompt = times[min(step, len(times)) - 1][call].prompt
    said = ", ".join([game, strategy, *map(str, options.values())])
    return f"{name}: {said}\n\n{flatten(prompt)}\n"


def test_every_template_is_shown() -> None:
    assert set(SHARED) == {name for name in templates() if name.split("/")[0] not in GAMES}
    golden_files.check_names("arena", templates())


@pytest.mark.parametrize("name", templates())
def test_golden(name) -> None:
    golden_files.check("arena", name, rendered(name))


if __name__ == "__main__":
    golden_files.write("arena", templates(), rendered)
