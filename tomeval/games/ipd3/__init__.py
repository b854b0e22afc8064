"""Three-player iterated prisoner's dilemma with talk."""

from __future__ import annotations

import re
from typing import Any, ClassVar, cast

from tomeval.games.arena.named_games import Kind
from tomeval.games.arena.wording import Reading, Wording, whole
from tomeval.games.enumeration import enumeration
from tomeval.games.game import Action, Ask, Broken
from tomeval.games.ipd3.machine import Machine, Row
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import OPPONENTS, Rules


def _named(name: str, about: str, **rows: Row) -> type[Machine]:
    """Return a known machine that begins in the first of its states."""
    members = {"about": about, "__doc__": about, "rows": rows, "__module__": __name__}
    made = type(name, (Machine,), members)
    globals()[name] = made  # where other processes look for it
    return cast("type[Machine]", made)


NICE, NASTY = Row("C"), Row("D")

POLICIES: dict[str, type[Machine]] = {
    "always_cooperate": _named("AlwaysCooperate", "always cooperates", C=NICE),
    "always_defect": _named("AlwaysDefect", "always defects", D=NASTY),
    "tit_for_tat": _named(
        "TitForTat",
        "repeats toward each opponent that opponent's last move toward it",
        C=Row("C", moves=(("??D???", "D"),)),
        D=Row("D", moves=(("??C???", "C"),)),
    ),
    "grim": _named(
        "Grim",
        "defects for ever on an opponent that once defected on it",
        C=Row("C", moves=(("??D???", "D"),)),
        D=NASTY,
    ),
    "win_stay_lose_shift": _named(
        "WinStayLoseShift",
        "keeps its move toward an opponent that cooperated, else changes it",
        C=Row("C", moves=(("C?D???", "D"), ("D?C???", "D"))),
        D=Row("D", moves=(("C?C???", "C"), ("D?D???", "C"))),
    ),
    "retaliator": _named(
        "Retaliator",
        "defects for a round on an opponent that defected on anybody",
        C=Row("C", moves=(("??D???", "D"), ("???D??", "D"))),
        D=Row("D", moves=(("??CC??", "C"),)),
    ),
    "promise_keeper": _named(
        "PromiseKeeper", "promises cooperation to both and keeps its word", C=Row("C", "p")
    ),
    "promise_breaker": _named(
        "PromiseBreaker", "promises cooperation to both and defects", D=Row("D", "p")
    ),
    "believer": _named(
        "Believer",
        "cooperates with an opponent that promised it, in this round",
        D=Row("D", hears=(("first", "p?", "C"),)),
        C=Row("C", moves=(("??????", "D"),)),
    ),
    "once_bitten": _named(
        "OnceBitten",
        "believes an opponent's promises until one is broken",
        D=Row("D", hears=(("first", "p?", "C"),)),
        C=Row("C", moves=(("??D???", "bitten"), ("??????", "D"))),
        bitten=NASTY,
    ),
}
"""All scripted players by name."""


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
    endings={
        "played": "all rounds were played",
        "forfeit": "a player broke the rules for good and lost",
        "alone": "two players were eliminated",
    },
    wording=Ipd3Wording(),
)
"""The game, as the arena's registry knows it."""
