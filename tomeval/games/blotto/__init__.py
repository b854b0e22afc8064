"""Colonel Blotto: two players divide their units among fields, hidden from each other."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from tomeval.games.arena.named_games import Kind
from tomeval.games.arena.wording import Reading, Wording, whole
from tomeval.games.blotto.exact import solver
from tomeval.games.blotto.policies import POLICIES
from tomeval.games.blotto.rules import PRESETS, Blotto, BlottoRules
from tomeval.games.game import Action, Ask, Broken

_PART = re.compile(r"([A-Za-z])\s*:?\s*(\d+)")
_BRACKETS = re.compile(r"\[([^\]]+)\]")


def units(text: str, names: tuple[str, ...]) -> tuple[int, ...] | Broken:
    """Return the units of every field, 0 where a field is left out.

    Examples
    --------
    >>> units("So I play [a: 4, C2]!", ("A", "B", "C"))
    (4, 0, 2)
    >>> units("[A4 A5]", ("A", "B")).text, units("[D4]", ("A", "B")).text
    ('field A is given twice', 'there is no field D')
    """
    inside = _BRACKETS.search(text)
    said = (inside.group(1) if inside else text).strip()
    parts = _PART.findall(said)
    if not parts or re.sub(r"[\s,]+", "", _PART.sub("", said)):
        return Broken("format", f"{said[:60]!r} is not a list of fields with their units")
    by_field: dict[str, int] = {}
    for name, number in parts:
        if name.upper() in by_field:
            return Broken("format", f"field {name.upper()} is given twice")
        by_field[name.upper()] = whole(number)
    if strangers := [name for name in by_field if name not in names]:
        return Broken("target", f"there is no field {strangers[0]}")
    return tuple(by_field.get(name, 0) for name in names)


class BlottoWording(Wording):
    """The first list in brackets counts; the second refused text in a row loses the match."""

    ids: ClassVar = {
        "ColonelBlotto-v0": {"fields": 3, "units": 20, "rounds": 9},
        "ColonelBlotto-v0-small": {"fields": 3, "units": 20, "rounds": 5},
        "ColonelBlotto-v0-large": {"fields": 5, "units": 50, "rounds": 15},
    }
    seats = range(2, 3)
    talks = False

    def write(self, game: Any, ask: Ask, action: Action) -> str:
        """Return the list of all fields."""
        pairs = zip(game.field_names, action, strict=True)
        return f"[{' '.join(f'{name}{number}' for name, number in pairs)}]"

    def read(self, view: Any, ask: Ask, text: str) -> Reading:
        """Read an allocation."""
        game = view.game
        read = units(text, game.field_names)
        broken = read if isinstance(read, Broken) else game.fault(view, ask, read)
        return Reading(read, broken, broken is None)


KIND = Kind(
    name="blotto",
    title="Colonel Blotto",
    rules=BlottoRules,
    presets=PRESETS,
    make=Blotto,
    policies=POLICIES,
    solver=solver,
    wording=BlottoWording(),
)
