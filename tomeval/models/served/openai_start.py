"""What the start-up test finds out by asking: seeds, thinking, prefills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tomeval.core.thinking import marks_thinking
from tomeval.models.base import GenerateRequest, Message, Prompt, Reply, Sampling
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_mends import Refused
from tomeval.models.served.logprob_wire import NO_THINKING, Query, dig
from tomeval.models.served.openai_text import chat_fields

_DRAW_TEST = Prompt((Message("user", "Write ten random words."),))
_DRAW_TOKENS = 16
_SUM_TEST = Prompt(
    (Message("user", "How many legs do two cats and a hen have together? Reply with the number."),)
)
_SUM_TOKENS = 512
_BEGUN, _REST = "maple seven river", "amber cloud"
PREFILL_TEST = Prompt(
    (Message("user", f"Copy this line and write nothing else: {_BEGUN} {_REST}"),), prefill=_BEGUN
)
Ask = Callable[[GenerateRequest], Awaitable[Reply]]


def draw(seed: int) -> GenerateRequest:
    """Return the request for a short text that depends on chance."""
    return GenerateRequest(_DRAW_TEST, Sampling(max_tokens=_DRAW_TOKENS), seed)


def judge_draws(first: Reply, again: Reply, other: Reply) -> dict[str, bool | None]:
    """Return whether replies are drawn (``sampled``) and equal seeds give equal ones (``seeded``).

    `first` and `again` were asked for with one seed, `other` with another; None where nothing was
    said.
    """
    said = [(reply.text, reply.reasoning) for reply in (first, again, other)]
    if not any(said[0]):
        return {"sampled": None, "seeded": None}
    dropped = "seed" in other.details.get("dropped", ())
    return {"sampled": len(set(said)) > 1, "seeded": said[0] == said[1] and not dropped}


def shows_thinking(reply: Reply) -> bool:
    """Tell whether a reply holds thinking, or all of its tokens went into hidden thinking.

    Examples
    --------
    >>> shows_thinking(Reply("<think>Hm.")), shows_thinking(Reply("J"))
    (True, False)
    """
    hidden = reply.finish == "length" and not reply.text and not reply.reasoning
    marked = marks_thinking(reply.text)
    return bool(reply.reasoning) or marked or hidden or "reasoning_tokens" in reply.details


async def thinks(ask: Ask, drawn: list[Reply], *, chat: bool = True) -> bool:
    """Tell whether the model thinks before it answers.

    Where the first draws do not show it, an easy question is asked: a template may open the
    thinking block by itself, so that only its end is in the reply.
    """
    if any(map(shows_thinking, drawn)):
        return True
    if not chat:
        return False
    return shows_thinking(
        await ask(GenerateRequest(_SUM_TEST, Sampling(max_tokens=_SUM_TOKENS), seed=1))
    )


async def continues_prefill(client: HttpClient, query: Query) -> bool | None:
    """Tell whether the chat API goes on from a begun answer; None if that cannot be seen.

    The model is to copy a line whose first half stands in the prefill: it either writes the second
    half or begins anew. `query` holds `PREFILL_TEST`.
    """
    fields = chat_fields(query.request.prompt)
    body = query.body(**fields, chat_template_kwargs=NO_THINKING) | {"max_tokens": _DRAW_TOKENS}
    try:
        answer = await client.post(
            "chat/completions", body, tokens=query.tokens + _DRAW_TOKENS, probing=True
        )
    except Refused:
        return False
    message: Any = dig(answer.data, "choices", 0, "message", "content")
    text = message.strip().lower() if isinstance(message, str) else ""
    if text.startswith(_REST.split()[0]):
        return True
    return False if text.startswith(_BEGUN.split()[0]) else None
