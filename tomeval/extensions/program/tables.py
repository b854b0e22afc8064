"""Policies as tables: how they are written, read and followed. Nothing of them is ever run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tomeval.core.text import lines_of
from tomeval.games.matrix.games import Labels as Names
from tomeval.games.matrix.played import IntArray
from tomeval.games.matrix.rules import Joint
from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import MARKER, MARKS, Read, find_marked, plain, shown_text, taken

Table = tuple[int, ...]
"""An action for each situation, in the order of `Form.heads`."""

_BEGINS = re.compile(
    rf"{MARKS}(?:\d{{1,2}}[.)]\s{MARKS})?(?=(?:first|after|always)\b)", re.IGNORECASE
)
_GAP = re.compile(r"[\s()\[\]{}\"'`*_,;/&+]+")
_GIVES = re.compile(r":|=>?|-+>|→|\|")
_BESIDE = ("", "and", "then", "round", "move")


def following(joint: int, size: int) -> IntArray:
    """Return the situation after each of S, shape (S, joint), by the joint action of its round.

    Examples
    --------
    >>> following(2, 3).tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
    last, state = np.arange(joint), np.arange(size)[:, None]
    if size <= 1 + joint:
        return np.broadcast_to((last + 1) * (size > 1), (size, joint))
    after: IntArray = 1 + last + np.where(state > 0, (1 + (state - 1) % joint) * joint, 0)
    return after


@dataclass(frozen=True)
class Form:
    r"""Reads a table: a line for each situation, which names an action.

    The lines stand below the last marker, or anywhere in a reply without one, each once; what a
    line says is read as a marked one (`tomeval.strategies.readers`). Other text below the first of
    them may name no action. A line that is missing, stands twice or is of no situation makes the
    table ``unparsable``, an unknown action ``illegal``. The exact form is the lines as asked for,
    at the end.

    Examples
    --------
    >>> form = Form(Names("neutral", ("J", "F"), ("J", "F")), ("J", "F"), 1)
    >>> text = "Final answer:\nfirst: J\nafter J J: J\n- After (J, F): **F**\nafter F J: J\n"
    >>> form.read(f"{text}after F F: F", "stop")
    Read(outcome='valid', value=(0, 0, 1, 0, 1), fault='', lenient=True)
    >>> form.read(text, "stop").fault
    "no line begins with 'after F F'"
    """

    names: Names  # of the game
    answers: tuple[str, ...]  # the labels of who follows the table
    memory: int  # how many past rounds it looks at, 0 to 2

    choices = ()
    schema = ""

    @cached_property
    def _pasts(self) -> list[tuple[tuple[str, str], ...]]:
        pairs = [*itertools.product(self.names.own, self.names.partner)]
        lengths = range(self.memory + 1)
        return [past for length in lengths for past in itertools.product(pairs, repeat=length)]

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """What each line begins with; the own action before the other's, the last round last."""
        first = "first" if self.memory else "always"
        return tuple(f"after {_words(past)}" if past else first for past in self._pasts)

    def lines(self, table: Table) -> list[str]:
        """Return a table as it is asked for."""
        return [f"{h}: {self.answers[a]}" for h, a in zip(self.heads, table, strict=True)]

    def brief(self, table: Table) -> str:
        """Return a table in one line; "any" is an action that makes no difference."""
        if len({*table}) == 1:
            return f"always: {self.answers[table[0]]}"
        said, sides = self.lines(table), (self.names.own, self.names.partner)
        for axis, side in enumerate(sides if self.memory == 1 else ()):
            rows = np.reshape(table[1:], [*map(len, sides)]).swapaxes(0, axis)
            if (rows == rows[:, :1]).all():
                pasts = (f"any {name}" if axis else f"{name} any" for name in side)
                actions = (self.answers[action] for action in rows[:, 0])
                said[1:] = [f"after {p}: {a}" for p, a in zip(pasts, actions, strict=True)]
        return "; ".join(said)

    def situation(self, past: Sequence[Joint]) -> int:
        """Return the situation after rounds, of which the last `memory` are enough."""
        m, state = len(self.names.partner), 0
        after = following(len(self.names.own) * m, len(self.heads))
        for own, partner, *_ in past[max(0, len(past) - self.memory) :]:
            state = int(after[state, own * m + partner])
        return state

    def read(self, text: str, finish: str, strict: bool = False) -> Read[Table]:
        """Read the table that a reply gives."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked, table, labels = find_marked(shown), dict[int, int](), Labels(self.answers)
        for line in lines_of(plain(shown if marked is None else marked.said + marked.below)):
            at, rest = self._head(line)
            if at is None:
                if table and (other := labels.named(rest)):
                    return _no(f"text below the first line names an action: {other[0][1]!r}")
                continue
            if at < 0:
                return _no(f"{line.strip()[:40]!r} is none of the lines")
            if at in table:
                return _no(f"{self.heads[at]!r} stands there twice")
            said = labels.read(f"{MARKER} {rest}", "stop")
            if said.value is None:
                return Read(said.outcome, fault=f"{self.heads[at]!r}: {said.fault}")
            table[at] = said.value
        if lacks := [head for at, head in enumerate(self.heads) if at not in table]:
            some = ", ".join(map(repr, lacks[:10])) + ", ..." * (len(lacks) > 10)
            return _no(f"no line begins with {some}")
        value = tuple(table[at] for at in range(len(table)))
        last = [line for line in map(str.strip, lines_of(shown)) if line][-len(table) - 1 :]
        exact = last[0] == MARKER and sorted(last[1:]) == sorted(self.lines(value))
        return taken(value, not exact, strict)

    def _head(self, line: str) -> tuple[int | None, str]:
        """Return which situation a line is of, -1 for one that there is not, and what it says.

        None for any other line: a sentence, or the heading of a column.
        """
        begun = _BEGINS.match(line)
        head, *rest = _GIVES.split(line[begun.end() :], maxsplit=1) if begun else (line,)
        if not rest or _plain(head) == "after":
            return None, line
        return self._places.get(_plain(head), -1), rest[0]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {_plain(head): at for at, head in enumerate(self.heads)}


def _no(fault: str) -> Read[Table]:
    return Read("unparsable", fault=fault)


def _words(past: Sequence[tuple[str, str]]) -> str:
    return ", ".join(map(" ".join, past))


def _plain(head: str) -> str:
    """Return what a line begins with, without what may stand around labels and between them."""
    return " ".join(word for word in _GAP.split(plain(head).casefold()) if word not in _BESIDE)
