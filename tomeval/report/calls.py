"""The calls of an episode as the page holds them: every prompt by what is new in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.prefixes import common_prefix
from tomeval.report.blocks import shortened
from tomeval.strategies.asking import replaced

Bases = dict[tuple[int, str], str]
"""Per (cell, purpose) the first prompt of the cell, which later episodes' prompts refer to."""


def packed_calls(
    rows: Iterable[tuple[int, str, str, dict[str, Any]]],
    cell: int,
    bases: Bases,
    seats: bool = False,
) -> list[dict[str, Any]]:
    """Return an episode's calls, `rows` of `Store.calls`, in short form.

    A record says how many characters its prompt shares with the last one of the same seat and
    purpose in this episode. The prompts of new purposes are added to `bases`. With `seats`,
    purposes carry the name of their seat.

    Returns
    -------
    list of dict
        ``s`` step, ``p`` purpose, ``a`` attempt after the first, ``m`` characters that the prompt
        shares, ``r`` the rest of it, ``b`` 1 if it shares them with the cell's base and not with
        the last prompt of its purpose; ``t`` reply, ``g`` reasoning, ``f`` finish, ``o`` outcome,
        ``l`` labels with their log-probabilities ``q``, mass ``k`` and method ``w``; ``u`` prompt,
        generated and cached tokens, ``d`` seconds, ``e`` error. Keys without content are left out.

    Raises
    ------
    TomevalError
        An episode's first prompt of a purpose refers to an earlier one: the log is damaged.
    """
    seen: set[str] = set()
    calls = []
    for step, seat, form, record in rows:
        purpose = record.get("purpose", form)
        if seats:
            purpose = f"{seat}: {purpose}"
        call: dict[str, Any] = {"s": step, "p": purpose}
        if "prompt_rest" in record:
            same, rest = record["prompt_same"], record["prompt_rest"]
            if purpose not in seen:
                if same:
                    raise TomevalError(
                        f"cell {cell}: the first prompt for {purpose!r} of an episode is not whole"
                    )
                base = bases.setdefault((cell, purpose), rest)
                same = common_prefix(base, rest)
                rest = rest[same:]
                call["b"] = 1
            seen.add(purpose)
            call |= {"m": same, "r": rest}
        if record.get("attempt", 1) > 1:
            call["a"] = record["attempt"]
        calls.append(call | _answer(record))
    return calls


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    """Return what came back."""
    found: dict[str, Any] = {}
    reply, scores = record.get("reply"), record.get("scores")
    if reply is not None:
        found |= {"t": reply["text"], "f": reply["finish"]}
        if reply.get("reasoning"):
            found["g"] = reply["reasoning"]
    if scores is not None:
        # Minus infinity, of a label that cannot be said, is not JSON: null.
        logprobs = [shortened(value, 5) for value in scores["logprobs"]]
        found |= {"l": record["labels"], "q": logprobs, "k": shortened(scores["mass"], 5)}
        found["w"] = scores["method"]
    if note := replaced(record):
        place = "f" if reply is not None else "w"
        found[place] = f"{found[place]}; {note}"
    said = reply or scores or {}
    usage = said.get("usage") or {}
    if any(usage.values()):
        found["u"] = [usage.get(key, 0) for key in ("prompt", "completion", "cached")]
    if said.get("latency"):
        found["d"] = shortened(said["latency"], 3)
    for short, key in (("o", "outcome"), ("e", "error")):
        if key in record:
            found[short] = record[key]
    return found
