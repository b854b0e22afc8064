"""Models behind an OpenAI-compatible server, hosted or one's own."""

from __future__ import annotations

import logging
import math
import re
from dataclasses import replace
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.thinking import marks_thinking
from tomeval.models.base import (
    BackendError,
    Capabilities,
    GenerateRequest,
    Message,
    Model,
    Prompt,
    Reply,
    Sampling,
    ScoreRequest,
    Scores,
    Unusable,
    Usage,
    thinking_room,
)
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.ability import describe
from tomeval.models.served.client import Client
from tomeval.models.served.cuts import Cuts
from tomeval.models.served.faults import Refused
from tomeval.models.served.fields import OLLAMA
from tomeval.models.served.label_query import Query
from tomeval.models.served.labels import Route, all_routes, first_route
from tomeval.models.served.limits import Budget, Price, estimate_tokens, price_of
from tomeval.models.served.options import OpenAIOptions
from tomeval.models.served.prompts import omission, plain_text
from tomeval.models.served.replies import read_reply
from tomeval.models.served.requests import Requests, load_tokenizer
from tomeval.models.served.top_tokens import nonsense
from tomeval.models.waiting import Waiting

logger = logging.getLogger(__name__)

LOW_MASS = 0.5
"""Label mass below which scores are flagged: the model would mostly say something else."""

_CUT = re.compile(r"(max_tokens|max_completion_tokens) or model output limit was reached")
_LEGS = "How many legs do two cats and a hen have together? Reply with the number."
# Easy, so that only a model that always thinks thinks. The reply shows which API there is, which
# fields are refused and whether the model thinks.
_QUESTION = GenerateRequest(Prompt((Message("user", _LEGS),)), Sampling(max_tokens=512), seed=1)
_LETTERS = "Which letter comes next: C C B C C B C C? Answer with one letter, A or B or C."
_LABELS = ScoreRequest(Prompt((Message("user", _LETTERS),)), ("A", "B", "C"))


