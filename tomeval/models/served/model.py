"""Models behind an OpenAI-compatible server, hosted or one's own."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.core.text import marks_thinking
from tomeval.models import check_options
from tomeval.models.base import (
    BackendError,
    Capabilities,
    GenerateRequest,
    Message,
    Model,
    Opening,
    Prompt,
    Reply,
    Sampling,
    ScoreRequest,
    Scores,
    Usage,
    plain_text,
    thinking_room,
)
from tomeval.models.naming import check_url, key_for
from tomeval.models.served import Budget, OpenAIOptions, estimate_tokens
from tomeval.models.served.faults import Refused
from tomeval.models.served.labels import ROUTES, Query, find_route
from tomeval.models.served.replies import check_logprobs, read_reply
from tomeval.models.served.requests import (
    ANY,
    CHAT,
    chat_fields,
    form_fields,
    look_up,
    omission,
)

if TYPE_CHECKING:
    from tomeval.models.served.client import Client

logger = logging.getLogger(__name__)

_NAME = re.compile(r"(?:openai:)?(?P<model>.+)@(?P<url>https?://.+)")
_USED_UP = re.compile(r"(max_tokens|max_completion_tokens) or model output limit was reached")
# A prompt so many times and characters longer has more tokens for certain.
_MUCH, _LEAST = 1.25, 400

_LEGS = "How many legs do two cats and a hen have together? Reply with the number."
QUESTION = GenerateRequest(Prompt((Message("user", _LEGS),)), Sampling(max_tokens=512), seed=1)
"""Easy, so that only a model that always thinks thinks. The reply shows whether it does, and which
fields are refused."""


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    model : str
        As the server calls it.
    base_url : str
        Such as ``https://api.openai.com/v1`` or ``http://127.0.0.1:8000/v1``.
    options : OpenAIOptions, optional
    budget : Budget, optional
        Caps, which may be shared with other models.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        options: OpenAIOptions | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.options = options or OpenAIOptions()
        self.route = ""  # by which labels are scored
        self.thinks = False
        self.price = self.options.price
        self._url = check_url(base_url)
        self.name = f"openai:{model}@{self._url}"
        self._key = key_for(self._url)
        self._budget = budget
        self._context: int | None = None
        self._label = f"openai:{model}"  # in notes
        self.model, self.server = model, ANY  # as the server calls it; the kind of server
        self._room = self.options.thinking_budget or 0  # tokens, on top of the answer's
        self._client: Client | None = None
        self._read: dict[str, tuple[int, int]] = {}  # characters and tokens, by conversation
        self._cuts = False  # whether the server was seen to cut prompts

    @property
    def client(self) -> Client:
        """The connections, which the first request opens."""
        if self._client is None:
            from tomeval.models.served.client import Client

            how = (self._label, self.options, self._budget)
            self._client = Client(self._url, self._key, *how)
        return self._client

    async def start(self) -> None:
        """Ask the server what it can.

        Is it there, does the model think, and, where labels are scored, by which route? Raises
        `TomevalError` if the server cannot be reached, denies access, or cannot score labels that
        are to be scored.
        """
        scoring = self.options.scoring == "required"
        self.client.starting = True
        try:
            about = await look_up(self.client, self.model, self._label)
            self.revision, self.server, self._context = about
            await self._ask_first()
            if scoring:
                self.route, faults = await find_route(self._score)
        except BackendError as error:
            raise TomevalError(f"{self._label} failed its start-up test: {error}") from None
        finally:
            self.client.starting = False
        if scoring and not self.route:
            raise TomevalError(
                f"{self.name}: labels cannot be scored: leave LM and Social LM out, or ask a "
                f"server that gives log-probabilities, such as vLLM, SGLang or llama.cpp\n{faults}"
            )
        wanted = self.options.structured == "auto"
        if wanted and self.thinks:
            note = "%s: structured = 'auto': answers are not held to a form: the model thinks first"
            logger.warning(note, self._label)
        self.capabilities = Capabilities(holds=wanted and not self.thinks)

    def stop(self) -> None:
        """See `Model.stop`."""
        self.client.stop()

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply, see `Model.generate`.

        Raises `BackendError` if no readable reply came within the retry budget, `TomevalError` for
        a prefill that must go and has nothing instead, `ContextExceeded` if the prompt is too long,
        and `BudgetExceeded`, without a call, if that would pass a cap.
        """
        prompt = self.server.shown(request.prompt, self.name)
        text = plain_text(prompt)
        most = estimate_tokens(text) + request.sampling.max_tokens
        # What is asked at the start needs no room for thinking.
        room = 0 if self.client.starting else self._room
        if self.options.thinking_budget is None and self._context is not None:
            room = max(0, min(room, self._context - most))
        form = self.server.form(request) if self.capabilities.holds else ""
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + room)
        body = {
            **self.options.extra_body,
            "model": self.model,
            **chat_fields(prompt),
            **self.server.sampling(sampling, request.seed),
            **(form_fields(form, request) if form else {}),
        }
        if self.options.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": self.options.thinking}
        try:
            reply: Reply = await self.client.ask(
                CHAT, body, most + room, lambda answer: read_reply(answer, request, form)
            )
        except Refused as refusal:
            # OpenAI refuses a reply whose thinking used up its tokens: it is one that was cut off.
            if not refusal.filtered and not _USED_UP.search(refusal.message):
                raise
            why = {"route": CHAT, "finish": refusal.message}
            return Reply("", finish="refusal" if refusal.filtered else "length", details=why)
        reply.details["route"] = CHAT
        if room:
            reply.details["thinking_budget"] = room
        reply.details.update(omission(request.prompt, prompt), **self._cost(reply.usage))
        self._note_cut(request.group, len(text), reply.usage.prompt)
        return reply

    async def score(self, request: ScoreRequest) -> Scores:
        """Score labels by the route that `start` found, see `Model.score`.

        Raises `Unlisted` if the server tells the likeliest tokens only and a label is not among
        them, `BackendError` if there is no reply, or one without the log-probability of a label,
        and `TomevalError` if the server cannot score.
        """
        if not (name := self.route):
            raise TomevalError(f"{self.name}: labels are scored after start(), unless that is off")
        return await self._score(request, name)

    async def _score(self, request: ScoreRequest, route: str) -> Scores:
        most = estimate_tokens(plain_text(request.prompt)) + 1 + max(map(len, request.labels))
        query = Query(self, request, most)
        logprobs = await ROUTES[route](query)
        check_logprobs(logprobs)
        mass = math.fsum(math.exp(value) for value in logprobs)
        query.details.update(self._cost(query.usage))
        return Scores(tuple(logprobs), mass, route, query.usage, query.latency, query.details)

    def _cost(self, usage: Usage) -> dict[str, float]:
        return {"cost": self.price.cost(usage)} if self.price else {}

    def _note_cut(self, conversation: str, length: int, tokens: int) -> None:
        """Warn once if a prompt has grown by much and the server read no more tokens of it."""
        if self._cuts or not conversation or not tokens:
            return
        before, counted = self._read.get(conversation, (length, 0))
        if length >= max(before + _LEAST, _MUCH * before) and tokens <= counted:
            self._cuts = True
            logger.warning(
                "%s: the server read %d tokens of a prompt of %d characters, and %d of one of %d "
                "in the same conversation: it seems to cut long prompts, so that the model does "
                "not see all of them; raise its context length (for Ollama, num_ctx)",
                *(self._label, tokens, length, counted, before),
            )
        if tokens > counted:
            self._read[conversation] = length, tokens

    async def _ask_first(self) -> None:
        """Ask the first question; see what it shows of the model."""
        reply = await self.generate(QUESTION)
        hidden = reply.finish == "length" and not reply.text and not reply.reasoning
        marked = marks_thinking(reply.text) or "reasoning_tokens" in reply.details
        self.thinks = bool(reply.reasoning) or marked or hidden
        if self.options.thinking_budget is None and self.thinks:
            self._room = thinking_room(self._context)
            note = "%s: the model thinks before it answers: thinking_budget = %d"
            logger.warning(note, self._label, self._room)


def open_server(name: str, options: Mapping[str, Any], opening: Opening) -> OpenAIModel:
    """Open ``openai:MODEL@BASE_URL``.

    Raises `TomevalError` for a name without base URL or a wrong option.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        form = "openai:MODEL@BASE_URL, such as openai:org/name@http://127.0.0.1:8000/v1"
        raise TomevalError(f"{name!r} is not {form}")
    options = {"scoring": "required" if opening.scores else "off", **options}
    checked = check_options(OpenAIOptions, options, "openai model")
    return OpenAIModel(match["model"], match["url"], checked, budget=opening.budget)
