"""Random replies: bytes, noise in Unicode, what readers look for in any order, damaged replies."""

from __future__ import annotations

import numpy as np

from attacks.replies_clear import pick
from attacks.replies_doubtful import SEPARATORS

SOUP = (
    *(
        "Final answer:",
        "final answer",
        "Answer:",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "}",
        "{",
        '"',
    ),
    *(
        "**",
        "*",
        "`",
        "```",
        "~~",
        "#",
        "- ",
        "> ",
        "\n",
        "\n\n",
        "(",
        ")",
        "[",
        "]",
        "$",
        "\\text{",
    ),
    *(
        "<think>",
        "</think>",
        "<!--",
        "-->",
        "//",
        "/*",
        "*/",
        "{x}",
        "{x}",
        "{y}",
        "not",
        "or",
        "...",
        "?",
    ),
    *(
        "<|im_end|>",
        "<|channel|>",
        "final",
        "<|message|>",
        "“",
        "”",
        "\\[",
        "\\]",
        "✅",
        ":",
        " ",
        ",",
    ),
    *('"code"', '"answer"', "null", "Option", "The final answer is", "\t", "\r", *SEPARATORS),
)
DEEP = (
    "**",
    "(",
    "[",
    "{",
    "`",
    '"',
    "<b>",
    "\\boxed{",
    "\n",
    " ",
    "> ",
    "#",
    "Final answer:",
    "$",
    "*_",
)


def bytes_(rng: np.random.Generator) -> str:
    """Return random bytes, read as one of two encodings."""
    raw = rng.bytes(int(rng.integers(1, 400)))
    return raw.decode("latin-1") if rng.random() < 0.5 else raw.decode("utf-8", "replace")


def unicode_(rng: np.random.Generator) -> str:
    """Return random characters of all planes, lone surrogates included."""
    top = pick(rng, ("300", "3000", "65536", "1114112"))
    return "".join(map(chr, rng.integers(0, int(top), int(rng.integers(1, 200)))))


def soup(rng: np.random.Generator) -> str:
    """Return a random order of what readers look for."""
    return "".join(pick(rng, SOUP) for _ in range(int(rng.integers(1, 60))))


def deep(rng: np.random.Generator) -> str:
    """Return one mark very often, around or before a marked answer."""
    mark = pick(rng, DEEP) * int(rng.integers(1, 5000))
    return pick(rng, (f"{mark}Final answer: {{x}}", f"Final answer: {mark}{{x}}", f"{{x}}{mark}"))


def damaged(rng: np.random.Generator, text: str) -> str:
    """Return a reply with some characters left out, doubled, or of another kind put in."""
    marks = "*_`\"'()[]{}<>$\\#~:.,;!?-\n\t \u2028\x0b\u200b✅"
    found = list(text)
    for _ in range(int(rng.integers(1, 6))):
        if found:
            at = int(rng.integers(len(found)))
            put = (("",), (found[at] * 2,), (found[at] + marks[int(rng.integers(len(marks)))],))
            found[at] = put[int(rng.integers(3))][0]
    return "".join(found)
