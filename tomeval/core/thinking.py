"""Set a reply's thinking aside: what a model writes to itself before it answers."""

from __future__ import annotations

import re

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
