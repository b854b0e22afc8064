"""Set a reply's thinking aside: what a model writes to itself before it answers."""

from __future__ import annotations

import re

_WORD = (
    r"(?:think(?:s|ing)?|thoughts?|reasoning|reflect(?:ion|ions|ing)?|scratch[\s_-]?pad|analysis"
    r"|analy[sz]ing|monologue|deliberat(?:e|ion|ing)|contemplat(?:e|or|ion|ing)|ponder(?:ing)?|cot"
    r"|思考)"
)
# What may stand beside such a word: <|begin_of_thought|>, [inner monologue], <seed:think>.
_BESIDE = (
    r"(?:begin|start|open|of|the|my|inner|internal|hidden|private|silent|deep|long|chain|steps?"
    r"|process|block|content|trace|mode|section|text|tokens?|seed|ant|model|assistant)"
)
_NAME = rf"(?:{_BESIDE}[\s_:.-]{{0,3}})*{_WORD}(?:[\s_:.-]{{0,3}}(?:{_BESIDE}|{_WORD}))*"
_LEFT = r"(?:<{1,3}|&lt;|[\[{＜［｛【〈《‹«⟨◁])\s{0,3}[|!]?\s{0,3}"
# A tag may have attributes; one that ends in a slash holds nothing.
_RIGHT = (
    r"(?:\s[\w-]{1,40}=[^<>\n]{0,200})?\s{0,3}[|!]?\s{0,3}(?<!/)(?:>|&gt;|[\]}＞］｝】〉》›»⟩▷])"
)
_END = r"(?:[/\\]|(?:end|close|stop|done)(?:[\s_-]?of)?[\s_:-]?)\s{0,3}"
# gpt-oss, Gemma and MedGemma have marks without such a word; `ollama run` writes lines of its own.
_OPEN = re.compile(
    rf"{_LEFT}{_NAME}{_RIGHT}|<\|channel\|?>|<unused94>|^\s*```\s*{_NAME}\s*$"
    r"|\A\s*Thinking\s?(?:\.\.\.|…)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSE = re.compile(
    rf"{_LEFT}{_END}{_NAME}{_RIGHT}|<channel\|>|<unused95>"
    r"|^(?:\.\.\.|…)\s?done thinking\.?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCED = re.compile(
    rf"^\s*```\s*{_NAME}\s*\n(?:(?!^\s*```)[\s\S])*^\s*```\s*$", re.IGNORECASE | re.MULTILINE
)
# gpt-oss writes into channels; servers that drop its control tokens leave the channels' names.
_THROUGH_FINAL = re.compile(
    r"^.*<\|channel\|>final\s*(?:<\|constrain\|>\w+)?\s*<\|message\|>|^\s*analysis.*assistantfinal",
    re.DOTALL,
)


def marks_thinking(text: str) -> bool:
    """Tell whether a text holds a mark of thinking, one that opens or one that closes it.

    Examples
    --------
    >>> marks_thinking("Hm.</think>J"), marks_thinking("I think J.")
    (True, False)
    """
    return bool(_OPEN.search(text) or _CLOSE.search(text))


def without_thinking(text: str) -> str | None:
    r"""Return a reply without its thinking, or None if the thinking was never closed.

    A mark of thinking is brackets around words for thinking and nothing else, in any spelling:
    ``<think>``, ``[THINKING]``, ``<|begin_of_thought|>``, ``<Inner monologue>``; one that closes
    begins with a slash or with "end". A code fence of that name is one, too. Everything up to the
    last closing mark is thinking, even if the prompt opened it; all channels of gpt-oss but
    ``final`` are thinking, too.

    Examples
    --------
    >>> without_thinking("<think>J or F?</think>Final answer: J")
    'Final answer: J'
    >>> without_thinking("[Inner Thoughts] J.\nFinal answer: J") is None
    True
    >>> without_thinking(
    ...     "<|channel|>analysis<|message|>J?<|end|><|channel|>final<|message|>Final answer: J"
    ... )
    'Final answer: J'
    """
    rest = _FENCED.sub("", text)
    closed = max((mark.end() for mark in _CLOSE.finditer(rest)), default=0)
    rest = _THROUGH_FINAL.sub("", rest[closed:].removeprefix("<|START_RESPONSE|>"), count=1)
    return None if _OPEN.search(rest) else rest
