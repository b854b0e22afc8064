"""Prompt and labels in token ids: by the tokenizer at hand, or by the server's own."""

from __future__ import annotations

from typing import Any

from tomeval.models.base import Unusable
from tomeval.models.local.labels import LabelQuery, split_labels
from tomeval.models.served.logprob_wire import NO_THINKING, Query, dig, together
from tomeval.models.served.openai_text import chat_fields, plain_text


async def split(query: Query) -> LabelQuery:
    """Return prompt and labels in ids.

    Without a tokenizer the server's own is asked (``/tokenize`` and ``/detokenize`` of vLLM and
    SGLang): it renders the conversation, its text is taken back, and every label is tokenised
    together with that text. `Unusable` if the text does not give the same tokens again.
    """
    if query.codec is not None:
        return query.noted(query.codec.label_query(query.request))
    prompt = query.request.prompt
    if query.chat:
        ids = await _ids(query, **chat_fields(prompt), chat_template_kwargs=NO_THINKING)
    else:
        ids = await _ids(query, prompt=plain_text(prompt))
    body = {"model": query.model, "tokens": ids, "skip_special_tokens": False}
    reply = await query.ask("/detokenize", body)
    text = reply.get("prompt", reply.get("text"))
    if not isinstance(text, str):
        raise Unusable("needs a tokenizer (option tokenizer): /detokenize gave no text")
    ends = ["", *query.texts(None if query.chat else text)]
    again, *joint = await together(
        _ids(query, prompt=text + end, add_special_tokens=False) for end in ends
    )
    if again != ids:
        raise Unusable(
            "needs a tokenizer (option tokenizer): the server's own does not give the same tokens "
            "for the text of its tokens"
        )
    query.details["tokenizer"] = "server"
    return query.noted(split_labels(ids, joint, query.request.labels))


async def _ids(query: Query, **fields: Any) -> list[int]:
    data = await query.ask("/tokenize", {"model": query.model, **fields})
    ids = dig(data, "tokens")
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise Unusable("needs a tokenizer (option tokenizer): /tokenize gave no tokens")
    return ids
