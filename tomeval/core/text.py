r"""Text that others wrote, made safe to look at: one function for each kind of output.

Names, titles, labels, replies of models and messages of servers may hold characters that a
terminal obeys, that reorder the text around them, or that nobody sees. Where people read, each of
them is shown as an escape such as ``\x1b``, so that a reader sees that something was there. Data
stays as it is: stored rows, JSON, JSON lines, Parquet and CSV hold every character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tomeval.core.errors import TomevalError

# Controls but tab and line feed; soft hyphen; marks and overrides of direction, spaces of no width,
# separators of lines; lone surrogates; annotation; tags and variation selectors that carry text.
UNSEEN = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
"""What is shown as an escape, as the inside of a character class."""

# What no name and no wording needs. Joiners are letters' business in many languages, and stay.
_REFUSED = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
_UNSAFE = re.compile(f"[{UNSEEN}]")
_UNSAFE_IN_LINE = re.compile(f"[\\t\\n{UNSEEN}]")
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])")


def visible(text: str) -> str:
    r"""Return a text for a terminal or a page: what acts or is not seen stands as an escape.

    Line feeds and tabs stay. Joiners of no width are shown too, inside of emoji as well: they make
    two names that look the same.

    Examples
    --------
    >>> print(visible("a\x1b[31mb\u202ec\nd"))
    a\x1b[31mb\u202ec
    d
    """
    return _UNSAFE.sub(_escape, text)


def in_line(text: str) -> str:
    r"""Return a text for one line or one cell of a table: `visible`, without line feeds and tabs.

    Examples
    --------
    >>> print(in_line("two\nlines\t\x07"))
    two\nlines\t\x07
    """
    return _UNSAFE_IN_LINE.sub(_escape, text)


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text, which only a line feed ends, with or without a return before it.

    Unlike `str.splitlines`, which drops every separator of lines, so that nobody sees it.

    Examples
    --------
    >>> lines_of("a\r\nb\x0bc\n"), lines_of("")
    (['a', 'b\x0bc'], [])
    """
    return re.split("\r?\n", re.sub("\r?\n\\Z", "", text)) if text else []


def markdown(text: str) -> str:
    r"""Return a text for one cell or one line of Markdown, in which nothing of it is markup.

    Underscores inside of words stay, as Markdown takes them for text.

    Examples
    --------
    >>> print(markdown("tit_for_tat | <b> ![x](http://a) *y*"))
    tit_for_tat \| \<b\> !\[x\](http://a) \*y\*
    """
    return in_line(_MARKUP.sub(r"\\\g<0>", text))


def check_text(value: Any, where: str) -> None:
    r"""Refuse control characters and marks of direction in the texts of nested data, keys included.

    Line feeds and tabs are allowed. Whole numbers that no float holds are refused too: Python does
    not print them.

    Raises
    ------
    TomevalError
        Names the place, the text and the character.

    Examples
    --------
    >>> check_text({"labels": {"plain": ["J", "F\x07"]}}, "game.toml")
    Traceback (most recent call last):
    ...
    tomeval.core.errors.TomevalError: game.toml: labels.plain.1: 'F\x07' contains the control
    character U+0007, which is not allowed
    """
    if isinstance(value, dict):
        for key, item in value.items():
            check_text(key, where)
            check_text(item, f"{where}{': ' if ': ' not in where else '.'}{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            check_text(item, f"{where}.{number}")
    elif isinstance(value, int) and value.bit_length() > 1024:
        raise TomevalError(f"{where}: an integer of {value.bit_length():,} bits is too large")
    elif isinstance(value, str) and (refused := _REFUSED.search(value)):
        what = "lone surrogate" if "\ud800" <= refused[0] <= "\udfff" else "control character"
        raise TomevalError(
            f"{where}: {value!r} contains the {what} U+{ord(refused[0]):04X}, which is not allowed"
        )


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode()


APOSTROPHES, QUOTES, DASHES = "‘’‚‛‹›´′‵ʹʻʼʽꞌ＇", "“”„‟«»″‶〝〞〟＂", "–—―"
"""Typographic signs that are read as those of ASCII; dashes are, where no sentence is parted."""

_SIGNS = {"'": APOSTROPHES, '"': QUOTES, "-": "‐‑‒−˗"}
_ASCII = {ord(sign): ascii for ascii, signs in _SIGNS.items() for sign in signs}
_ASCII_DASHES = _ASCII | dict.fromkeys(map(ord, DASHES), "-")


def ascii_signs(text: str, dashes: bool = True) -> str:
    r"""Return a text with typographic apostrophes, quotes and hyphens as in ASCII, and `dashes`.

    Examples
    --------
    >>> ascii_signs("Don’t “stay‑in” – go"), ascii_signs("stay‑in – go", dashes=False)
    ('Don\'t "stay-in" - go', 'stay-in – go')
    """
    return text.translate(_ASCII_DASHES if dashes else _ASCII)


def excerpt(text: str, most: int = 80) -> str:
    """Return a text, or its first `most` characters and dots, for a message that quotes it.

    Examples
    --------
    >>> excerpt("tit_for_tat"), excerpt("abcdef", most=3)
    ('tit_for_tat', 'abc...')
    """
    return text if len(text) <= most else f"{text[:most]}..."


def both_ends(text: str) -> str:
    """Return the beginning and the end of a text, with what cannot be printed escaped."""
    if len(text) > 200:
        text = f"{text[:100]} [...] {text[-100:]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def common_prefix(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return how many leading items two sequences of one type share, by bisection over slices.

    Comparing slices runs at the speed of memory; comparing item by item would not.

    Examples
    --------
    >>> common_prefix("round 12", "round 13")
    7
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# Tags around a word for thinking, with up to two words before it: <|begin_of_thought|>.
_NAME = (
    r"(?:[a-z]{2,7}[\s_:]?){0,2}(?:think(?:ing)?|thoughts?|reasoning|reflection|scratch[\s_]?pad"
    r"|analysis|monologue|cot|思考)"
)
_LEFT = r"(?:<<?|&lt;|[＜◁])\s?\|?"
_RIGHT = r"(?:\s\w+=[^<>\n]{0,99})?\s?\|?(?:(?<!/)>>?|&gt;|[＞▷])"
# Mistral, gpt-oss, Gemma and MedGemma have marks of their own. Other words in square brackets, and
# the line "Thinking...", are headings: they open nothing that must be closed.
_OPEN = re.compile(
    rf"{_LEFT}{_NAME}{_RIGHT}|(?-i:\[THINK\])|<\|channel\|?>|<unused94>|^\s*```{_NAME}\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSE = re.compile(
    rf"{_LEFT}(?:/|end[\s_]){_NAME}{_RIGHT}|(?-i:\[/THINK\])|<channel\|>|<unused95>"
    r"|^(?:\.\.\.|…)\s?done thinking\.?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# Between fences, or between brackets of which the second has a stroke.
_FENCED = re.compile(
    rf"^\s*```{_NAME}\n[\s\S]*?^\s*```\s*$|\[{_NAME}\](?:(?!\[/?{_NAME}\])[\s\S])*\[/{_NAME}\]",
    re.IGNORECASE | re.MULTILINE,
)
# gpt-oss writes into channels; servers that drop its control tokens leave the channels' names.
_THROUGH_FINAL = re.compile(
    r"^.*<\|channel\|>final\s*(?:<\|constrain\|>\w+)?\s*<\|message\|>|^\s*analysis.*assistantfinal",
    re.DOTALL,
)


def marks_thinking(text: str) -> bool:
    """Return whether a text holds a mark of thinking, one that opens or one that closes it.

    Examples
    --------
    >>> marks_thinking("Hm.</think>J"), marks_thinking("I think J.")
    (True, False)
    """
    return bool(_OPEN.search(text) or _CLOSE.search(text))


def without_thinking(text: str) -> str | None:
    r"""Return a reply without its thinking, or None if the thinking was never closed.

    Everything up to the last closing mark is thinking, even if the prompt opened it; so are all
    channels of gpt-oss but ``final``, and code fences named so. "[Analysis]" is no thinking.

    Examples
    --------
    >>> without_thinking("<think>J or F?</think>Final answer: J")
    'Final answer: J'
    >>> without_thinking("<think>J.\nFinal answer: J") is None
    True
    >>> without_thinking("[Analysis]\nFinal answer: J")
    '[Analysis]\nFinal answer: J'
    >>> without_thinking(
    ...     "<|channel|>analysis<|message|>J?<|end|><|channel|>final<|message|>Final answer: J"
    ... )
    'Final answer: J'
    """
    rest = _FENCED.sub("", text)
    closed = max((mark.end() for mark in _CLOSE.finditer(rest)), default=0)
    rest = _THROUGH_FINAL.sub("", rest[closed:].removeprefix("<|START_RESPONSE|>"), count=1)
    return None if _OPEN.search(rest) else rest
