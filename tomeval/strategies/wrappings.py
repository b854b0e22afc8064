"""Marks around a text that do not change what it says: Markdown, LaTeX, quotes, tags."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tomeval.strategies.lines import split_lines

_TAGS = "answer|final|final_answer|response|output|b|strong|i|em|u|mark|code|p|center"
_COMMANDS = r"boxed|fbox|text|textbf|textit|texttt|textrm|mathrm|mathbf|mathsf|mathtt|mathit|emph"
_PAIRS = (
    *(("```", "```"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_")),
    *(("==", "=="), ("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("\\(", "\\)")),
    *(("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("|", "|")),
    *(("«", "»"), ("»", "«"), ("‹", "›"), ("「", "」"), ("『", "』"), ("【", "】"), ("《", "》")),
)
_REFUSING = "❌✖✗✘❎🚫⛔🛑👎🤔❓❔🤷😕🙅⚠🙃😐😬😅😶🤨🧐🤞🎲🪙🫤"  # pictures that say no, or ask
EMOJI = rf"(?:(?![{_REFUSING}])[←-⇿⌀-⏿■-➿⬀-⯿🌀-🫿]\ufe0f?)"
"""A picture beside an answer that takes nothing back."""
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad"
"""Characters that show as nothing."""
_QUOTES = "\"'“”„‟‘’‚`´＂"
_FORMATS = "json|jsonc|text|txt|plaintext|plain|markdown|md|latex|tex|python"  # of code fences
_OPENER = re.compile(rf"<(?P<tag>{_TAGS})>|\\+(?:{_COMMANDS})\s*\{{", re.IGNORECASE)
# Control tokens that some servers leave at the end of a reply.
_ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|end_of_text|>", "<|endoftext|>"),
    *("<|return|>", "<|END_OF_TURN_TOKEN|>", "<|END_RESPONSE|>", "<|message_end|>"),
    *("</s>", "<eos>", "<end_of_turn>"),
    "<｜end▁of▁sentence｜>",
)
_END = "|".join(map(re.escape, _ENDS))
_STOPS = (".", "!", "。")


BEFORE = re.compile(
    rf"(?:(?:`+|~~~)(?:(?:{_FORMATS})\b)?|{EMOJI}|[-=]{{3,}}|[\s*_$(\[|{re.escape(_QUOTES)}]|\\[\[(]|{_OPENER.pattern})*",
    re.IGNORECASE,
)
"""Marks before an object in JSON."""

AFTER = re.compile(
    rf"(?>[\s{INVISIBLE}*_$)\]}}|.{re.escape(_QUOTES)}]|~~~|{EMOJI}|[-=═─━]{{3,}}|\\[\])]|</(?:{_TAGS})>|{_END})*+",
    re.IGNORECASE,
)
"""Marks after an object in JSON."""

_PICTURES = re.compile(rf"^(?:{EMOJI}\s*)+|(?:\s*{EMOJI})+$")
_NO_INVISIBLE = dict.fromkeys(map(ord, INVISIBLE))
_MARKS_ALONE = re.compile(
    rf"(?>(?:`{{3,}}|~~~)(?:(?:{_FORMATS})\b)?|\$|\\[\[\]()]|[-*_=═─━]{{2,}}|{EMOJI}|</?(?:{_TAGS})>|{_END}|[{{}}\])]|[\s{INVISIBLE}])*+",
    re.IGNORECASE,
)


def without_ends(text: str) -> str:
    """Return a reply without the control tokens and invisible characters at its end."""
    while True:
        rest = text.rstrip().rstrip(INVISIBLE)
        rest = next((rest.removesuffix(end) for end in _ENDS if rest.endswith(end)), rest)
        if len(rest.rstrip()) == len(text.rstrip()):
            return text
        text = rest.rstrip()


def normal(text: str) -> str:
    """Return a text with compatible forms (full width, ligatures) in their plain form: NFKC."""
    return unicodedata.normalize("NFKC", text.translate(_NO_INVISIBLE))


def folded(text: str) -> str:
    """Return what texts have in common that differ in case, width and white space only."""
    return " ".join(normal(normal(text).casefold()).split())


def closer(text: str) -> tuple[str, str] | None:
    """Return the mark that a text opens with, and the mark that closes it; None without one.

    Examples
    --------
    >>> closer("**J**"), closer("$J$"), closer("J")
    (('**', '**'), ('$', '$'), None)
    """
    found = _OPENER.match(text)
    if found:
        return found[0], f"</{found['tag']}>" if found["tag"] else "}"
    if text[:1] in tuple(_QUOTES) and not text.startswith("```"):
        return text[0], _QUOTES
    return next((pair for pair in _PAIRS if text.startswith(pair[0])), None)


def closed(text: str, right: str) -> str | None:
    """Return a text without the mark that closes it, or None if it does not end in that."""
    if right == _QUOTES:
        return text[:-1] if text[-1:] in tuple(_QUOTES) else None
    return text[: -len(right)] if text.casefold().endswith(right.casefold()) else None


def opened(text: str, right: str) -> str | None:
    """Return a text without the closing mark that it begins with, or None if it does not."""
    if right == _QUOTES:
        return text[1:] if text[:1] in tuple(_QUOTES) else None
    return text[len(right) :] if text.casefold().startswith(right.casefold()) else None


def unwrapped(text: str) -> Iterator[str]:
    """Yield what is left of a text if a stop or a control token, or a pair around it, comes off."""
    pictures = _PICTURES.sub("", text).strip()
    if pictures and pictures != text:
        yield pictures
    if text.endswith(_ENDS):
        yield text.removesuffix(next(end for end in _ENDS if text.endswith(end))).strip()
    if text.endswith(_STOPS) and not text[:-1].endswith(_STOPS):
        yield text[:-1].strip()
    pair = closer(text)
    if pair and len(text) > len(pair[0]) + 1:
        inner = closed(text[len(pair[0]) :], pair[1])
        if inner is not None and inner.strip():
            yield inner.strip()


def lines_that_say(text: str) -> list[str]:
    """Return the lines of a text that hold more than marks, such as a code fence or a rule."""
    return [line.strip() for line in split_lines(text) if not _MARKS_ALONE.fullmatch(line)]
