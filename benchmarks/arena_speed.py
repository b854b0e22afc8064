"""Games a second of the arena's four games, beside TextArena's raw environments where installed.

CPU seconds of one thread, in one process, the sides in turn, three times; the median counts.
Every game has a seed of its own, and nothing is stored. *Scripted* are players as experiments use
them; *uniform* ones play a random legal action and say nothing. TextArena's players draw a random
legal text, as cheaply as can be.

    python benchmarks/arena_speed.py                 # prints the table
    python benchmarks/arena_speed.py --write         # puts it into docs/arena/textarena.md
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from arena_conformance import PAGE, put
from one_thread import use_one_thread
from textarena_games import available, environment

from tomeval.domains.arena.games import get_kind
from tomeval.domains.arena.policy import Policy
from tomeval.report.tables import render

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"

GAMES: dict[str, tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]] = {
    "ipd3": ({"talk": 1}, [("tit_for_tat", {}), ("grim", {}), ("promise_keeper", {})]),
    "blotto": ({}, [("mixture", {"allocations": ((10, 10, 0), (7, 7, 6))}), ("reply", {})]),
    "codenames": ({}, [("embedding", {})] * 4),
    "mafia": (
        {"talk": "free"},
        [
            ("follower", {"pick": "random"}),
            *((name, {}) for name in ("bandwagon", "liar", "random", "reactive", "grudge")),
        ],
    ),
}
"""Parameters, and the scripted players by seat. Talk is as in TextArena."""

IDS = {
    "ipd3": ("ThreePlayerIPD-v0", 3),
    "blotto": ("ColonelBlotto-v0", 2),
    "codenames": ("Codenames-v0", 4),
    "mafia": ("SecretMafia-v0", 6),
}


def ours(kind: str, scripted: bool) -> Callable[[int], None]:
    """Return a function that plays one game of ours."""
    known = get_kind(kind)
    rules, names = GAMES[kind]
    game = known.make(known.rules(**rules))
    players: list[Policy] = [known.policies[name](**options) for name, options in names]

    def play(seed: int) -> None:
        rng = np.random.default_rng(seed)
        state = game.deal(rng)
        memories = [
            p.start(game.view(state, s)) if p.remembers else None for s, p in enumerate(players)
        ]
        while due := game.due(state):
            actions = {}
            for ask in due:
                view = game.view(state, ask.seat)
                if scripted:
                    actions[ask.seat] = players[ask.seat].act(view, ask, memories[ask.seat], rng)
                else:
                    actions[ask.seat] = game.random(view, ask, rng)
            _, state = game.after(state, actions, rng)
            if scripted:
                for seat, player in enumerate(players):
                    if player.remembers:
                        view = game.view(state, seat)
                        memories[seat] = player.observe(view, memories[seat])
        game.rewards(state)

    return play


def theirs(kind: str) -> Callable[[int], None]:
    """Return a function that plays one game of TextArena."""
    name, seats = IDS[kind]
    draw = random.Random(1)
    splits = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]
    blotto = ["[A{} B{} C{}]".format(*split) for split in splits]

    def text(env: Any, seat: int) -> str:
        if kind == "ipd3":
            first, second = ((1, 2), (0, 2), (0, 1))[seat]
            moves = draw.choice(("cooperate", "defect")), draw.choice(("cooperate", "defect"))
            return f"[{first} {moves[0]}] [{second} {moves[1]}]"
        if kind == "blotto":
            return draw.choice(blotto)
        if kind == "mafia":
            return f"[{draw.choice(env.state.game_state['alive_players'])}]"
        if seat % 2 == 0:
            return "[qqq 2]"  # no word of the board has it in it
        guessed = env.state.game_state["guessed_words"]
        return f"[{draw.choice([word for word in env.board if word not in guessed])}]"

    def play(seed: int) -> None:
        env = environment(kind, name, seats, seed)
        done = False
        while not done:
            seat, _ = env.get_observation()
            done, _ = env.step(text(env, seat))
        env.close()

    return play


def per_second(play: Callable[[int], None], seconds: float, seeds: Iterator[int]) -> float:
    """Return games per CPU second, each with a seed of its own, so that nothing is played twice."""
    begin, games = time.process_time(), 0
    while (spent := time.process_time() - begin) < seconds:
        play(next(seeds))
        games += 1
    return games / spent


def rows(seconds: float) -> list[dict[str, Any]]:
    """Return the table."""
    missing = available()
    found = []
    for kind in GAMES:
        sides = {"scripted": ours(kind, True), "uniform": ours(kind, False)}
        if not missing:
            sides["TextArena"] = theirs(kind)
        for play in sides.values():
            play(0)  # what is loaded and computed once
        seeds = itertools.count(1)
        measured = [
            {name: per_second(play, seconds, seeds) for name, play in sides.items()}
            for _ in range(3)
        ]
        speed = {name: statistics.median(m[name] for m in measured) for name in sides}
        row: dict[str, Any] = {"game": kind}
        row |= {f"{name}, games/s": round(value) for name, value in speed.items()}
        if not missing:
            for name in ("scripted", "uniform"):
                ratio = statistics.median(m[name] / m["TextArena"] for m in measured)
                row[f"{name} / TextArena"] = round(ratio, 2)
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    options = parser.parse_args()
    found = rows(options.seconds)
    print(render(found, "text"))
    if why := available():
        print(f"without TextArena: {why}")
    elif options.write:
        put(PAGE, BEGIN, END, render(found, "markdown"))


if __name__ == "__main__":
    use_one_thread()
    main()
