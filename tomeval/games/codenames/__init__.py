"""Codenames, the word game of spymasters and operatives, and the values of its seats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from tomeval.games.arena.named_games import Kind
from tomeval.games.arena.wording import Reading, Wording, whole
from tomeval.games.codenames.policies import POLICIES
from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import COLOURS, Board, CodenamesRules
from tomeval.games.codenames.values import CodenamesSolver
from tomeval.games.game import Action, Ask, Broken

_CLUE = re.compile(r"\[(\w+)\s+(\d+)\]")
_GUESS = re.compile(r"\[(\w+)\]")
_ROW = re.compile(r"^(\S+)\s+([RBNA])\s*$", re.MULTILINE)
_LETTERS = {colour[0].upper(): number for number, colour in enumerate(COLOURS)}


class CodenamesWording(Wording):
    """What cannot be read ends the team's turn; a clue that gives a word away loses at once."""

    ids: ClassVar = {"Codenames-v0": {}, "Codenames-v0-hardcore": {}}
    seats = range(4, 5)
    talks = False
    attempts = 1
    policy = "default"

    def write(self, game: Any, ask: Ask, action: Action) -> str:
        """Return the clue, the guess, or the pass."""
        if ask.kind == "clue":
            return "[]" if action is None else f"[{action[0]} {action[1]}]"
        return f"[{'pass' if action is None else action}]"

    def read(self, view: Any, ask: Ask, text: str) -> Reading:
        """Read a clue or a guess."""
        game = view.game
        if ask.kind == "clue":
            said = _CLUE.search(text)
            if said is None:
                return Reading(None, Broken("format", "it has no clue such as [word 2]"))
            clue = (said.group(1), whole(said.group(2)))
            broken = game.fault(view, ask, clue)
            return Reading(clue, broken, broken is None)
        said = _GUESS.search(text)
        if said is None:
            return Reading(None, Broken("format", "it has no word in brackets"))
        word = said.group(1).lower()
        if word == "pass":
            return Reading(None)
        if word not in view.covered:
            return Reading(None, Broken("target", f"{word[:60]!r} is not a covered board word"))
        return Reading(word)

    def dealt(self, game: Any, seen: Mapping[int, str], given: Any) -> Any:
        """Return the board that a spymaster was shown, or that the file gives."""
        if given is not None:
            pairs = list(given.items()) if isinstance(given, dict) else []
        else:
            shown = (_ROW.findall(seen.get(seat, "")) for seat in (0, 2))
            pairs = next((rows[: game.size] for rows in shown if rows), [])
        key = [_LETTERS.get(str(letter)[:1].upper()) for _, letter in pairs]
        counts = tuple(key.count(number) for number in range(len(COLOURS)))
        if None in key or counts != game.counts or len(dict(pairs)) < len(pairs):
            return (
                "the board is unknown: the first observation of seat 0 or 2, or the field "
                f"'deal', must show {game.size} words with R, B, N or A"
            )
        return game.begin(Board(tuple(str(word) for word, _ in pairs), tuple(k or 0 for k in key)))

    def deal_of(self, state: Any) -> dict[str, str]:
        """Return the board: R, B, N or A by word."""
        letters = list(_LETTERS)
        return {w: letters[c] for w, c in zip(state.board.words, state.board.key, strict=True)}


KIND = Kind(
    name="codenames",
    title="Codenames",
    rules=CodenamesRules,
    presets={"small": {"red": 3, "blue": 3, "neutral": 2, "assassin": 1}},
    make=Codenames,
    policies=POLICIES,
    solver=CodenamesSolver,
    wording=CodenamesWording(),
)
