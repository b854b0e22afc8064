"""Replies that could not be read: what they look like, and which setting would read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, EMPTY, REFUSAL, VALID
from tomeval.core.text import both_ends, in_line, wrapped
from tomeval.core.thinking import without_thinking
from tomeval.runs.store import Store
from tomeval.strategies.asking import ALLOWANCES

SHOWN = 3
"""How many replies of a stopped cell are shown."""


class Unread(NamedTuple):
    """A reply that could not be read: why, and the model call as the log has it, if there is one.

    Examples
    --------
    >>> call = {"kind": "cot", "sampling": {"max_tokens": 768}, "reply": {"text": "Let me see..."}}
    >>> print(Unread("truncated", call))
    truncated (cot, at most 768 tokens): "Let me see..."
    """

    outcome: str
    call: Mapping[str, Any]

    def __str__(self) -> str:
        limit, used = max_tokens(self.call), _ended_by_itself(self.call)
        parts = [str(self.call.get("kind", ""))] + [f"at most {limit:,} tokens"] * bool(limit)
        if self.outcome == "truncated" and used is not None:
            parts[1:] = [f"ended by itself{f' after {used:,} tokens' if used else ''}"]
        about = ", ".join(filter(None, parts))
        fault = self.call.get("fault", "")
        why = f"; {in_line(fault)}" if fault and self.outcome in ("unparsable", "illegal") else ""
        return f"{self.outcome}{f' ({about})' if about else ''}{why}: {said(self.call)}"


def last_unread(store: Store, cell: int, episode: int) -> Unread | None:
    """Return the last reply of a stored episode that is not known to be valid.

    None: the episode is complete, so that no answer ended it.
    """
    if store.status(cell, episode) in (None, COMPLETE):
        return None
    calls = [
        record
        for *_, record in store.calls(cell, episode)
        if _says(record) and record.get("outcome") != VALID
    ]
    call = calls[-1] if calls else {}
    outcome = call.get("outcome") or store.last_unread(cell, episode) or "invalid"
    return Unread(outcome, call)


def _says(record: Mapping[str, Any]) -> bool:
    """Tell whether a call's record tells of an answer, readable or not."""
    return "reply" in record or "outcome" in record


def advice(unread: Unread) -> str:
    """Return what may help to read such replies."""
    kind, limit = unread.call.get("kind", ""), max_tokens(unread.call)
    # Other kinds have no allowance of their own.
    calls = f" of {kind!r} calls" if kind in ALLOWANCES else ""
    now = f" (now {limit:,})" if limit else ""
    held = 'let the server constrain answers to their form (structured = "auto")'
    if unread.outcome == "truncated" and _ended_by_itself(unread.call) is not None:
        return (
            "the model ended its reply within its thinking, below the limit: more tokens will not "
            "help; switch thinking off (model option thinking = false), or look at question and "
            "reply (tomeval transcript)"
        )
    if unread.outcome == "truncated" and thinks(unread.call):
        return (
            f"the model had not finished thinking: raise max_tokens{calls}{now} or its "
            "thinking_budget, or switch thinking off (model option thinking = false)"
        )
    return {
        "truncated": f"the reply was cut off: raise max_tokens{calls}{now}",
        "unparsable": "there is no answer in the form asked for: look at question and reply "
        f"(tomeval transcript), reword the question (prompts), raise max_attempts, or {held}",
        "illegal": "the answer is not one of the options: look at question and reply (tomeval "
        f"transcript), reword the question (prompts), or {held}",
        "unlisted": "the server returns only the most likely tokens, and a label is missing: raise "
        "top_logprobs, name a tokenizer so that labels are asked for by id, or have answers "
        "written (QA)",
        EMPTY: f"the reply contains only thinking: raise max_tokens{calls}{now} or its "
        "thinking_budget, or switch thinking off (model option thinking = false)"
        if thinks(unread.call)
        else "the reply is empty: look at the question (tomeval transcript), and at the model's "
        "chat template and stop texts",
        REFUSAL: "the model or its provider declined: reword the question (prompts), or take "
        "another model",
    }.get(unread.outcome, "see tomeval transcript")


def explained(head: str, unread: Sequence[Unread], known: set[str]) -> str:
    """Say why a cell stops, what its last replies look like, and what may help.

    Parameters
    ----------
    head : str
        Which cell stops, and why.
    unread : sequence of Unread
        Its void episodes' replies, the last of which are shown, equal ones once.
    known : set of str
        Advice given before, which is not repeated; grows.

    Returns
    -------
    str
        Empty where replies and advice are like those of a cell before: the closing lines count it.
    """
    lines = [wrapped(head)]
    if unread:
        shown = [str(one) for one in unread[-SHOWN:]]
        lines.append("  its last unreadable replies:")
        for text in dict.fromkeys(shown):
            times = f" ({shown.count(text)} times)" if shown.count(text) > 1 else ""
            lines.append(wrapped(f"{text}{times}", 4))
        what = dict.fromkeys(advice(one) for one in unread[-SHOWN:])
        if known.issuperset(what):
            return ""
        lines += [wrapped(f"-> {one}", 2) for one in what if one not in known]
        known.update(what)
    return "\n".join(lines)


def said(call: Mapping[str, Any]) -> str:
    r"""Return a call's reply in quotes, cut, without line breaks or control characters.

    Examples
    --------
    >>> print(said({"reply": {"text": "Well.\n\x1b[2J"}}))
    "Well.\n\x1b[2J"
    >>> said({"reply": {"text": "", "reasoning": "Either J or F."}})
    'no text, after 14 characters of thinking'
    """
    reply = call.get("reply", {})
    text, reasoning = reply.get("text", ""), reply.get("reasoning") or ""
    if not reply:
        return f"({both_ends(call.get('error') or 'no reply in the log')})"
    if not text:
        return f"no text, after {len(reasoning):,} characters of thinking" if reasoning else '""'
    return f'"{both_ends(text)}"'


def thinks(call: Mapping[str, Any]) -> bool:
    """Tell whether a reply holds thinking, apart or in its text."""
    reply = call.get("reply", {})
    text = reply.get("text", "")
    return bool(reply.get("reasoning")) or without_thinking(text) != text


def _ended_by_itself(call: Mapping[str, Any]) -> int | None:
    """Return the tokens of a reply that was not cut off at its limit, 0 if not known; else None."""
    reply = call.get("reply", {})
    used = int(reply.get("usage", {}).get("completion") or 0)
    room = max_tokens(call) + int(reply.get("details", {}).get("thinking_budget") or 0)
    # Some servers say "stop" whatever ended a reply.
    return used if reply.get("finish") == "stop" and used < room else None


def max_tokens(call: Mapping[str, Any]) -> int:
    """Return the longest reply that a call asked for; 0 if the log does not say."""
    return int(call.get("sampling", {}).get("max_tokens", 0))
