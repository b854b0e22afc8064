"""Which cells of a run get more episodes, by what it holds: a run that stops when it knows.

A run with a condition (`until.py`) looks at its episodes when a batch is complete. Cells that a
goal links, because they are compared, form a group and are drawn together: all that still play have
the episodes 0 to n - 1. A cell plays no more once no goal asks more of it, such as a player that
cannot be the best, and a group is looked at only when it is complete. So what is played next is a
function of the rows of these episodes, and not of when or where they were played.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.runs.notes import NOT_MET
from tomeval.runs.until import Goal, goals
from tomeval.statistics.bounded import FEWEST

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.store import Store

AT_MOST = 10
"""How many times the first batch a cell gets at most, unless `max_episodes` says otherwise."""

NOT_ASKED = "the condition does not involve it"
MOST = "at the maximum number of episodes"


FASTEST = 2
"""How many times as many episodes there are at the next look at most: what is expected of few is a
guess."""


def following(episodes: int, most: int, times: float) -> int:
    """Return how many episodes a cell has at the next look.

    So many `times` as many, where something is expected to be decided; a twentieth more at least,
    so that looks are seldom enough to keep models busy.

    Examples
    --------
    >>> following(40, 300, 1.5), following(40, 300, 9.0), following(200, 300, 1.01)
    (60, 80, 210)
    """
    step = max(FEWEST, episodes // 20, math.ceil(episodes * (min(times, FASTEST) - 1)))
    return min(most, episodes + step)


def most_episodes(experiment: Experiment) -> int:
    """Return how many episodes a cell of an experiment with a condition gets at most."""
    return experiment.max_episodes or AT_MOST * experiment.episodes


def check(experiment: Experiment) -> None:
    """Raise `TomevalError` for a condition that an experiment cannot stop by."""
    if not experiment.until:
        if experiment.max_episodes is not None:
            raise TomevalError("max_episodes: needs until, the condition that stops a run")
        return
    if most_episodes(experiment) < experiment.episodes:
        raise TomevalError(
            f"max_episodes: {experiment.max_episodes} is less than the first batch, episodes = "
            f"{experiment.episodes}"
        )
    try:
        goals(experiment)
    except TomevalError as error:
        raise TomevalError(f"until: {error}") from None


class Allocation:
    """How many episodes each cell of a run with a condition has, and why it got no more.

    Parameters
    ----------
    experiment : Experiment
        With a condition, which was checked.
    store : Store
        Of the run, open for writing. What was found is kept in it, so that a run that was killed
        goes on from the last look.
    """

    def __init__(self, experiment: Experiment, store: Store) -> None:
        self._store, self._goals = store, goals(experiment)
        self._cells, self._text = experiment.cells, experiment.until
        self._apart, self._most = experiment.apart, most_episodes(experiment)
        before = store.until()
        same = before.get("condition") == self._text
        self._met: dict[str, dict[str, str]] = dict(before.get("met", {})) if same else {}
        self._groups = _linked(self._goals, len(self._cells))
        self._of: dict[int, list[Goal]] = {}
        for goal in self._goals:
            for cell in goal.cells:
                self._of.setdefault(cell, []).append(goal)
        self._full: set[int] = set()  # looked at with the most episodes
        held = {cell: last + 1 for cell, (_, last) in store.most_finished().items()}
        known = before.get("cells", {}) if same else {}
        self.episodes = [0] * len(self._cells)
        for group in self._groups:
            open_cells = [cell for cell in group if self._open(cell)]
            most = max(experiment.episodes, *(held.get(cell, 0) for cell in open_cells), 0)
            for cell in group:
                told = known.get(str(cell), {}).get("episodes")
                self.episodes[cell] = told or max(experiment.episodes, held.get(cell, 0))
                if cell in open_cells:
                    self.episodes[cell] = max(self.episodes[cell], most)
        self._keep("")

    def _open(self, cell: int) -> list[Goal]:
        """Return the goals that ask more of a cell."""
        mine = self._of.get(cell, ())
        return [goal for goal in mine if str(cell) not in self._met.get(goal.key, {})]

    def look(self, complete: Sequence[bool]) -> bool:
        """Look at what was played; return whether any cell is to get more.

        `complete` tells of each cell whether it holds the episodes that it was given.
        """
        more = False
        for group in self._groups:
            playing = [cell for cell in group if self._open(cell)]
            if not all(complete[cell] for cell in playing):
                continue  # waits for what failed, or for a cell that was stopped
            times = self._find(group)
            playing = [cell for cell in group if self._open(cell)]
            for cell in playing:
                now = self.episodes[cell]
                if now < self._most:
                    self.episodes[cell], more = following(now, self._most, times), True
                else:
                    self._full.add(cell)
        self._keep("")
        return more

    def _find(self, group: Sequence[int]) -> float:
        """Note which goals of a group are met; return at how many times as much to look again."""
        definitions = dict(self._store.cells())
        read: dict[int, RunCell] = {
            cell: self._store.domain.read.cell(self._store, cell, definitions[cell])
            for cell in group
        }
        soonest = [math.inf]
        for goal in dict.fromkeys(goal for cell in group for goal in self._of.get(cell, ())):
            done = self._met.setdefault(goal.key, {})
            before = {int(cell): why for cell, why in done.items()}
            if len(before) < len(goal.cells):
                before |= goal.met(read, before)
                done |= {str(cell): why for cell, why in before.items()}
            if len(before) < len(goal.cells):
                soonest.append(goal.soonest(read, before))
        return min(soonest)

    def capped(self, why: str) -> None:
        """Note that a cap ended the session before the condition held."""
        self._keep(why)

    def _keep(self, cap: str) -> None:
        """Keep in the store what is known, in one piece."""
        cells = {
            str(cell): {"episodes": count, "stopped": self._why(cell, cap)}
            for cell, count in enumerate(self.episodes)
            if cell not in self._apart
        }
        family = sum(len(goal.cells) - 1 for goal in self._goals)
        said: dict[str, Any] = {"condition": self._text, "family": family, "cells": cells}
        self._store.note_until(said | {"met": self._met})

    def _why(self, cell: int, cap: str) -> str:
        """Say why a cell gets no more; empty: it does, as far as is known."""
        left = self._open(cell)
        if not left:
            told = (self._met.get(goal.key, {}).get(str(cell)) for goal in self._of.get(cell, ()))
            met = [why for why in told if why]
            return "; ".join(dict.fromkeys(met)) or NOT_ASKED
        asked = "; ".join(dict.fromkeys(goal.text for goal in left))
        why = cap or (MOST if cell in self._full else "")
        return f"{why}, {NOT_MET}: {asked}" if why else ""


def _linked(found: Sequence[Goal], count: int) -> list[list[int]]:
    """Return the cells in groups: those that a goal has in common, directly or by way of others."""
    group = list(range(count))
    for goal in found:
        ends = {group[cell] for cell in goal.cells}
        group = [min(ends) if mine in ends else mine for mine in group]
    groups: dict[int, list[int]] = {}
    for cell, mine in enumerate(group):
        groups.setdefault(mine, []).append(cell)
    return list(groups.values())
