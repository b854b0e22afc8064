"""Random games in TextArena's raw environments, as lines of trajectories.

What players write is drawn here: texts that the environment accepts, and, at a given rate, texts
that break the rules. The environment decides whose turn it is, what a text means and how it ends.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import random
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tomeval.lexicon.words import shipped_lists

IDS = {
    "ipd3": ("ThreePlayerIPD-v0",),
    "blotto": (
        "ColonelBlotto-v0",
        "ColonelBlotto-v0-small",
        "ColonelBlotto-v0-large",
    ),
    "codenames": ("Codenames-v0",),
    "mafia": ("SecretMafia-v0",),
}
"""The ids that our games stand for."""

_SEATS = {"ipd3": 3, "blotto": 2, "codenames": 4}
_VERSION = "0.7.4"  # the one whose behaviour our games can repeat


def available() -> str:
    """Return why TextArena cannot be used; empty if it can."""
    try:
        version = importlib.metadata.version("textarena")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    return "" if version == _VERSION else f"needs textarena=={_VERSION}; installed: {version}"


def environment(kind: str, name: str, seats: int, seed: int) -> Any:
    """Return a raw environment after its deal.

    Codenames gets our board words: its own are downloaded when it is imported.
    """
    if kind == "codenames":
        with unittest.mock.patch("nltk.download"):
            module = importlib.import_module("textarena.envs.Codenames.env")
        env = module.CodenamesEnv.__new__(module.CodenamesEnv)
        env.max_turns = 80
        env.word_list = [word for word in shipped_lists().keywords if word.isalpha()]
    else:
        env = importlib.import_module("textarena").make(f"{name}-raw")
    env.reset(num_players=seats, seed=seed)
    return env


def seats_of(kind: str, rng: np.random.Generator) -> int:
    """Return a number of players: 6 to 15 in Secret Mafia."""
    return _SEATS.get(kind) or int(rng.integers(6, 16))


def _ipd3(env: Any, seat: int, rng: np.random.Generator) -> str:
    if env.state.game_state["phase"] == "conversation":
        return str(rng.choice(["", "I will cooperate.", "hm, [Player 1] \n is odd"]))
    others = [other for other in range(3) if other != seat]
    moves = [str(rng.choice(["cooperate", "Defect"])) for _ in others]
    return " and ".join(f"[{o} {move}]" for o, move in zip(others, moves, strict=True))


def _blotto(env: Any, seat: int, rng: np.random.Generator) -> str:
    cuts = np.sort(rng.integers(0, env.num_total_units + 1, env.num_fields - 1))
    units = np.diff([0, *cuts, env.num_total_units])
    pairs = [
        f"{n}{u}" for n, u in zip(env.field_names, units, strict=True) if u or rng.random() > 0.3
    ]
    return f"I take [{' '.join(pairs)}]"


def _codenames(env: Any, seat: int, rng: np.random.Generator) -> str:
    if seat % 2 == 0:
        bank = shipped_lists().hints
        while True:
            clue = bank[int(rng.integers(len(bank)))]
            fits = clue.isalpha() and not any(clue in word or word in clue for word in env.board)
            if fits:
                return f"[{clue} {rng.integers(0, 6)}]"
    left = [word for word in env.board if word not in env.state.game_state["guessed_words"]]
    return "[pass]" if rng.random() < 0.1 else f"[{rng.choice(left)}]"


def _mafia(env: Any, seat: int, rng: np.random.Generator) -> str:
    target = rng.choice(env.state.game_state["alive_players"])
    if env.phase.value == "Day-Discussion":
        return str(rng.choice(["", "It was [Player 2].", "who knows?"]))
    return str(rng.choice([f"[{target}]", f"I say [Player {target}]", f"[0] no:[player{target}]"]))


LEGAL: dict[str, Callable[[Any, int, np.random.Generator], str]] = {
    "ipd3": _ipd3,
    "blotto": _blotto,
    "codenames": _codenames,
    "mafia": _mafia,
}
"""Draws of texts that the environment accepts."""


def _broken(kind: str, env: Any, seat: int, rng: np.random.Generator) -> str:
    """Draw a text that breaks the rules of a decision."""
    texts = {
        "ipd3": [
            "I cooperate",
            "[1 defect]",
            "[9 defect] [0 defect] [1 defect]",
            "[2 defect] [2 cooperate]",
        ],
        "blotto": [
            "",
            "[A10]",
            "[A4 A4]",
            "[Z20]",
            "[A-5 B25]",
            "[A 20; B 0]",
            "[A99 B1 C1]",
            "none",
        ],
        "codenames": ["", "wind 2", "[wind]", "[wind two]", "[two words]", "[zzzz]", "[Pass"],
        "mafia": ["", "nobody", "[99]", "[Player x]", "Player 2", "[-1]"],
    }[kind]
    if kind == "codenames":
        word = str(rng.choice(list(env.board)))
        texts += [f"[{word} 2]", f"[{word}s 1]", f"[{word[:3]} 1]", f"[{word.upper()} 2]"]
        texts += [f"[{gone}]" for gone in sorted(env.state.game_state["guessed_words"])[:1]]
    if kind == "mafia":
        alive = env.state.game_state["alive_players"]
        texts += [f"[{gone}]" for gone in range(env.state.num_players) if gone not in alive][:1]
    return str(rng.choice(texts))


def lines(kind: str, name: str, seed: int, broken: float) -> Iterator[dict[str, Any]]:
    """Play a game and yield its lines; the last one has the rewards."""
    rng = np.random.default_rng(seed)
    seats = seats_of(kind, rng)
    kept = random.getstate()
    try:
        env = environment(kind, name, seats, seed)
        done, step = False, 0
        while not done:
            seat, messages = env.get_observation()
            wrong = rng.random() < broken
            text = _broken(kind, env, seat, rng) if wrong else LEGAL[kind](env, seat, rng)
            done, _ = env.step(text)
            line = {"game": f"{name}-raw", "episode": seed, "step": step, "seat": seat}
            line |= {"action": text, "observation": "\n".join(text for _, text, _ in messages)}
            if done:
                rewards, _ = env.close()
                line["rewards"] = [float(rewards[i]) for i in range(seats)]
            yield line
            step += 1
    finally:
        random.setstate(kept)
