"""What conditions say that a run stops by, such as ``width(regret) < 0.1 and best known``.

A condition is one or several statements joined by ``and``::

    width(MEASURE[, UNIT]) < NUMBER     every cell's 95 % sequence is this narrow
    decided(A vs B[, MEASURE])          in every task that both play, which of them is better
    best known[(MEASURE)]               in every task, who is best
    best known([MEASURE, ]within NUMBER)    or who is worse than the best by no more than that

Names with commas, brackets or `` vs `` in them stand in double quotes.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Literal, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean

Kind = Literal["width", "decided", "best"]

FORMS = "width(MEASURE) < NUMBER, decided(A vs B) or best known, joined by and"
_STATEMENTS: dict[Kind, str] = {
    "width": r"width\s*\((?P<inside>.*)\)\s*<\s*(?P<number>\S+)",
    "decided": r"decided\s*\((?P<inside>.*)\)",
    "best": r"best\s+known\s*(\((?P<inside>.*)\))?",
}
_TOKEN = re.compile(r'"[^"]*"|.', re.DOTALL)


class Statement(NamedTuple):
    """One statement of a condition, as it was written: names are not looked up yet."""

    kind: Kind
    text: str
    names: tuple[str, ...]  # of players
    measure: str
    unit: str
    number: float  # the width or the margin; 0: no margin


def parse(text: str) -> list[Statement]:
    """Return the statements of a condition.

    Raises
    ------
    TomevalError
        Which part cannot be read, and what could stand there.

    Examples
    --------
    >>> [one.kind for one in parse("width(regret) < 0.1 and best known")]
    ['width', 'best']
    >>> parse('decided("S2A, long" vs LM, tom)')[0].names
    ('S2A, long', 'LM')
    """
    parts = _split(text, r"(?i:\s+and\s+)")
    return [_statement(part) for part in parts]


def _split(text: str, between: str) -> list[str]:
    """Split a text where a pattern stands outside of brackets and quotes."""
    depth, shadow = 0, ""
    for token in _TOKEN.findall(text):
        depth += (token == "(") - (token == ")")
        shadow += "_" * len(token) if depth > 0 or len(token) > 1 or token in "()" else token
    ends = [(0, 0), *((m.start(), m.end()) for m in re.finditer(between, shadow))]
    ends.append((len(text), len(text)))
    return [text[first:last].strip() for (_, first), (last, _) in pairwise(ends)]


def _statement(text: str) -> Statement:
    for kind, pattern in _STATEMENTS.items():
        if not (read := re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL)):
            continue
        inside = read["inside"]
        parts = [] if inside is None else _split(inside, ",")
        said = " ".join(text.split())
        if len(parts) > 2 or (inside is not None and "" in parts):
            break
        if kind == "width":
            number = _number(read["number"], kind)
            return Statement(kind, said, (), parts[0], "".join(parts[1:]), number)
        if kind == "best":
            margin = re.fullmatch(r"(?i:within)\s+(.+)", parts[-1]) if parts else None
            if len(parts) > 1 and not margin:
                break
            number = _number(margin[1], "margin") if margin else 0.0
            return Statement(kind, said, (), "".join(parts[: -1 if margin else None]), "", number)
        names = tuple(_bare(name) for name in _split(parts[0], r"\s+vs\s+"))
        if len(names) != 2 or not all(names):
            raise TomevalError(
                f"{said!r} must name two players: write decided(A vs B), with double quotes around "
                "names that contain commas or brackets"
            )
        return Statement(kind, said, names, "".join(parts[1:]), "", 0.0)
    head, known = text.partition("(")[0].strip(), ("width", "decided", "best known")
    near = "" if head.lower() in known else did_you_mean(head, known)
    raise TomevalError(f"unknown condition {text!r}{near}; write {FORMS}")


def _bare(name: str) -> str:
    return name.strip().removeprefix('"').removesuffix('"').strip()


def _number(text: str, what: str) -> float:
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        raise TomevalError(f"a {what} must be compared with a number, not {text!r}")
    number = float(text)
    if not 0 < number < math.inf:
        raise TomevalError(f"a {what} must be compared with a finite number above 0, not {text}")
    return number
