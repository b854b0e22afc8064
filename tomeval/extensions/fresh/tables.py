"""The tables of the extension, and that of ``tomeval compare --what memory``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tomeval.core.extensions import Compared
from tomeval.core.numbers import fixed, interval, number, p_text
from tomeval.core.text import visible
from tomeval.extensions.fresh.memory import (
    ANY,
    MEASURES,
    Line,
    Pair,
    by_player,
    lines,
    pairs,
)
from tomeval.extensions.fresh.recognition import RECOGNITION
from tomeval.extensions.fresh.twins import said_kinds
from tomeval.report.comparisons import READ
from tomeval.runs.columns import Table, interval_columns
from tomeval.runs.columns import fixed as columns_of
from tomeval.runs.results import Run
from tomeval.statistics.paired import holm

Rows = list[dict[str, Any]]


def _corrected(found: Sequence[Pair]) -> list[tuple[Line, float]]:
    """Return the lines with p by Holm, which covers all lines of one measure."""
    shown = lines(found)
    corrected = np.full(len(shown), np.nan)
    for measure in range(len(MEASURES)):
        family = [k for k, line in enumerate(shown) if line.measure == measure]
        corrected[family] = holm([shown[k].effect.p for k in family])
    return list(zip(shown, corrected.tolist(), strict=True))


def memory_rows(found: Sequence[Pair], read: bool = False) -> Rows:
    """Return the rows of the comparison; Holm's correction covers all rows of one measure."""
    rows: Rows = []
    for line, p_holm in _corrected(found):
        value, low, high, p, units = line.effect[:5]
        name, digits = (("regret", 3), ("ToM %", 1))[line.measure]
        row: dict[str, Any] = {**line.player, "measure": name if read else MEASURES[line.measure]}
        row |= {"game": line.game, "disguised": line.disguised, "episodes": units}
        if read:
            row |= {"famous": fixed(line.famous, digits), "twin": fixed(line.twin, digits)}
            row["effect"] = interval(value, low, high, digits)
            row |= {"p": p_text(p), "p_holm": p_text(p_holm)}
        else:
            row |= {"famous": line.famous, "twin": line.twin}
            row |= {**interval_columns("effect", value, low, high), "p": p, "p_holm": p_holm}
        rows.append(row)
    return rows


def verdicts(found: Sequence[Pair]) -> list[str]:
    """Say in a sentence per player whether disguise changes its regret, with p by Holm below 0.05.

    Without a sampling error there is no test, and the change is said alone.
    """
    said = []
    every = _corrected(found)
    for player, own in by_player(found).items():
        kinds = {ANY, *(said_kinds(pair.kinds) for pair in own)}
        mine = [
            (line, p)
            for line, p in every
            if (*line.player.values(),) == player
            and (line.measure, line.game) == (0, "all")
            and line.disguised in kinds
        ]
        if not mine:
            continue
        effect, parts = mine[0][0].effect, []
        for sign, words in _VERDICTS.items():
            hit = [line.disguised for line, p in mine if p < 0.05 and line.effect.value * sign > 0]
            parts += [f"{words} (disguised: {', '.join(hit)})"] if hit else []
        shown = interval(effect.value, effect.low, effect.high, 3)
        if not parts and np.isnan(effect.p):
            parts = [f"regret in disguise changes by {shown} per step, which cannot be tested"]
        parts = parts or [f"no significant effect of memory on regret: {shown} per step"]
        said.append(f"{who(player)}: {'; '.join(parts)}")
    return said


_VERDICTS = {
    1: "plays worse in disguise: memory helped, or the disguise is hard to read",
    -1: "plays better in disguise: memory misled it",
}


def who(player: Iterable[Any]) -> str:
    """Return a player, by subject, model and strategy, as a reader calls it."""
    return visible(", ".join(str(word) for word in dict.fromkeys(player) if word))


ABOVE = (
    "memory effect: twin minus famous game, paired by partner, seed and episode; regret per step "
    "in the famous game's payoffs, its affine change undone; literal in points of ToM %"
)


def memory_notes(found: Sequence[Pair]) -> list[str]:
    """Say what the interval covers, and where there is no interval."""
    notes = [
        "regret above 0 or ToM % below 0: the player does worse where the game is disguised. 95 % "
        "intervals and p: Student's t over episodes, for these games; Holm over all rows of one "
        "measure"
    ]
    for player, own in by_player(found).items():
        name = who(player)
        if told := [pair.known for pair in own if pair.known is not None]:
            share = 100 * float(np.concatenate(told).mean())
            notes.append(f"{name}: recognised the famous game in {number(share, 0)} % of episodes")
        if all(pair.exact for pair in own):
            notes.append(
                f"{name}: each distinct episode was played once, so the effect has no sampling "
                "error and no interval"
            )
    return notes


def _compared(runs: Sequence[Run], options: dict[str, Any]) -> tuple[Rows, list[str], list[str]]:
    compared = pairs(runs, options["reference"])
    return (
        memory_rows(compared, options["form"] in READ),
        [ABOVE, *verdicts(compared)],
        memory_notes(compared),
    )


MEMORY = Compared(_compared)


def has_twins(run: Run) -> bool:
    """Tell whether a run has twins beside their games; looks at definitions only."""
    games = [cell.definition["game"] for cell in run.cells]
    played = {game["name"] for game in games if "disguise" not in game}
    return any(game["disguise"]["of"] in played for game in games if "disguise" in game)


def _notes(found: Sequence[Pair]) -> list[str]:
    return [*verdicts(found), ABOVE, *memory_notes(found)]


MEMORY_TABLE = Table(
    "the memory effect: twins minus famous games",
    columns_of(lambda run: memory_rows(pairs([run]), True)),
    has_twins,
    lambda run: _notes(pairs([run])),
    needs='games = [{ twins = { of = ["IPD"] } }]: docs/measures/fresh.md, "Was it memory?"',
)

TABLES = {"memory": MEMORY_TABLE, "recognition": RECOGNITION}
