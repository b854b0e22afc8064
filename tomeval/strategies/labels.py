"""Read which label a reply ends in; the rule is that of `tomeval.strategies.readers`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tomeval.core.text import DASHES, ascii_signs
from tomeval.strategies.readers import (
    MARKER,
    MARKS,
    SENTENCE,
    Read,
    find_marked,
    first_said,
    last_line,
    plain,
    shown_text,
    taken,
)

_NOUN = r"(?:option|action|choice|move|label|letter|strategy|answer|prediction)"
_WHO = r"(?:i|they|(?:the\s+)?other\s+player)"
_WORD = rf"(?:(?:(?:the|my)\s+)?{_NOUN}\b(?:\s+is)?|{_WHO}(?:'ll|\s+will)?\s+choose)\b"
_REASON = re.compile(r"[^\w\s,;:(\[.。–—…?~-]*+(?:\s*[,;:(\[–—]|\s*-+\s|[.!](?![\w.])|。)")
_ENDING = re.compile(rf"{MARKS}[.!。]?{MARKS}")
# Scripts that leave no spaces between words, from Thai to Khmer and from CJK on.
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1b7f\u2e80-\U0010ffff"
_LETTER = rf"[^\W_{_UNSPACED}]"


@dataclass(frozen=True)
class Labels:
    r"""Reads which of several labels, different beyond case, is named: its index.

    The rule is that of this module; a marked line that names no label in this way is ``illegal``.
    The exact form is a reply whose last line is the marker and the label.

    Examples
    --------
    >>> reader = Labels(("J", "F"))
    >>> reader.read("J looks good.\nFinal answer: F", "stop")
    Read(outcome='valid', value=1, fault='', lenient=False)
    >>> reader.read("### Final answer:\n**Option F** (Defect)\n\nI chose F to be safe.", "stop")
    Read(outcome='valid', value=1, fault='', lenient=True)
    >>> reader.read("Final answer: J\n\nWait, F is better.", "stop").fault
    "text after the answer names another option: 'F'"
    >>> reader.read("Final answer: J or F", "stop").fault
    "'J or F' is not an option; choose J or F"
    """

    labels: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """The marked line of every label."""
        return tuple(f"{MARKER} {label}" for label in self.labels)

    @property
    def schema(self) -> str:
        """Empty: no object is asked for."""
        return ""

    def read(self, text: str, finish: str, strict: bool = False) -> Read[int]:
        """Read the index of the label that a reply names."""
        shown = shown_text(text, finish)
        if isinstance(shown, Read):
            return shown
        marked = find_marked(shown)
        last, led = last_line(shown)
        exact = last in self.choices
        said, below = first_said(marked.said, marked.below) if marked else (plain(shown), "")
        action, rest = (self.choices.index(last), "") if exact else self._label(said)
        if marked is None and (action is None or rest.strip(".")):
            return Read("unparsable", fault=f"no line begins with {MARKER!r}")
        if action is None:
            wanted, said = " or ".join(self.labels), said.strip()[:40]
            return Read("illegal", fault=f"{said!r} is not an option; choose {wanted}")
        for index, name in self.named(rest) + ([] if exact else self.named(below)):
            if index != action:
                fault = f"text after the answer names another option: {name!r}"
                return Read("unparsable", fault=fault)
        once = True
        if marked is not None and marked.before is not None:
            words, between = first_said(*marked.before)
            once = self._label(words)[0] in (None, action)
            if not once and not SENTENCE.search(between):
                return Read("unparsable", fault="two marked lines name different options")
        return taken(action, led or not (exact and once), strict)

    def _label(self, said: str) -> tuple[int | None, str]:
        """Return the label that a line gives, and the words beside it; None if it gives none."""
        if (whole := self._names.get(_folded(said))) is not None:
            return whole, ""
        answer = self._answer.match(said)
        rest = "" if answer is None else said[answer.end() :]
        if answer is None or not (_REASON.match(rest) or _ENDING.fullmatch(rest)):
            return None, ""
        beside = (answer["word"] or "") + ("" if _ENDING.fullmatch(rest) else rest)
        return self._names[_folded(answer["label"])], beside

    @cached_property
    def _names(self) -> dict[str, int]:
        """What a label may be called: by itself, or without its noun where that is clear."""
        names = [_folded(label) for label in self.labels]
        short = [_folded(_short(label)) for label in self.labels]
        clear = {name: i for i, name in enumerate(short) if short.count(name) == 1}
        own = {name: i for i, name in enumerate(names) if names.count(name) == 1}
        return {name: i for name, i in clear.items() if name not in names} | own

    @cached_property
    def _answer(self) -> re.Pattern[str]:
        """What a marked line begins with that names a label."""
        names = "|".join(map(_pattern, sorted(self._names, key=len, reverse=True)))
        return re.compile(
            rf"{MARKS}(?:(?P<word>{_WORD}):?{MARKS})?(?P<label>{names or '(?!)'})(?![^\W_])",
            re.IGNORECASE,
        )

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        """Where a text names a label; "a" and "I" are words, and names only as written."""
        written = {_folded(name): name for name in map(_short, self.labels)}
        written |= {_folded(label): plain(label) for label in self.labels}
        parts = []
        for name in sorted(written, key=len, reverse=True):
            word = _pattern(name)
            if name in ("a", "i"):
                word = f"(?-i:{written[name]})"
            # A word ends where its script leaves a space, or goes over into one that leaves none.
            first, last = (re.match(f"[{_UNSPACED}]", end) for end in (name[:1], name[-1:]))
            before = "" if first else rf"(?<!{_LETTER})(?<!{_LETTER}')"
            parts.append(before + word + ("" if last else rf"(?!{_LETTER})"))
        return re.compile("|".join(parts), re.IGNORECASE)

    def named(self, text: str) -> list[tuple[int, str]]:
        """Return the labels that a text names: index, -1 if it is of several, and as written."""
        return [
            (self._names.get(_folded(match[0]), -1), match[0])
            for match in self._mentions.finditer(text)
        ]


def _short(label: str) -> str:
    """Return a label without the noun that it begins with."""
    return re.sub(rf"^{_NOUN}\s+(?=\S)", "", plain(label).strip(), flags=re.IGNORECASE)


def _pattern(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split())).replace(r"\-", f"[-{DASHES}]")


def _folded(text: str) -> str:
    return " ".join(ascii_signs(plain(text)).casefold().split())
