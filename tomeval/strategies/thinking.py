"""Set a reply's thinking aside: what a model writes to itself before it answers."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think"
_OPEN = re.compile(rf"<(?:{_NAMES})>|\[THINK\]|◁think▷|<\|START_THINKING\|>", re.IGNORECASE)
_THROUGH_CLOSE = re.compile(
    rf"^.*(?:</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>)(?:<\|START_RESPONSE\|>)?",
    re.DOTALL | re.IGNORECASE,
)
# gpt-oss writes into channels; servers that drop its control tokens leave the channels' names.
_CHANNEL = re.compile(r"<\|channel\|>")
_THROUGH_FINAL = re.compile(
    r"^.*<\|channel\|>final\s*(?:<\|constrain\|>\w+)?\s*<\|message\|>|^\s*analysis.*assistantfinal",
    re.DOTALL,
)


def visible(text: str) -> str | None:
    """Return a reply without its thinking, or None if the thinking was never closed.

    Everything up to the last closing tag is thinking, even if the prompt opened it. Tags are those
    of ``<think>``, ``<thinking>``, ``<reasoning>`` and their like; all channels of gpt-oss but
    ``final`` are thinking too.

    Examples
    --------
    >>> visible("<think>J or F?</think>Final answer: J")
    'Final answer: J'
    >>> visible("<think>J or") is None
    True
    >>> visible("<|channel|>analysis<|message|>J?<|end|><|channel|>final<|message|>Final answer: J")
    'Final answer: J'
    """
    rest = _THROUGH_FINAL.sub("", _THROUGH_CLOSE.sub("", text, count=1), count=1)
    return None if _OPEN.search(rest) or _CHANNEL.search(rest) else rest
