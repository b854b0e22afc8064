"""Ask a model on behalf of one episode: seeds, attempts, the call log."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import (
    AGREES,
    ENFORCED,
    FREE,
    LENIENT,
    REFUSAL,
    VALID,
    Invalid,
    Said,
)
from tomeval.core.text import common_prefix, without_thinking
from tomeval.models.base import (
    BackendError,
    ContextExceeded,
    GenerateRequest,
    Message,
    Model,
    Prompt,
    Reply,
    Sampling,
    ScoreRequest,
    Scores,
    Unlisted,
)
from tomeval.models.naming import said_without_address
from tomeval.strategies import forced
from tomeval.strategies.readers import Read, Reader
from tomeval.strategies.recording import Overheard, tell

T = TypeVar("T")

ALLOWANCES: Mapping[str, int] = {
    "qa": 512,
    "cot": 2048,
    "plan": 1024,
    "summary": 1024,
    "lesson": 512,
}
"""Longest replies in tokens by kind of call, if the experiment sets none.

Many models explain themselves before they answer a question that asks for one line. Thinking has an
allowance of its own, see `tomeval.models.served.OpenAIOptions`.
"""


@dataclass(frozen=True)
class Asking:
    """How questions are asked."""

    # With `max_tokens` 0, `allowances` decide; any other number holds for every kind of call.
    sampling: Sampling
    max_attempts: int = 10  # how often a question is asked until it gets a readable, legal answer
    # Longest replies in tokens, by the keys of `ALLOWANCES`.
    allowances: Mapping[str, int] = field(default_factory=lambda: ALLOWANCES)
    # Whether a lenient answer is asked for again, in place of being taken.
    strict: bool = field(default=False, repr=False)  # a question that is asked stays the same

    def allowance(self, kind: str, notes: bool = False) -> int:
        """Return the longest reply of a kind of call, in tokens; with `notes` it holds them too.

        Examples
        --------
        >>> Asking(Sampling(max_tokens=0)).allowance("qa", notes=True)
        1536
        """
        if self.sampling.max_tokens:
            return self.sampling.max_tokens
        return self.allowances[kind] + notes * self.allowances["plan"]


class Asker:
    """One episode's line to the model; `seed` is what the seeds of its requests derive from.

    A backend without a reply makes an answer invalid (``backend_error``). `ContextExceeded` is
    passed on: it is no accident of one call, it ends the episode and with it the cell.
    """

    def __init__(self, model: Model | None, how: Asking, seed: str) -> None:
        self._model, self.how, self.seed = model, how, seed
        self._calls: list[dict[str, Any]] = []
        self._shown: dict[str, str] = {}

    @property
    def model(self) -> Model:
        """The model; a `TomevalError` without one."""
        if self._model is None:
            raise TomevalError("this player needs a model: set model, or use --model")
        return self._model

    def fork(self, temperature: float | None = None) -> Asker:
        """Return a line for other questions of the episode, with a log of its own."""
        twin = copy.copy(self)
        twin._calls = []
        if temperature is not None:
            twin.how = replace(
                self.how, sampling=replace(self.how.sampling, temperature=temperature)
            )
        return twin

    def drain(self) -> tuple[dict[str, Any], ...]:
        """Return the calls made since the last drain."""
        calls, self._calls = tuple(self._calls), []
        return calls

    async def write(
        self, purpose: str, kind: str, prompt: Prompt, step: int, group: str = ""
    ) -> str | Invalid:
        """Have a text written, and accept it as it is, without its thinking.

        A text cut off at its limit counts too: summaries and lessons are never asked for again.
        Thinking that never ends leaves no text: ``truncated``. `group` marks requests whose prompts
        begin differently from the episode's others, so that both keep their cached prefix.
        """
        tell(asked := Overheard(self.how, purpose, kind, prompt, step))
        reply = await self._generate(asked, group=group)
        if isinstance(reply, Invalid):
            return reply
        shown = without_thinking(reply.text)
        if reply.finish != REFUSAL and shown is not None:
            return shown.strip()
        reason = REFUSAL if reply.finish == REFUSAL else "truncated"
        self._calls[-1]["outcome"] = reason
        self.model.settled(reason, self._calls[-1])
        return Invalid(reason, reply.text)

    async def answer(self, asked: Overheard, reader: Reader[T]) -> tuple[Said[T] | Invalid, str]:
        """Ask until a reply can be read and is legal; also return the reply's text.

        Every attempt is a fresh draw. At temperature 0 there is only one, but where the next
        attempt says what was wrong with the last one.
        """
        tell(asked)
        outcome, text = "unparsable", ""
        if self.model.capabilities.compares and len(reader.choices) > 1:
            return await self._compared(asked, reader)
        for attempt in range(1, asked.attempts + 1):
            reply = await self._generate(asked, attempt)
            if isinstance(reply, Invalid):
                return reply, ""
            text = reply.text
            held = ENFORCED in reply.details  # then it has the form that was asked for
            read = reader.read(text, reply.finish, self.how.strict and not held)
            self._calls[-1]["outcome"] = outcome = read.outcome
            if read.fault:
                self._calls[-1]["fault"] = read.fault
            self.model.judged(outcome, self._calls[-1])
            if read.value is not None:
                details: dict[str, Any] = {}
                if held:
                    details[ENFORCED] = reply.details[ENFORCED]
                elif read.lenient:
                    details[LENIENT] = self._calls[-1][LENIENT] = True
                self.model.settled(VALID, self._calls[-1])
                return Said(read.value, attempts=attempt, details=details or None), text
            if asked.repair is not None:
                said = Message("assistant", without_thinking(text) or "")
                turns = (
                    *asked.prompt.messages,
                    said,
                    Message("user", asked.repair(fault=read.fault)),
                )
                asked = replace(asked, prompt=Prompt(turns))
        self.model.settled(outcome, self._calls[-1])
        return Invalid(outcome, text, asked.attempts), text

    async def _compared(self, asked: Overheard, reader: Reader[T]) -> tuple[Said[T] | Invalid, str]:
        """Compare all answers that can be read, behind the reasoning that is to stand above them.

        What the model says by itself is read too: of reasoning always, else in the first step of an
        episode, where it is asked for that alone. Several attempts draw anew from what was
        compared, if the game does not take an answer.
        """
        free: Read[T] | None = None
        text = ""
        if asked.explained or asked.step == 1:
            reply = await self._generate(asked)
            if isinstance(reply, Invalid):
                return reply, ""
            free = copy.copy(reader).read(reply.text, reply.finish)  # nothing is refused by it
            said, text = self._calls[-1], forced.reasoning(reply.text) if asked.explained else ""
            said[FREE] = free.outcome
        start, labels = forced.begun(reader.choices)
        begun = "\n".join(filter(None, (asked.prompt.prefill, text, start)))
        prompt = Prompt(asked.prompt.messages, prefill=begun)
        scores = await self.score(asked.purpose, prompt, asked.step, labels)
        if isinstance(scores, Invalid):
            return scores, ""
        self._calls[-1]["scores"]["details"] = {**scores.details, ENFORCED: forced.COMPARED}
        for attempt in range(1, asked.attempts + 1):
            seed = request_seed(self.seed, asked.purpose, asked.step, forced.COMPARED, attempt)
            chosen = forced.draw(scores.logprobs, self.how.sampling.temperature, seed)
            whole = f"{text}\n{reader.choices[chosen]}".strip()
            read = reader.read(reader.choices[chosen], "stop")  # whatever stands above it
            if read.value is not None:
                if free is not None:
                    said[AGREES] = free.value == read.value
                details = {ENFORCED: forced.COMPARED}
                return Said(read.value, attempts=attempt, details=details), whole
        return Invalid(read.outcome, whole, asked.attempts), whole

    async def score(
        self, purpose: str, prompt: Prompt, step: int, labels: tuple[str, ...]
    ) -> Scores | Invalid:
        """Score labels as continuations of a prompt."""
        tell(asked := Overheard(self.how, purpose, "lm", prompt, step, labels=labels))
        record = self._record(asked) | {"labels": list(labels)}
        try:
            scores = await self.model.score(ScoreRequest(prompt, labels, self.seed))
        except ContextExceeded:
            raise
        except Unlisted as error:  # the model did answer: it would say something else
            self._calls.append(record | {"outcome": "unlisted", "error": self._said(error)})
            self.model.judged("unlisted", self._calls[-1])
            self.model.settled("unlisted", self._calls[-1])
            return Invalid("unlisted", self._said(error))
        except BackendError as error:
            self._calls.append(record | {"error": self._said(error)})
            return Invalid("backend_error", self._said(error))
        self._calls.append(record | {"scores": asdict(scores)})
        if any(math.isnan(value) or value > 1e-4 for value in scores.logprobs) or all(
            value == -math.inf for value in scores.logprobs
        ):
            return Invalid("backend_error", f"no log-probabilities: {scores.logprobs}")
        self.model.judged(VALID, self._calls[-1])
        self.model.settled(VALID, self._calls[-1])
        return scores

    async def _generate(
        self,
        asked: Overheard,
        attempt: int = 1,
        group: str = "",
    ) -> Reply | Invalid:
        """Send one request and log it.

        An answer that is to come after reasoning or with notes is held to no form.
        """
        sampling = replace(self.how.sampling, max_tokens=asked.longest)
        seed = request_seed(self.seed, asked.purpose, asked.step, attempt)
        record = self._record(asked) | {"attempt": attempt, "seed": seed}
        record["sampling"] = vars(sampling)
        group = self.seed + group
        held = asked.kind == "qa" and not asked.explained and self.model.capabilities.holds
        reader = asked.reader if held else None
        schema = reader.schema if reader else ""  # what can be listed may have one, too
        choices = reader.choices if reader and not schema else ()
        request = GenerateRequest(asked.prompt, sampling, seed, group, choices, attempt, schema)
        try:
            reply = await self.model.generate(request)
        except BackendError as error:
            self._calls.append(record | {"error": self._said(error)})
            if isinstance(error, ContextExceeded):
                raise
            return Invalid("backend_error", self._said(error), attempt)
        self._calls.append(record | {"reply": asdict(reply)})
        return reply

    def _said(self, error: Exception) -> str:
        return said_without_address(error, self.model.name)

    def _record(self, asked: Overheard) -> dict[str, Any]:
        """Return a log record; text shared with the last prompt of its purpose is only counted."""
        text = flatten(asked.prompt)
        same = common_prefix(self._shown.get(asked.purpose, ""), text)
        self._shown[asked.purpose] = text
        record = {"purpose": asked.purpose, "kind": asked.kind, "step": asked.step}
        return record | {"prompt_same": same, "prompt_rest": text[same:]}


def flatten(prompt: Prompt) -> str:
    """Return a prompt as one readable text, with roles."""
    parts = [f"[{message.role}]\n{message.content}" for message in prompt.messages]
    if prompt.prefill:
        parts.append(f"[assistant begins]\n{prompt.prefill}")
    return "\n\n".join(parts)


def replaced(record: dict[str, Any]) -> str:
    """Return what the last message of a logged call ended in, if not in the begun answer."""
    details = (record.get("reply") or record.get("scores") or {}).get("details") or {}
    if details.get("prefill") != "omitted":
        return ""
    return f"sent without the prefill, with this instead: {details.get('instead', '(nothing)')}"


def request_seed(*parts: object) -> int:
    """Return a 63-bit seed that depends on its parts alone."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little") >> 1
