"""Trajectories made in tests: games of ours, written as TextArena's players write them."""

import json

import numpy as np

from tomeval.games.arena.named_games import textarena_kind

PROMPT = "You are Player {seat}.\nYour role: {role}\n\nPlayers: {players}\n\n"


def lines_of(name, seats, episode, seed, players=None):
    """Return a random game of ours as lines; the last line has the rewards."""
    kind, wording, plain, _ = textarena_kind(name)
    game = kind.make(kind.rules(**wording.parameters(plain, seats)))
    rng = np.random.default_rng(seed)
    first = state = game.deal(rng)
    lines = []
    while due := game.due(state):
        actions = {}
        for ask in due:
            view = game.view(state, ask.seat)
            actions[ask.seat] = game.random(view, ask, rng)
            text = wording.write(game, ask, actions[ask.seat])
            lines.append({"seat": ask.seat, "action": text})
        _, state = game.after(state, actions, rng)
    finish(lines, name, episode, game.rewards(state), players)
    show_deal(lines, kind.name, game, first)
    return lines, game, state


def finish(lines, name, episode, rewards, players=None):
    """Add what every line has, and the rewards."""
    for step, line in enumerate(lines):
        line |= {"game": name, "episode": episode, "step": step, "observation": ""}
        if players:
            line["players"] = list(players)
    lines[-1]["rewards"] = list(rewards)


def show_deal(lines, kind, game, first):
    """Put into the first observation of a seat what it was dealt."""
    seen = set()
    for line in lines:
        seat = line["seat"]
        if seat in seen:
            continue
        seen.add(seat)
        if kind == "mafia":
            players = ", ".join(f"Player {i}" for i in range(game.seats))
            role = first.roles[seat].capitalize()
            line["observation"] = PROMPT.format(seat=seat, role=role, players=players)
        if kind == "codenames" and seat in (0, 2):
            letters = [
                ("RBNA"[c], w) for w, c in zip(first.board.words, first.board.key, strict=True)
            ]
            rows = "".join(f"{word:<8} {letter} \n" for letter, word in letters)
            line["observation"] = f"[GAME] Codenames Words:\n{rows}"


def write(path, *games):
    """Write lines as a file."""
    rows = [json.dumps(line) for lines in games for line in lines]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