class OpenAIModel(Model):
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    model : str
        As the server calls it.
    base_url : str
        Such as ``https://api.openai.com/v1`` or ``http://127.0.0.1:8000/v1``.
    options : OpenAIOptions, optional
    tokenizer : object, optional
        A Hugging Face tokenizer, in place of `OpenAIOptions.tokenizer`.
    budget : Budget, optional
        Caps, which may be shared with other models.
    waiting : Waiting, optional
        Where its client says how the server is waited for.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        options: OpenAIOptions | None = None,
        *,
        tokenizer: Any = None,
        budget: Budget | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.options = options or OpenAIOptions()
        self.capabilities = Capabilities(score=False, seeded=False)
        self.route: Route | None = None  # by which labels are scored
        self.thinks = False
        self._unscored = "start() must run before labels can be scored"
        self._budget = budget
        self._tokenizer = tokenizer
        self._context: int | None = None
        # What its tokens cost by the user's price file; None if that does not say.
        self.price: Price | None = price_of(model, self.options.prices)
        self._client = Client(
            base_url, self.options, budget=budget, price=self.price, waiting=waiting
        )
        self.name = f"openai:{model}@{self._client.base_url}"
        self._label = self._client.patience.waiting.model or f"openai:{model}"  # in notes
        self._requests = Requests(self.name, model, self.options)
        self._cuts = Cuts(self._label)
        known = {route.name for chat in (True, False) for route in all_routes(chat=chat)}
        for route in self.options.routes:
            if route not in known:
                raise unknown("route", route, sorted(known), self.name)

    async def start(self) -> None:
        """Ask the server what it can.

        Is it there, which API does it have, does the model think, and, where labels are scored, by
        which route? Raises `TomevalError` if the server cannot be reached, denies access, or cannot
        score although `OpenAIOptions.scoring` is ``required``.
        """
        ask = self._requests
        if self._tokenizer is None and self.options.tokenizer:
            self._tokenizer = load_tokenizer(self.options.tokenizer)
        self._client.starting = True
        try:
            self.revision, ask.kind, self._context = await describe(self._client, ask.model)
            first = await self._ask_first()
            if self._tokenizer is not None:
                # Scoring switches thinking off, which a codec with thinking on would refuse.
                thinking = None if self.options.thinking else self.options.thinking
                ask.codec = PromptCodec(self._tokenizer, chat=ask.chat, thinking=thinking)
            await self._find_route()
        except BackendError as error:
            raise TomevalError(f"{self._label} failed its start-up test: {error}") from None
        finally:
            self._client.starting = False
        self._hold_answers()
        self.capabilities = Capabilities(
            score=self.route is not None,
            seeded="seed" not in first.details.get("dropped", ()),
            choices=ask.holds,
            schemas=ask.holds,
        )
        if self.options.scoring == "required" and self.route is None:
            raise TomevalError(f"{self.name}: {self._unscored}")

    def stop(self) -> None:
        """See `Model.stop`."""
        self._client.patience.waiting.stop()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply, see `Model.generate`.

        Raises `BackendError` if no readable reply came within the retry budget, `TomevalError` for
        a prefill that must go and has nothing instead, `ContextExceeded` if the prompt is too long,
        and `BudgetExceeded`, without a call, if that would pass a cap.
        """
        return await self._client.patience.insist(lambda: self._generate(request))

    async def score(self, request: ScoreRequest) -> Scores:
        """Score labels by the route that `start` found, see `Model.score`.

        Raises `Unlisted` if the server tells the likeliest tokens only and a label is not among
        them, `BackendError` if there is no reply, or one without the log-probability of a label,
        and `TomevalError` if the server cannot score.
        """
        if (route := self.route) is None:
            raise TomevalError(f"{self.name}: {self._unscored}")
        return await self._client.patience.insist(lambda: self._score(request, route))

    def count_tokens(self, prompt: Prompt) -> int | None:
        """Return the prompt's length in tokens; None without a tokenizer."""
        codec = self._requests.codec
        return None if codec is None else len(codec.encode(prompt)[0])

    def context_length(self) -> int | None:
        """Return the longest sequence in tokens, if the server tells; see `Model`."""
        return self._context

    async def _generate(self, request: GenerateRequest) -> Reply:
        prompt = self._requests.shown(request.prompt)
        # What is asked at the start needs no room for thinking.
        starting = self._client.starting
        room = 0 if starting else self._room(prompt, request.sampling.max_tokens)
        path, body = self._requests.generation(request, prompt, room)
        most = self._prompt_tokens(prompt) + request.sampling.max_tokens + room
        try:
            answer = await self._client.post(path, body, tokens=most)
        except Refused as refusal:
            # OpenAI refuses a reply whose thinking used up its tokens: it is one that was cut off.
            if not refusal.filtered and not _CUT.search(refusal.message):
                raise
            why = {"route": path, "finish": refusal.message}
            return Reply("", finish="refusal" if refusal.filtered else "length", details=why)
        reply = read_reply(answer, request, self._requests.form(request))
        reply.details["route"] = path
        if room:
            reply.details["thinking_budget"] = room
        reply.details.update(omission(request.prompt, prompt), **self._cost(reply.usage))
        self._cuts.note(request.group, plain_text(prompt), reply.usage.prompt)
        return reply

    async def _score(self, request: ScoreRequest, route: Route) -> Scores:
        prompt = self._requests.shown(request.prompt)
        query = Query(
            *(self._client, self._requests, replace(request, prompt=prompt)),
            tokens=self._prompt_tokens(prompt) + 1 + max(map(len, request.labels)),
        )
        logprobs = await route.score(query)
        if fault := nonsense(logprobs):
            raise Unusable(f"{self.name}: scores by route {route.name}: {fault}")
        mass = math.fsum(math.exp(value) for value in logprobs)
        if mass < LOW_MASS:
            query.details["low_mass"] = True
        query.details.update(omission(request.prompt, prompt), **self._cost(query.usage))
        numbers = tuple(logprobs)
        return Scores(numbers, mass, route.name, query.usage, query.latency, query.details)

    def _room(self, prompt: Prompt, answer: int) -> int:
        """Return the tokens for thinking; by default no more than the context has."""
        room = self._requests.room
        if self.options.thinking_budget is not None or self._context is None or not room:
            return room
        return max(0, min(room, self._context - self._length(prompt) - answer))

    def _length(self, prompt: Prompt) -> int:
        """Return the prompt's length, guessed on the safe side without a tokenizer."""
        counted = self.count_tokens(prompt)
        return estimate_tokens(plain_text(prompt)) if counted is None else counted

    def _prompt_tokens(self, prompt: Prompt) -> int:
        """Return the prompt's length for caps; 0 if none depends on it."""
        capped = self._budget is not None and self._budget.counts_tokens
        return self._length(prompt) if capped else 0

    def _cost(self, usage: Usage) -> dict[str, float]:
        return {"cost": self.price.cost(usage)} if self.price else {}

    async def _ask_first(self) -> Reply:
        """Ask the first question, on the API that answers; see what it shows of the model."""
        ask = self._requests
        try:
            reply = await self._probe()
        except Refused as refusal:
            missing = refusal.status in (404, 405, 501) or "template" in refusal.message
            if self.options.api != "auto" or not missing:
                raise
            ask.chat = False
            reply = await self._probe()
        if ask.kind == OLLAMA:
            logger.warning("%s: Ollama ignores top_k and min_p here and uses its own", self._label)
        hidden = reply.finish == "length" and not reply.text and not reply.reasoning
        marked = marks_thinking(reply.text) or "reasoning_tokens" in reply.details
        self.thinks = bool(reply.reasoning) or marked or hidden
        if self.options.thinking_budget is None and self.thinks:
            ask.room = ask.cap = thinking_room(self._context)
            logger.warning(
                "%s: the model thinks before it answers: thinking_budget = %d",
                self._label,
                ask.room,
            )
        return reply

    async def _probe(self) -> Reply:
        return await self._client.patience.insist(lambda: self._generate(_QUESTION))

    async def _find_route(self) -> None:
        """Find the way to score labels; `_unscored` says why there is none."""
        self.route, faults = None, "scoring='off'"
        if self.options.scoring != "off":
            names, how = self.options.routes, {"top_logprobs": self.options.top_logprobs}
            kind, chat = "" if names else self._requests.kind, self._requests.chat
            routes = all_routes(kind, chat=chat, **how)
            wanted = [route for route in routes if not names or route.name in names]
            self.route, faults = await first_route(wanted, lambda r: self._score(_LABELS, r))
        self._requests.renders = self.route is not None and not self.route.on_chat
        self._unscored = (
            "labels cannot be scored: leave LM and Social LM out, or ask a server that gives "
            f"log-probabilities, such as vLLM, SGLang or llama.cpp\n{faults}"
        )

    def _hold_answers(self) -> None:
        """Decide whether answers are held to a form, where the option asks for it."""
        ask = self._requests
        if self.options.structured == "off":
            return
        ask.holds = ask.chat and not self.thinks
        if not ask.holds:
            why = "the model thinks before it answers" if self.thinks else "it has no chat API"
            logger.warning(
                "%s: structured = 'auto': answers are not held to a form: %s", self._label, why
            )
