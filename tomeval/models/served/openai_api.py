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
    Model,
    Opening,
    Prompt,
    Reply,
    ScoreRequest,
    Scores,
    Unusable,
    Usage,
    thinking_room,
)
from tomeval.models.likely import likely
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_patience import Timing
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.limits import (
    Budget,
    Price,
    estimate_tokens,
    price_of,
)
from tomeval.models.served.logprob_routes import Route
from tomeval.models.served.logprob_top import all_routes, choose, nonsense
from tomeval.models.served.logprob_wire import Query
from tomeval.models.served.openai_fields import (
    CHOICE_FORMS,
    OLLAMA,
    SCHEMA,
    SGLANG,
    VLLM,
    OpenAIOptions,
)
from tomeval.models.served.openai_start import (
    FORM_TESTS,
    PREFILL_TEST,
    QUESTION,
    continues_prefill,
    describe,
    obeyed,
    shows_thinking,
)
from tomeval.models.served.openai_wire import (
    Requests,
    load_tokenizer,
    omission,
    plain_text,
    read_reply,
)
from tomeval.models.waiting import Waiting

logger = logging.getLogger(__name__)

LOW_MASS = 0.5
"""Label mass below which scores are flagged: the model would mostly say something else."""

_CUT = re.compile(r"(max_tokens|max_completion_tokens) or model output limit was reached")
# What servers say of a schema or grammar that they cannot enforce.
_FORM = re.compile(r"response_format|structured|guided|schema|grammar|ebnf", re.IGNORECASE)
# What APIs say of a limit above that of their replies.
_ABOVE = re.compile(
    r"max(_completion|_output|_new)?_tokens\b.{0,60}(too (large|high)|at most|less than or equal)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(r"(?:openai:)?(?P<model>.+)@(?P<url>https?://.+)")


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
        timing: Timing | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.options = options or OpenAIOptions()
        # JSON-ready findings of `start`: served (what the server says of the model), kind (of
        # server), context_length, api, thinks, thinking_budget, route, refused
        # (route to what was seen), prefill (``continue``, ``omit`` or ``unknown``).
        self.facts: dict[str, Any] = {}
        self.capabilities = Capabilities(score=False, seeded=False)
        self._budget = budget
        self._tokenizer = tokenizer
        self._route: Route | None = None
        self._context: int | None = None
        self._price: Price | None = price_of(model, self.options.prices)
        self._client = HttpClient(
            base_url,
            key_env=self.options.key_env,
            concurrency=self.options.concurrency,
            timeout=self.options.timeout,
            retry_budget=self.options.retry_budget,
            budget=budget,
            price=self._price,
            timing=timing,
            waiting=waiting,
            omit=self.options.omit,
        )
        self.name = f"openai:{model}@{self._client.base_url}"
        self._said = self._client.patience.told.model or f"openai:{model}"  # in notes
        self._requests = Requests(self.name, model, self.options)
        known = {route.name for chat in (True, False) for route in all_routes(chat=chat)}
        for route in self.options.routes:
            if route not in known:
                raise unknown("route", route, sorted(known), self.name)

    @property
    def price(self) -> Price | None:
        """What its tokens cost by the user's price file; None if that does not say."""
        return self._price

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    async def start(self) -> None:
        """Test the server and the model behind it.

        Is it there, which API does it have, does the model think, how are labels scored, are begun
        answers continued? Raises `TomevalError` if the server cannot be reached, denies access, or
        cannot score although `OpenAIOptions.scoring` is ``required``.
        """
        if self._tokenizer is None and self.options.tokenizer:
            self._tokenizer = load_tokenizer(self.options.tokenizer)
        try:
            about = await describe(self._client, self._requests.model)
            self._requests.kind, self._context = about.kind, about.context
            self.revision = "; ".join(f"{key}={value}" for key, value in about.said.items())
            self.facts = {"served": about.said, "kind": about.kind}
            self.facts["context_length"] = about.context
            first = await self._ask_first()
            self._make_codec()
            await self._test_scoring()
            await self._test_prefill()
            await self._test_forms()
        except BackendError as error:
            raise TomevalError(f"{self._said} failed its start-up test: {error}") from None
        self.capabilities = Capabilities(
            score=self._route is not None,
            seeded="seed" not in first.details.get("dropped", ()),
            choices=bool(self._requests.choice_form),
            schemas=bool(self._requests.schema_form),
        )
        if self.options.scoring == "required" and self._route is None:
            raise TomevalError(self._refusal())

    def stop(self) -> None:
        """See `Model.stop`."""
        self._client.patience.told.stop()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply, see `Model.generate`.

        Raises `BackendError` if no readable reply came within the retry budget, `TomevalError` if
        the server cannot do what was asked, such as go on from a prefill, `ContextExceeded` if the
        prompt is too long, and `BudgetExceeded`, without a call, if that would pass a cap.
        """
        try:
            return await self._client.patience.insist(lambda: self._generate(request))
        except Refused as refusal:
            raise self._requests.explained(refusal, request.prompt) from None

    async def score(self, request: ScoreRequest) -> Scores:
        """Score labels by the route that `start` found, see `Model.score`.

        Raises `Unlisted` if the server tells the likeliest tokens only and a label is not among
        them, `BackendError` if there is no reply, or one without the log-probability of a label,
        and `TomevalError` if the server failed the test of `start`.
        """
        if (route := self._route) is None:
            raise TomevalError(self._refusal())
        try:
            return await self._client.patience.insist(lambda: self._score(request, route))
        except Refused as refusal:
            shown = self._requests.shown(request.prompt)
            raise self._requests.explained(refusal, shown) from None

    async def _score(self, request: ScoreRequest, route: Route) -> Scores:
        query = self._query(request)
        logprobs = await route.score(query)
        if fault := nonsense(logprobs):
            raise Unusable(f"{self.name}: scores by route {route.name}: {fault}")
        mass = math.fsum(math.exp(value) for value in logprobs)
        if mass < LOW_MASS:
            query.details["low_mass"] = True
        query.details.update(self._cost(query.usage))
        query.details.update(omission(request.prompt, query.request.prompt))
        numbers = tuple(logprobs)
        return Scores(numbers, mass, route.name, query.usage, query.latency, query.details)

    def count_tokens(self, prompt: Prompt) -> int | None:
        """Return the prompt's length in tokens; None without a tokenizer."""
        codec = self._requests.codec
        return None if codec is None else len(codec.encode(prompt)[0])

    def context_length(self) -> int | None:
        """Return the longest sequence in tokens, if the server tells; see `Model`."""
        return self._context

    async def _generate(self, request: GenerateRequest, *, probing: bool = False) -> Reply:
        prompt = self._requests.shown(request.prompt)
        # What is asked at the start needs no room for thinking.
        room = 0 if probing else self._room(prompt, request.sampling.max_tokens)
        path, body = self._requests.generation(request, prompt, room)
        form = self._requests.form(request)
        most = self._prompt_tokens(prompt) + request.sampling.max_tokens + room
        try:
            answer = await self._client.post(path, body, tokens=most, probing=probing)
        except Refused as refusal:
            if _ABOVE.search(refusal.message):
                asked, most = request.sampling.max_tokens, request.sampling.max_tokens + room
                raise TomevalError(
                    f"{self.name}: replies of {most} tokens ({asked} for the answer, {room} for "
                    f"thinking) exceed its limit: lower max_tokens or thinking_budget: {refusal}"
                ) from None
            if form and not probing and _FORM.search(refusal.message):
                raise TomevalError(
                    f"{self.name}: the server does not take this form (structured = 'auto'): "
                    f"{refusal}; leave structured out"
                ) from None
            # OpenAI refuses a reply whose thinking used up its tokens: it is one that was cut off.
            if not refusal.filtered and not _CUT.search(refusal.message):
                raise
            why = {"route": path, "finish": refusal.message}
            return Reply("", finish="refusal" if refusal.filtered else "length", details=why)
        wrapped = form == SCHEMA and not request.schema
        reply = read_reply(answer, request.sampling.stop, form, wrapped)
        reply.details["route"] = path
        if room:
            reply.details["thinking_budget"] = room
        reply.details.update(omission(request.prompt, prompt))
        reply.details.update(self._cost(reply.usage))
        return reply

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
        return {"cost": self._price.cost(usage)} if self._price else {}

    def _query(self, request: ScoreRequest, *, probing: bool = False) -> Query:
        prompt = self._requests.shown(request.prompt)
        return Query(
            self._client,
            self._requests,
            replace(request, prompt=prompt),
            tokens=self._prompt_tokens(prompt) + 1 + max(map(len, request.labels)),
            probing=probing,
        )

    async def _ask_first(self) -> Reply:
        """Ask the first question, on the API that answers; see what it shows of the model."""
        ask = self._requests
        try:
            reply = await self._probe(QUESTION)
        except Refused as refusal:
            missing = refusal.status in (404, 405, 501) or "template" in refusal.message
            if self.options.api != "auto" or not missing:
                raise
            ask.chat = False
            reply = await self._probe(QUESTION)
        self.facts["api"] = "chat" if ask.chat else "completions"
        if ask.kind == OLLAMA:
            logger.warning("%s: Ollama ignores top_k and min_p here and uses its own", self._said)
        self.facts["thinks"] = shows_thinking(reply)
        if self.options.thinking_budget is None and self.facts["thinks"]:
            ask.room = ask.cap = thinking_room(self._context)
            logger.warning(
                "%s: the model thinks before it answers: thinking_budget = %d", self._said, ask.room
            )
        self.facts["thinking_budget"] = ask.room
        return reply

    async def _probe(self, request: GenerateRequest) -> Reply:
        return await self._client.patience.insist(lambda: self._generate(request, probing=True))

    def _make_codec(self) -> None:
        if self._tokenizer is not None:
            # Scoring switches thinking off, which a codec with thinking on would refuse.
            thinking = None if self.options.thinking else self.options.thinking
            chat = self._requests.chat
            self._requests.codec = PromptCodec(self._tokenizer, chat=chat, thinking=thinking)

    async def _test_scoring(self) -> None:
        self._route, seen = None, {"all": "scoring='off'"}
        if self.options.scoring != "off":
            routes = all_routes(chat=self._requests.chat, top_logprobs=self.options.top_logprobs)
            wanted = self.options.routes or [route.name for route in routes]
            self._route, seen = await choose(
                [route for route in routes if route.name in wanted],
                lambda request: self._query(request, probing=True),
            )
        self._requests.renders = self._route is not None and not self._route.on_chat
        self.facts["route"] = self._route.name if self._route else None
        self.facts["refused"] = seen

    async def _test_prefill(self) -> None:
        """Find out whether begun answers are continued, where that depends on the server."""
        ask = self._requests
        known = ask.renders or not ask.chat or ask.kind in (VLLM, SGLANG)
        continues: bool | None = True
        if self.options.prefill == "auto" and not known:
            query = self._query(ScoreRequest(PREFILL_TEST, ("a", "b")), probing=True)
            continues = await continues_prefill(self._client, query)
            ask.omits_prefill = continues is False
        said = {True: "continue", False: "omit", None: "unknown"}[continues]
        self.facts["prefill"] = "omit" if ask.omits_prefill else said

    async def _test_forms(self) -> None:
        """Find out which forms of answers the server enforces, where the option asks for it."""
        ask, seen = self._requests, "the model thinks before it answers"
        if self.options.structured == "off":
            return
        if not ask.chat:
            seen = "tomeval sets no form on the completions API"
        elif not self.facts["thinks"]:
            for form in dict.fromkeys((CHOICE_FORMS.get(ask.kind, SCHEMA), SCHEMA)):
                ask.choice_form = form
                if not (seen := await obeyed(self._probe, FORM_TESTS["choices"])):
                    break
                ask.choice_form = ""
            ask.schema_form = SCHEMA
            if fault := await obeyed(self._probe, FORM_TESTS["schemas"]):
                ask.schema_form, seen = "", fault
        self.facts["structured"] = {"choices": ask.choice_form, "schemas": ask.schema_form}
        if seen:
            kinds = [kind for kind, form in self.facts["structured"].items() if not form]
            logger.warning(
                "%s: structured = 'auto': answers are not held to %s: %s",
                *(self._said, " and ".join(kinds), seen),
            )

    def _refusal(self) -> str:
        if "refused" not in self.facts:
            return f"{self.name}: start() must run before labels can be scored"
        tried = [*self.facts["refused"].values()]
        count = ("no", "one", "two", "three", "four", "five", "six")[len(tried)]
        ways = f"{count} ways to get label scores were tried; all failed (--verbose lists them)"
        return (
            f"{self.name}: labels cannot be scored: leave LM and Social LM out, or ask a server "
            "that gives log-probabilities, such as vLLM, SGLang or llama.cpp\n"
            + (ways if len(tried) > 1 else tried[0])
        )


def open_server(name: str, options: Mapping[str, Any], opening: Opening) -> OpenAIModel:
    """Open ``openai:MODEL@BASE_URL``; files among the options may be relative to the experiment.

    Raises `TomevalError` for a name without base URL or a wrong option.
    """
    named = _NAME.fullmatch(name)
    if named is None:
        raise TomevalError(
            f"{name!r} is not openai:MODEL@BASE_URL, such as "
            f"{likely(name) or 'openai:my-model@http://127.0.0.1:8000/v1'}"
        )
    options = {"scoring": "required" if opening.scores else "off", **options}
    for key in ("prices", "tokenizer"):
        path = (opening.base or Path()) / str(options.get(key, ""))
        if key in options and path.exists():
            options[key] = str(path)
    return OpenAIModel(
        named["model"],
        named["url"],
        OpenAIOptions.of(options),
        budget=opening.budget,
        waiting=opening.waiting,
    )
