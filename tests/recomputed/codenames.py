"""Codenames: who uncovers what; V*, Q* and the exact observer are taken as exported."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from recomputed.arena_games import Asked, Fact, Game, action
from recomputed.common import NAN, number


def read_boards(path: Path) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """Return words and their colours by cell and game, from transcripts with a line for each."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found, place = {}, ("", "")
    for line in text.splitlines():
        if line.startswith("# "):
            place = tuple(line[2:].split())
        elif line.startswith("The board: "):
            words = line.partition(": ")[2].split(", ")
        elif " The key: " in line:
            found[place] = words, line.partition(" The key: ")[2].split(", ")
    return found


def codenames(game: Game, words: list[str], key: list[str]) -> Game:
    """Clues and guesses: who uncovers what; V*, Q* and the observer as exported."""
    colour, covered = dict(zip(words, key, strict=True)), set(words)
    sides = ("red", "blue")
    winner, rounds, facts, left = None, 0, [], 0
    for row in game.rows:
        side, what = int(row["seat"]) // 2, action(row)
        if row["kind"] == "clue":
            rounds, left = rounds + 1, what[1] + 1
        elif what is not None:
            covered.discard(what)
            gone = [s for s in (0, 1) if not any(colour[w] == sides[s] for w in covered)]
            winner = 1 - side if colour[what] == "assassin" else gone[0] if gone else winner
            left = left - 1 if colour[what] == sides[side] else 0
        else:
            left = 0
        if row["slot"] == "0":
            facts.append(codenames_fact(row))
    assert winner is not None  # no game of these runs into the limit of its decisions
    wins = tuple(float(seat // 2 == winner) for seat in range(4))
    return game._replace(
        rewards=tuple(2 * win - 1 for win in wins),
        wins=wins,
        teams=((0, 1), (2, 3)),
        rounds=rounds,
        facts=tuple(facts),
    )


def codenames_fact(row: dict[str, str]) -> Fact:
    """Return a decision with its exported values; hits from what was said and true."""
    asked = []
    for told in json.loads(row["probes"]).values():
        answer, truth = told["said"], told["truth"]
        if told["probe"] == "takes":
            same = [a == b for a, b in zip(answer, truth, strict=False)]
            start = len(list(itertools.takewhile(bool, same)))
            hit = start / max(len(answer), len(truth))
        elif told["probe"] == "meant":
            hit = len(set(answer) & set(truth)) / max(len(answer), len(truth))
        else:
            hit = float(answer == truth)
        asked.append(Asked(hit, NAN if told["attainable"] is None else told["attainable"]))
    acted = bool(row["reply"]) and json.loads(row["reply"]) == json.loads(row["action"])
    return Fact(number(row["regret"]), number(row["tom_regret"]), acted, asked=tuple(asked))
