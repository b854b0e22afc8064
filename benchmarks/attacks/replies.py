"""Replies that models may write: clear ones are read as meant, the others by the rule."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attacks import replies_noise
from attacks.base import Attack, Row, scaled
from attacks.replies_clear import clear
from attacks.replies_doubtful import doubtful
from attacks.reply_questions import Question, ask

CLEAR, DOUBTFUL, NOISE = 17_000, 11_000, 60_000
RULED = {
    *("two answers", "hedged", "negated", "taken back", "another's", "asked about"),
    *("commented out", "a condition", "exotic separators"),
}
"""Styles of doubtful replies that the rule may read, but not as an answer that is not given."""
_NOISES = {
    "random: bytes": replies_noise.bytes_,
    "random: Unicode": replies_noise.unicode_,
    "random: marks in any order": replies_noise.soup,
    "random: thousands of marks": replies_noise.deep,
}


class Case(NamedTuple):
    """A reply to a question. `group` is its row; `clear` None: anything but a wrong answer goes."""

    group: str
    question: Question
    text: str
    finish: str
    clear: bool | None


class Outcome(NamedTuple):
    """What became of a reply: read, refused, taken, misread or crash; and how long it took."""

    what: str
    seconds: float


def fill(text: str, question: Question) -> str:
    """Put the answers into a template."""
    return text.format(x=question.meant, y=question.other, s="")


def structured(size: float, rng: np.random.Generator) -> Iterator[Case]:
    """Yield the clear and the doubtful replies."""
    for _ in range(scaled(CLEAR, size)):
        question = ask(rng)
        style, text = clear(rng, question.letters)
        yield Case(f"clear: {style}", question, fill(text, question), "stop", True)
    for _ in range(scaled(DOUBTFUL, size)):
        question = ask(rng)
        style, text, finish = doubtful(rng, question.letters)
        clearly = None if style in RULED else False
        yield Case(f"doubtful: {style}", question, fill(text, question), finish, clearly)


def noise(size: float, rng: np.random.Generator) -> Iterator[Case]:
    """Yield the random replies, and clear ones that were damaged at random."""
    kinds = [*_NOISES, "random: damaged replies"]
    for index in range(scaled(NOISE, size)):
        question, kind = ask(rng), kinds[index % len(kinds)]
        if kind in _NOISES:
            text = _NOISES[kind](rng)
            text = text.replace("{x}", question.meant).replace("{y}", question.other)
        else:
            text = replies_noise.damaged(rng, fill(_answered(rng, question.letters), question))
        yield Case(kind, question, text, "stop", None)


def _answered(rng: np.random.Generator, letters: bool) -> str:
    """Draw a clear reply that gives no other answer, not even while it thinks."""
    style, text = clear(rng, letters)
    return text if style != "thinking" else _answered(rng, letters)


def outcome(case: Case) -> Outcome:
    """Read a reply and judge what came of it."""
    start = time.perf_counter()
    try:
        read = case.question.reader.read(case.text, case.finish)
    except Exception:  # noqa: BLE001 (a crash is what this looks for, whatever it is)
        return Outcome("crash", time.perf_counter() - start)
    return Outcome(_judged(case, read.value), time.perf_counter() - start)


def _judged(case: Case, value: Any) -> str:
    if value is None:
        return "refused"
    if case.clear is False:
        return "taken"
    if case.group.endswith(("two answers", "a condition")):
        return "read"  # the last one
    if case.clear is None and case.group.startswith("doubtful"):
        return "read" if value == case.question.value else "misread"
    if case.clear is None and not case.group.endswith("damaged replies"):
        return "read"  # it may say anything; what it must not do is crash
    if case.clear is None and not case.question.letters:
        return "read"  # a digit or letter less may be another legal answer
    return "read" if value == case.question.value else "misread"


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Read all replies and count."""
    rng = np.random.default_rng(seed)
    counts: dict[str, Counter[str]] = {}
    slowest: dict[str, float] = {}
    for cases in (structured(size, rng), noise(size, rng)):
        for case in cases:
            found = outcome(case)
            counts.setdefault(case.group, Counter())[found.what] += 1
            slowest[case.group] = max(slowest.get(case.group, 0.0), found.seconds)
    order = ("clear", "doubtful", "random")
    groups = sorted(counts, key=lambda group: (order.index(group.partition(":")[0]), group))
    rows = [_row(group, counts[group], slowest[group]) for group in groups]
    return [*_sums(counts), *rows]


def _row(group: str, count: Counter[str], seconds: float | None) -> Row:
    tried, refused = count.total(), count["refused"]
    lost = count["taken"] + count["misread"] + count["crash"]
    survived = tried - lost - refused * group.startswith("clear")
    note = ", ".join(
        f"{count[name]:,} {name}" for name in ("misread", "taken", "crash") if count[name]
    )
    if not group.startswith("random"):
        note = ", ".join(filter(None, (note, f"{100 * refused / tried:.1f} % refused")))
    return Row(group, tried, survived, lost, seconds, note)


def _sums(counts: dict[str, Counter[str]]) -> list[Row]:
    rows = []
    for kind in ("clear", "doubtful", "random"):
        parts = [count for group, count in counts.items() if group.startswith(kind)]
        rows.append(_row(f"{kind}: all", sum(parts, Counter[str]()), None))
    return rows


ATTACK = Attack(
    "Replies",
    "Replies as chat models write them, put together at random with a verdict by construction:\n"
    "labels of matrix games, codes and hints of Decrypto. *Clear* ones are to be read as meant\n"
    "(*survived*); the others are refused, which costs an attempt, or misread (*lost*). Doubtful\n"
    "ones are refused or, where the reading rule says so, read as what they say last; they are\n"
    "lost if they are read otherwise. Random ones must not crash the reader; damaged ones, which\n"
    "are clear replies with characters left out, doubled or put in, are lost if another label is\n"
    "read.\n"
    "*Told after* is the longest time that one reply took. The set is no measure of how well the\n"
    "rule reads what nobody tuned it to: `tests/strategies/fresh.toml` is.",
    play,
)
