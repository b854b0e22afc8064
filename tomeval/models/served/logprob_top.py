"""Label scores from the likeliest tokens of a reply, where a server tells no more."""

from __future__ import annotations

from tomeval.models.base import Unusable
from tomeval.models.served.logprob_routes import Route
from tomeval.models.served.logprob_wire import (
    LEGACY_TOP,
    NO_THINKING,
    Query,
    checked,
    dig,
    match,
    read_entries,
)
from tomeval.models.served.openai_fields import greedy_fields
from tomeval.models.served.openai_wire import chat_fields, plain_text


class TopK(Route):
    """The `count` likeliest first tokens of a chat reply, matched with whole labels by bytes."""

    name = "top_k"
    on_chat = True

    def __init__(self, count: int = 20) -> None:
        self.count = count

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`; `Unlisted` if a label is not among the likeliest tokens."""
        texts = self.texts(query)
        entries = await self.entries(query)
        query.details["top_k"] = len(entries)
        likeliest = max(entries, key=lambda entry: entry[1])[0].decode(errors="replace")
        query.details["argmax_is_label"] = likeliest in texts
        return [
            match(text, label, entries)
            for text, label in zip(texts, query.request.labels, strict=True)
        ]

    async def sample(self, query: Query) -> list[float]:
        """See `Route.sample`; a model that names no test label among its likeliest may still do."""
        return [value for _, value in await self.entries(query)]

    def texts(self, query: Query) -> list[str]:
        """Return the labels' texts."""
        return query.texts(None)

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        fields = chat_fields(query.request.prompt)
        fields.update(logprobs=True, top_logprobs=self.count, chat_template_kwargs=NO_THINKING)
        data = await query.run("chat/completions", query.body(**fields))
        message = dig(data, "choices", 0, "message")
        if dig(message, "reasoning_content") or dig(message, "reasoning"):
            raise Unusable("the model thinks before it answers, and that cannot be switched off")
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKCompletions(TopK):
    """As `TopK`, on the completions API, in its own shape or that of the chat API."""

    name = "top_k_completions"
    on_chat = False

    def texts(self, query: Query) -> list[str]:
        """Return the labels' texts."""
        return query.texts(plain_text(query.request.prompt))

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = query.body(prompt=plain_text(query.request.prompt), logprobs=self.count)
        data = await query.run("completions", body)
        table = dig(data, *LEGACY_TOP)
        if isinstance(table, dict):
            return [checked(token.encode(), value) for token, value in table.items()]
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKOllama(TopK):
    """As `TopK`, on Ollama's own path."""

    name = "top_k_ollama"

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = {
            "model": query.requests.model,
            "messages": chat_fields(query.request.prompt)["messages"],
            "stream": False,
            "think": False,
            "logprobs": True,
            "top_logprobs": self.count,
            "options": {"num_predict": 1, **greedy_fields(query.requests.kind)},
        }
        data = await query.run("/api/chat", body)
        return read_entries(dig(data, "logprobs", 0, "top_logprobs"))
