"""One row for several players of a task: the best of them, such as Reflexion's best memory size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.cell import RunCell
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

Row = dict[str, Any]

_SLACK = 1e-12
"""Relative difference up to which two values are a tie."""


class Choice(NamedTuple):
    """The best of several players in one task.

    Attributes
    ----------
    name : str
        What stands for them, such as ``Reflexion (best of 1, 2, 3)``: those with a value.
    best : str
        The name of the best one, with all that tie with it.
    winner : int
        Its place in the run's cells; of a tie the first one's.
    members : list of int
        The places of all, those without a value included.
    notes : list of str
        Ties, players without a value, and unequal numbers of episodes.
    """

    name: str
    best: str
    winner: int
    members: list[int]
    notes: list[str]


def best_of(run: Run, rows: Sequence[Row], patterns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Return a run's table with one row for each group of players, and notes on it.

    The best has the best mean in the run's first headline measure, in matrix games the lowest
    ΔFunctional/T. Its row stands where the first of the group stood, under the group's name; the
    added column ``best`` names it.

    Parameters
    ----------
    rows : sequence of dict
        Those of `Run.rows`, one per cell.
    patterns : sequence of str
        Names of groups: the beginning of the players' names, up to a space, such as ``Reflexion``;
        or a pattern with ``*``, ``?`` or ``[...]``. The name of a player is its own or its level in
        the first column of `Compare.by`, in matrix games the strategy.

    Raises
    ------
    TomevalError
        A pattern without players, or with only one in every task; a player of two patterns; a run
        without a measure to choose by.
    """
    choices: dict[int, Choice] = {}
    taken: dict[int, str] = {}
    for pattern in patterns:
        for index, choice in choose(run, rows, pattern).items():
            for member in choice.members:
                if member in taken:
                    raise TomevalError(
                        f"--best-of {pattern!r} and {taken[member]!r} share the player "
                        f"{run.cells[member].player!r}"
                    )
                taken[member] = pattern
            choices[index] = choice
    result = []
    for index, (cell, row) in enumerate(zip(run.cells, rows, strict=True)):
        if index in taken and index not in choices:
            continue
        chosen = choices.get(index)
        shown = row if chosen is None else _renamed(run, rows, chosen)
        named = {"best": "" if chosen is None else chosen.best}
        kept = {key: shown[key] for key in cell.columns}
        result.append({**kept, **named, **{k: v for k, v in shown.items() if k not in kept}})
    notes = [note for choice in choices.values() for note in choice.notes]
    return result, [bias_note(measure_of(run)), *dict.fromkeys(notes)]


def measure_of(run: Run) -> Measure:
    """Return the measure that players are chosen by: the first headline measure with values."""
    measure = run.measures[(*run.headline, *run.domain.show.headline)[0]]
    if measure.better == 0:
        raise TomevalError(f"{run.folder}: {measure.heading} has no better side to choose by")
    return measure


def bias_note(measure: Measure) -> str:
    """Return what a reader has to know of a best row."""
    side = "lowest" if measure.better < 0 else "highest"
    return (
        f"best of: the {side} {measure.heading} of each task, chosen on the same episodes that the "
        "row reports; its mean is therefore too good and its interval too narrow, especially with "
        "many players and few episodes"
    )


def choose(run: Run, rows: Sequence[Row], pattern: str) -> dict[int, Choice]:
    """Return the best of a pattern's players in every task, by the place of the first of them.

    Tasks in which only one of them played, or none of them has a value, are left out.
    """
    measure, domain = measure_of(run), run.domain
    names = {_level(cell): None for cell in run.cells} | {cell.player: None for cell in run.cells}
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    for index, cell in enumerate(run.cells):
        if matches(pattern, cell.player) or matches(pattern, _level(cell)):
            task = domain.compare.task_of(cell, domain.compare.by[0]).values()
            key = (*task, cell.seed, domain.compare.held(cell, domain.compare.by[0]))
            groups.setdefault(key, []).append(index)
    if not groups:
        raise unknown("group of players", pattern, names, "--best-of")
    if all(len(members) == 1 for members in groups.values()):
        only = ", ".join(dict.fromkeys(run.cells[m[0]].player for m in groups.values()))
        raise TomevalError(
            f"--best-of {pattern!r}: there is only one player to choose from in every task: {only}"
        )
    chosen = (_choice(run, rows, members, pattern, measure) for members in groups.values())
    return {choice.members[0]: choice for choice in chosen if choice is not None}


