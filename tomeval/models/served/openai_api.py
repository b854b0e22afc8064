"""Models behind an OpenAI-compatible server, hosted or one's own."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
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
)
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.http_client import HttpClient, Timing
from tomeval.models.served.http_mends import Refused
from tomeval.models.served.limits import Budget, Price, estimate_tokens, load_prices
from tomeval.models.served.logprob_check import choose, nonsense
from tomeval.models.served.logprob_routes import Route, all_routes
from tomeval.models.served.logprob_wire import Query
from tomeval.models.served.openai_about import describe
from tomeval.models.served.openai_options import OpenAIOptions
from tomeval.models.served.openai_reply import choice_fields, read_reply, sampling_fields
from tomeval.models.served.openai_text import chat_fields, load_tokenizer, plain_text

logger = logging.getLogger(__name__)

LOW_MASS = 0.5
"""Label mass below which scores are flagged: the model would mostly say something else."""

_NAME = re.compile(r"(?:openai:)?(?P<model>.+)@(?P<url>https?://.+)")
_DRAW_TEST = Prompt((Message("user", "Write ten random words."),))


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
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        options: OpenAIOptions | None = None,
        *,
        tokenizer: Any = None,
        budget: Budget | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.options = options or OpenAIOptions()
        # JSON-ready findings of `start`: api, seeded, sampled, route, refused (route to what was
        # seen), served (what the server says of the model).
        self.facts: dict[str, Any] = {}
        self.capabilities = Capabilities(score=False, seeded=False)
        self._model = model
        self._budget = budget
        self._chat = self.options.api != "completions"
        self._tokenizer = tokenizer
        self._codec: PromptCodec | None = None
        self._route: Route | None = None
        self._prefill_by_ids = False
        self._client = HttpClient(
            base_url,
            key_env=self.options.key_env,
            concurrency=self.options.concurrency,
            timeout=self.options.timeout,
            retry_budget=self.options.retry_budget,
            budget=budget,
            timing=timing,
        )
        self.name = f"openai:{model}@{self._client.base_url}"
        prices = load_prices(Path(self.options.prices)) if self.options.prices else {}
        self._price: Price | None = prices.get(model)
        known = {route.name for chat in (True, False) for route in all_routes(chat=chat)}
        for route in self.options.routes:
            if route not in known:
                raise unknown("route", route, sorted(known), self.name)

    @classmethod
    def from_name(
        cls, name: str, options: Mapping[str, Any] | None = None, budget: Budget | None = None
    ) -> OpenAIModel:
        """Build the model that an experiment names ``openai:MODEL@BASE_URL``.

        Raises `TomevalError` for a name without base URL or a wrong option.
        """
        found = _NAME.fullmatch(name)
        if found is None:
            raise TomevalError(
                f"{name!r} is not openai:MODEL@BASE_URL, such as "
                "openai:my-model@http://127.0.0.1:8000/v1"
            )
        return cls(found["model"], found["url"], OpenAIOptions.of(options or {}), budget=budget)

    @property
    def price(self) -> Price | None:
        """What its tokens cost by the user's price file; None if that does not say."""
        return self._price

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    async def start(self) -> None:
        """Test the server: is it there, which API, are seeds honoured, how are labels scored.

        Raises `TomevalError` if the server cannot be reached, denies access, or cannot score
        although `OpenAIOptions.scoring` is ``required``.
        """
        if self._tokenizer is None and self.options.tokenizer:
            self._tokenizer = load_tokenizer(self.options.tokenizer)
        try:
            served = await describe(self._client, self._model)
            self.revision = "; ".join(f"{key}={value}" for key, value in served.items())
            self.facts = {"served": served}
            await self._test_draws()
            self._make_codec()
            await self._test_scoring()
        except BackendError as error:
            raise TomevalError(f"{self.name} failed its start-up test: {error}") from None
        self.capabilities = Capabilities(
            score=self._route is not None, seeded=self.facts["seeded"] is True
        )
        if self.options.scoring == "required" and self._route is None:
            raise TomevalError(self._refusal())

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply, see `Model.generate`.

        Raises `BackendError` if no readable reply came within the retry budget, `TomevalError` if
        the server cannot do what was asked, such as go on from a prefill, and `BudgetExceeded`,
        without a call, if that would pass a cap.
        """
        by_ids = self._prefill_by_ids
        try:
            return await self._generate(request)
        except Refused as refusal:
            explained = self._explained(refusal, request.prompt)
        if by_ids or self._codec is None or not isinstance(explained, TomevalError):
            raise explained
        if not self._prefill_by_ids:
            self._prefill_by_ids = True
            logger.warning("%s: prefills go through the completions API from now on", self.name)
        return await self.generate(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Score labels by the route that `start` found, see `Model.score`.

        Raises `BackendError` if there is no reply, or one without the log-probability of a label,
        and `TomevalError` if the server failed the test of `start`.
        """
        if self._route is None:
            raise TomevalError(self._refusal())
        query = self._query(request)
        try:
            logprobs = await self._route.score(query)
        except Refused as refusal:
            raise self._explained(refusal, query.request.prompt) from None
        if fault := nonsense(logprobs):
            raise BackendError(f"{self.name}: scores by route {self._route.name}: {fault}")
        mass = math.fsum(math.exp(value) for value in logprobs)
        if mass < LOW_MASS:
            query.details["low_mass"] = True
        query.details.update(self._cost(query.usage))
        if query.request.prompt != request.prompt:
            query.details["prefill"] = "omitted"
        numbers, route = tuple(logprobs), self._route.name
        return Scores(numbers, mass, route, query.usage, query.latency, query.details)

    def count_tokens(self, prompt: Prompt) -> int | None:
        """Return the prompt's length in tokens; None without a tokenizer."""
        return len(self._codec.encode(prompt)[0]) if self._codec else None

    async def _generate(self, request: GenerateRequest, *, probing: bool = False) -> Reply:
        prompt = self._shown(request.prompt)
        path, fields = self._prompt_fields(prompt)
        choices = request.choices if self.options.structured != "off" else ()
        body = {
            **self.options.extra_body,
            "model": self._model,
            **fields,
            **sampling_fields(request.sampling, request.seed),
            **choice_fields(self.options.structured, choices),
        }
        most = self._prompt_tokens(prompt) + request.sampling.max_tokens
        answer = await self._client.post(path, body, tokens=most, probing=probing)
        reply = read_reply(answer, request.sampling.stop, choices)
        reply.details["route"] = path
        if prompt != request.prompt:
            reply.details["prefill"] = "omitted"
        reply.details.update(self._cost(reply.usage))
        return reply

    def _prompt_fields(self, prompt: Prompt) -> tuple[str, dict[str, Any]]:
        """Return the path of the API to use and the fields that hold the prompt."""
        if self._chat and not (prompt.prefill and self._prefill_by_ids):
            fields = chat_fields(prompt)
            if self.options.thinking is not None:
                fields["chat_template_kwargs"] = {"enable_thinking": self.options.thinking}
            return "chat/completions", fields
        if self._chat and self._codec:  # ids, so that the server adds no second start token
            return "completions", {"prompt": self._codec.encode(prompt)[0]}
        return "completions", {"prompt": plain_text(prompt)}

    def _shown(self, prompt: Prompt) -> Prompt:
        omit = self.options.prefill == "omit" and self._chat
        return replace(prompt, prefill="") if omit and prompt.prefill else prompt

    def _prompt_tokens(self, prompt: Prompt) -> int:
        """Return the prompt's length for the token cap; 0 if there is no cap."""
        if self._budget is None or self._budget.max_tokens is None:
            return 0
        counted = self.count_tokens(prompt)
        return estimate_tokens(plain_text(prompt)) if counted is None else counted

    def _cost(self, usage: Usage) -> dict[str, float]:
        return {"cost": self._price.cost(usage)} if self._price else {}

    def _query(self, request: ScoreRequest, *, probing: bool = False) -> Query:
        prompt = self._shown(request.prompt)
        return Query(
            self._client,
            self._model,
            replace(request, prompt=prompt),
            self._chat,
            self._codec,
            label_space=self.options.label_space,
            extra_body=self.options.extra_body,
            tokens=self._prompt_tokens(prompt) + 1 + max(map(len, request.labels)),
            probing=probing,
        )

    def _explained(self, refusal: Refused, prompt: Prompt) -> Exception:
        """Return the error to raise for a refusal: a clear one if a prefill is the reason."""
        by_chat = "continue_final_message" in refusal.message
        by_ids = self._prefill_by_ids and refusal.status in (400, 404, 405, 422)
        if not prompt.prefill or not self._chat or not (by_chat or by_ids):
            return refusal
        return TomevalError(
            f"{self.name}: this server does not go on from a begun answer (prefill): {refusal}; "
            "use api='completions', prefill='omit' or, where it takes token ids, a tokenizer"
        )

    async def _test_draws(self) -> None:
        """Draw twice with one seed and once with another, on the API that answers."""
        try:
            first = await self._draw(1)
        except Refused as refusal:
            missing = refusal.status in (404, 405, 501) or "template" in refusal.message
            if self.options.api != "auto" or not missing:
                raise
            self._chat = False
            first = await self._draw(1)
        again, other = await self._draw(1), await self._draw(2)
        self.facts["api"] = "chat" if self._chat else "completions"
        said = [(reply.text, reply.reasoning) for reply in (first, again, other)]
        silent = not any(said[0])
        dropped = "seed" in other.details.get("dropped", ())
        self.facts["sampled"] = None if silent else len(set(said)) > 1
        self.facts["seeded"] = None if silent else said[0] == said[1] and not dropped
        if self.facts["sampled"] is False:
            logger.warning("%s: equal draws at temperature 1: is it ignored?", self.name)
        if not self.facts["seeded"]:
            logger.warning("%s: equal seeds do not give equal replies", self.name)

    async def _draw(self, seed: int) -> Reply:
        request = GenerateRequest(_DRAW_TEST, Sampling(max_tokens=16), seed)
        return await self._generate(request, probing=True)

    def _make_codec(self) -> None:
        if self._tokenizer is not None:
            # Scoring switches thinking off, which a codec with thinking on would refuse.
            thinking = None if self.options.thinking else self.options.thinking
            self._codec = PromptCodec(self._tokenizer, chat=self._chat, thinking=thinking)

    async def _test_scoring(self) -> None:
        self._route, seen = None, {"all": "scoring='off'"}
        if self.options.scoring != "off":
            routes = all_routes(chat=self._chat, top_logprobs=self.options.top_logprobs)
            wanted = self.options.routes or [route.name for route in routes]
            self._route, seen = await choose(
                [route for route in routes if route.name in wanted],
                lambda request: self._query(request, probing=True),
            )
        self.facts["route"] = self._route.name if self._route else None
        self.facts["refused"] = seen

    def _refusal(self) -> str:
        if "refused" not in self.facts:
            return f"{self.name}: start() must run before labels can be scored"
        seen = "; ".join(f"{route}: {what}" for route, what in self.facts["refused"].items())
        return (
            f"{self.name}: labels cannot be scored, because this server's log-probabilities are "
            f"missing or wrong. Seen: {seen}"
        )


def open_server(name: str, options: dict[str, Any], opening: Opening) -> OpenAIModel:
    """Open ``openai:MODEL@BASE_URL``; files among the options may be relative to the experiment."""
    options = {"scoring": "required" if opening.scores else "off", **options}
    for key in ("prices", "tokenizer"):
        path = (opening.base or Path()) / str(options.get(key, ""))
        if key in options and path.exists():
            options[key] = str(path)
    return OpenAIModel.from_name(name, options, opening.budget)
