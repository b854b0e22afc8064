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
from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import MARKER, MARKS, Read, find_marked, plain, shown_text, taken

Table = tuple[int, ...]
"""An action for each situation, in the order of `Form.heads`."""

_BEGINS = re.compile(
    rf"{MARKS}(?:\d{{1,2}}[.)]\s{MARKS})?(?=(?:first|after|always)\b)", re.IGNORECASE
)
_GAP = r"[\s()\[\]{}\"'`*_,;/&+]"
_GIVES = r"(?::|=>?|-+>|→|\|)"


def size_of(joint: int, memory: int) -> int:
    """Return how many situations there are, given the number of joint actions."""
    return sum(joint**length for length in range(memory + 1))


def following(joint: int, size: int) -> IntArray:
    """Return the situation that follows each of S, shape (S, joint), by the round's joint action.

    Situations are numbered as in `Form.heads`: the first round, those after one, those after two.

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
    r"""Reads a table: a line for each situation, with what is done in it.

    The lines stand below the last marker, or anywhere in a reply without one, each once; what a
    line says is read as a marked one is (`tomeval.strategies.readers`). Other text below the first
    of them may name no action. The exact form is a reply that ends in the lines as asked for. A
    table in which a line is missing, stands twice or is of no situation is ``unparsable``, with an
    unknown action it is ``illegal``.

    Attributes
    ----------
    names : Labels
        Of the game.
    answers : tuple of str
        What a line can say: the labels of who follows the table.
    memory : int
        How many past rounds it looks at, 0 to 2.

    Examples
    --------
    >>> form = Form(Names("neutral", ("J", "F"), ("J", "F")), ("J", "F"), 1)
    >>> form.heads
    ('first', 'after J J', 'after J F', 'after F J', 'after F F')
    >>> text = "Final answer:\nfirst: J\nafter J J: J\n- After (J, F): **F**\nafter F J: J\n"
    >>> form.read(f"{text}after F F: F", "stop")
    Read(outcome='valid', value=(0, 0, 1, 0, 1), fault='', lenient=True)
    >>> form.read(text, "stop").fault
    "no line begins with 'after F F'"
    """

    names: Names
    answers: tuple[str, ...]
    memory: int

    choices = ()
    schema = ""

    @cached_property
    def _pasts(self) -> list[tuple[tuple[str, str], ...]]:
        pairs = list(itertools.product(self.names.own, self.names.partner))
        lengths = range(self.memory + 1)
        return [past for length in lengths for past in itertools.product(pairs, repeat=length)]

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """What each line begins with; the own action before the other's, the last round last."""
        first = "first" if self.memory else "always"
        return tuple(f"after {_words(past)}" if past else first for past in self._pasts)

    def lines(self, table: Table) -> list[str]:
        """Return a table as it is asked for."""
        said = (self.answers[action] for action in table)
        return [f"{head}: {label}" for head, label in zip(self.heads, said, strict=True)]

    def brief(self, table: Table) -> str:
        """Return a table in one line; "any" where an action of the last round makes no difference.

        Examples
        --------
        >>> form = Form(Names("neutral", ("J", "F"), ("J", "F")), ("J", "F"), 1)
        >>> form.brief((0, 0, 1, 0, 1)), form.brief((1, 1, 1, 1, 1))
        ('first J; after any J: J; after any F: F', 'always F')
        """
        if len(set(table)) == 1:
            return f"always {self.answers[table[0]]}"
        said = dict(zip(self._pasts, table, strict=True))
        own, partner = self.names.own, self.names.partner
        if self.memory == 1:
            by_own = {((a, "any"),): {said[(a, b),] for b in partner} for a in own}
            by_partner = {(("any", b),): {said[(a, b),] for a in own} for b in partner}
            for some in (by_own, by_partner):
                if all(len(actions) == 1 for actions in some.values()):
                    said = {(): table[0]} | {past: min(only) for past, only in some.items()}
        lines = (f"after {_words(past)}: {self.answers[action]}" for past, action in said.items())
        return f"first {self.answers[table[0]]}; " + "; ".join(list(lines)[1:])

    def situation(self, past: Sequence[tuple[int, int]]) -> int:
        """Return the situation after joint moves, of which the last `memory` are enough."""
        count, state = len(self.names.partner), 0
        after = following(len(self.names.own) * count, len(self.heads))
        for own, partner in past[max(0, len(past) - self.memory) :]:
            state = int(after[state, own * count + partner])
        return state

    def read(self, text: str, finish: str, strict: bool = False) -> Read[Table]:
        """Read the table that a reply gives."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked, table = find_marked(shown), dict[int, int]()
        for line in lines_of(plain(shown if marked is None else marked.said + marked.below)):
            at, rest = self._head(line)
            if at is None:
                if table and (other := self._reader.named(rest)):
                    fault = f"text below the first line names an action: {other[0][1]!r}"
                    return Read("unparsable", fault=fault)
                continue
            if at < 0:
                return Read("unparsable", fault=f"{line.strip()[:40]!r} is none of the lines")
            if at in table:
                return Read("unparsable", fault=f"{self.heads[at]!r} stands there twice")
            said = self._reader.read(f"{MARKER} {rest}", "stop")
            if said.value is None:
                return Read(said.outcome, fault=f"{self.heads[at]!r}: {said.fault}")
            table[at] = said.value
        if lacks := [head for at, head in enumerate(self.heads) if at not in table]:
            some = ", ".join(map(repr, lacks[:10])) + ", ..." * (len(lacks) > 10)
            return Read("unparsable", fault=f"no line begins with {some}")
        value = tuple(table[at] for at in range(len(table)))
        last = [line for line in map(str.strip, lines_of(shown)) if line][-len(table) - 1 :]
        exact = last[0] == MARKER and sorted(last[1:]) == sorted(self.lines(value))
        return taken(value, not exact, strict)

    def _head(self, line: str) -> tuple[int | None, str]:
        """Return which situation a line is of, -1 for one that there is not, and what it says.

        None for any other line: a sentence, or the heading of a column.
        """
        begun = _BEGINS.match(line)
        rest = line[begun.end() :] if begun else line
        for at, head in enumerate(self._patterns if begun else ()):
            if found := head.match(rest):
                return at, rest[found.end() :]
        gives = begun and re.search(_GIVES, rest) and not re.match(rf"\w+{_GAP}*\|", rest)
        return (-1 if gives else None), rest

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """What lines begin with, whatever stands around labels and between them."""
        between = rf"{_GAP}++(?:(?:and|then)\b{_GAP}*+)?"
        first = r"first(?:\s+(?:round|move|action))?" if self.memory else "always"
        said = (between.join(["after", *map(_label, sum(past, ()))]) for past in self._pasts)
        heads = (words if past else first for past, words in zip(self._pasts, said, strict=True))
        return [re.compile(rf"{head}{_GAP}*+{_GIVES}", re.IGNORECASE) for head in heads]

    @cached_property
    def _reader(self) -> Labels:
        return Labels(self.answers)


def _words(past: Sequence[tuple[str, str]]) -> str:
    return ", ".join(map(" ".join, past))


def _label(name: str) -> str:
    return r"\s+".join(map(re.escape, plain(name).split()))