def matches(pattern: str, name: str) -> bool:
    """Tell whether a name belongs to a pattern.

    Examples
    --------
    >>> [matches("Reflexion", name) for name in ("Reflexion 2", "Reflexions", "S2A + Reflexion 1")]
    [True, False, False]
    >>> matches("Reflexion ?", "Reflexion 2"), matches("Reflexion ?", "Reflexion 2 + CoT")
    (True, False)
    """
    if any(char in pattern for char in "*?["):
        return fnmatchcase(name, pattern)
    return name == pattern or name.startswith(f"{pattern} ")


def _level(cell: RunCell) -> str:
    return cell.domain.compare.level(cell, cell.domain.compare.by[0])


def _choice(
    run: Run, rows: Sequence[Row], members: list[int], pattern: str, measure: Measure
) -> Choice | None:
    """Choose in one task; None where there is nothing to choose from."""
    values = {m: measure.better * float(rows[m][measure.name]) for m in members}
    valued = [m for m in members if not math.isnan(values[m])]
    if len(members) == 1 or not valued:
        return None
    most = max(values[m] for m in valued)
    tied = [m for m in valued if values[m] >= most - _SLACK * max(1.0, abs(most))]
    short = dict(zip(members, _short(run, members), strict=True))
    name = f"{_label(run, members, pattern)} (best of {', '.join(short[m] for m in valued)})"
    best = " = ".join(_names(run, members)[members.index(m)] for m in tied)
    task = run.domain.compare.words(run.cells[members[0]].shown_task)
    where = ", ".join(filter(None, (name, task)))
    notes = []
    if len(tied) > 1:
        notes.append(f"{where}: {best} tie; the row shows the first")
    if missing := [short[m] for m in members if m not in valued]:
        notes.append(f"{where}: no value for {', '.join(missing)}")
    episodes = [rows[m]["episodes"] for m in valued]
    if len(set(episodes)) > 1:
        told = ", ".join(f"{short[m]} {n}" for m, n in zip(valued, episodes, strict=True))
        notes.append(f"{where}: numbers of episodes differ: {told}")
    return Choice(name, best, tied[0], members, notes)


def _names(run: Run, members: Sequence[int]) -> list[str]:
    """Return what tells the members apart: their levels, or else the players' full names."""
    levels = [_level(run.cells[m]) for m in members]
    return levels if len(set(levels)) == len(levels) else [run.cells[m].player for m in members]


def _shared(names: Sequence[str]) -> str:
    """Return the words with which all names begin."""
    places = zip(*(name.split(" ") for name in names), strict=False)
    shared = itertools.takewhile(lambda words: len(set(words)) == 1, places)
    return "".join(f"{words[0]} " for words in shared)


def _short(run: Run, members: Sequence[int]) -> list[str]:
    """Return the members' names without the words that all begin with."""
    names = _names(run, members)
    shared = len(_shared(names))
    return [name[shared:] or name for name in names]


def _label(run: Run, members: Sequence[int], pattern: str) -> str:
    """Return the name of a group."""
    if any(char in pattern for char in "*?["):
        return _shared(_names(run, members)).strip() or pattern
    return pattern


def _renamed(run: Run, rows: Sequence[Row], choice: Choice) -> Row:
    """Return the best one's row under the group's name, wherever the members' names differ."""
    columns: Sequence[Mapping[str, Any]] = [run.cells[m].columns for m in choice.members]
    differ = [
        n for n in run.domain.compare.by if n in columns[0] and len({c[n] for c in columns}) > 1
    ]
    return {**rows[choice.winner], **dict.fromkeys(differ, choice.name)}
