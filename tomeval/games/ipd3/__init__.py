"""Three-player iterated prisoner's dilemma with talk."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from tomeval.games.arena.named_games import Kind
from tomeval.games.arena.wording import Reading, Wording, whole
from tomeval.games.enumeration import enumeration
from tomeval.games.game import Action, Ask, Broken
from tomeval.games.ipd3.policies import POLICIES
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import OPPONENTS, Rules

_TOKEN = re.compile(r"\[\s*(\d+)\s+(cooperate|defect)\s*\]", re.IGNORECASE)


def decisions(text: str, others: tuple[int, ...]) -> tuple[dict[int, str], Broken | None]:
    """Return what TextArena takes a text for, by opponent, and what is wrong with it.

    Whoever is not named is cooperated with; of several decisions about one opponent the last
    counts.

    Examples
    --------
    >>> decisions("[1 Defect]", (1, 2))[0]
    {1: 'defect', 2: 'cooperate'}
    >>> decisions("[1 Defect]", (1, 2))[1].text
    'no decision on player 2'
    >>> decisions("I take [1 defect] [2 defect], so [2 defect]", (1, 2))[1] is None
    True
    """
    taken = dict.fromkeys(others, "cooperate")
    said: dict[int, set[str]] = {}
    for number, move in _TOKEN.findall(text):
        said.setdefault(whole(number), set()).add(move.lower())
        if whole(number) in taken:
            taken[whole(number)] = move.lower()
    missing = [seat for seat in others if seat not in said]
    if strangers := [seat for seat in said if seat not in taken]:
        return taken, Broken("target", f"player {strangers[0]} is not an opponent")
    if missing:
        return taken, Broken("format", f"no decision on player {missing[0]}")
    if torn := [seat for seat in others if len(said[seat]) > 1]:
        return taken, Broken("format", f"two decisions on player {torn[0]}")
    return taken, None


class Ipd3Wording(Wording):
    """Messages are free; decisions are read wherever they stand."""

    ids: ClassVar = {"ThreePlayerIPD-v0": {"rounds": 5, "talk": 1, "reward": "rank"}}
    seats = range(3, 4)
    talks = True
    policy = "default"

    def write(self, game: Any, ask: Ask, action: Action) -> str:
        """Return the message, or both decisions."""
        if ask.kind == "talk":
            return str(action)
        pairs = zip(OPPONENTS[ask.seat], action, strict=True)
        return " ".join(f"[{seat} {move}]" for seat, move in pairs)

    def read(self, view: Any, ask: Ask, text: str) -> Reading:
        """Read a message, or both decisions."""
        if ask.kind == "talk":
            return Reading(text)
        taken, broken = decisions(text, OPPONENTS[ask.seat])
        return Reading(tuple(taken.values()), broken)


KIND = Kind(
    name="ipd3",
    title="three-player iterated prisoner's dilemma",
    rules=Rules,
    presets={
        "mindgames": {"rounds": 5, "talk": 1, "reward": "rank"},
        "silent": {"talk": 0},
    },
    make=Ipd3,
    policies=POLICIES,
    solver=enumeration,
    wording=Ipd3Wording(),
)
"""The game, as the arena's registry knows it."""
