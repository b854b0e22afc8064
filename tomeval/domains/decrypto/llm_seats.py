"""A language model in a seat: what it reads, remembers, answers, and is asked besides."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.decrypto.asking import MAX_TOKENS, SeatAsker
from tomeval.domains.decrypto.game import (
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Turn,
    hint_fault,
    hint_history,
)
from tomeval.domains.decrypto.readers import FORMS, check_code, check_hints, check_keywords
from tomeval.domains.decrypto.seats import Chair, Decoder, Encoder, Interceptor, SeatPlayer
from tomeval.domains.decrypto.strategy import seat_strategy
from tomeval.models.base import Message, Prompt, Sampling
from tomeval.strategies.asking import Asking
from tomeval.strategies.readers import MARKER, visible
from tomeval.strategies.templates import load_prompts

T = TypeVar("T")
View = EncoderView | DecoderView | InterceptorView

PLAYERS = {"encoder": "Alice", "decoder": "Bob", "interceptor": "Eve"}
MEMORIES = ("restated", "conversation")


@dataclass(frozen=True)
class LLMOptions:
    """How language models play; the options of a player of kind ``llm``.

    Attributes
    ----------
    strategy : str or dict
        See `tomeval.domains.decrypto.strategy.seat_strategy`.
    memory : {"restated", "conversation"}
        ``restated``: every turn is one question that tells rules and all past turns.
        ``conversation``: the rules once, then turn after turn with the own replies.
    temperature, probe_temperature : float
        For play and for probes.
    max_tokens : int
        Longest reply.
    max_attempts : int
        How often a question is asked until its answer can be read and is legal.
    prompts : str
        Folder of own templates (in its subfolder ``decrypto``), used before the shipped ones.
    """

    strategy: str | dict[str, str] = "QA"
    memory: str = "restated"
    temperature: float = 0.6
    probe_temperature: float = 0.0
    max_tokens: int = MAX_TOKENS
    max_attempts: int = 10
    prompts: str = ""

    def __post_init__(self) -> None:
        if self.memory not in MEMORIES:
            raise unknown("memory", self.memory, MEMORIES)
        for name, low, high, whole in (
            ("temperature", 0, 100, False),
            ("probe_temperature", 0, 100, False),
            ("max_tokens", 1, 10**7, True),
            ("max_attempts", 1, 10**6, True),
        ):
            value, kinds = getattr(self, name), (int if whole else int | float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                raise TomevalError(
                    f"{name} must be a number from {low} to {high}, is {json.dumps(value)}"
                )


class LLMSeat(SeatPlayer):
    """What the three seats share: context, memory, questions. See `LLMOptions`."""

    def __init__(self, chair: Chair, options: LLMOptions) -> None:
        super().__init__(chair)
        if chair.model is None:
            raise TomevalError("this player needs a model")
        self.options, self.player = options, PLAYERS[chair.role]
        self.strategy = seat_strategy(options.strategy, chair.role)
        if options.memory == "conversation" and self.strategy.context == "s2a":
            raise TomevalError("S2A rewrites the past, a conversation keeps it: choose one of them")
        folder = str((chair.base or Path()) / options.prompts) if options.prompts else ""
        self.prompts = load_prompts("decrypto", folder)
        how = partial(Asking, max_attempts=options.max_attempts)
        sampling = partial(Sampling, max_tokens=options.max_tokens)
        self.line = SeatAsker(chair.model, how(sampling(options.temperature)), chair.name)
        self.probe_line = SeatAsker(
            chair.model, how(sampling(options.probe_temperature)), chair.name
        )
        self.transcript: list[Message] = []
        self._coming: tuple[Message, Message] | None = None
        self._told = 0  # turns whose end the transcript tells
        self._turns: tuple[Turn, ...] = ()
        self._keywords: Keywords | None = None
        self._rules: Any = None
        self._lessons: list[str] = []
        self._failed: Invalid | None = None
        self._summary: tuple[int, str | Invalid] = (0, "")
        self._rendered: dict[str, tuple[dict[str, Any], str]] = {}

    # What is read

    def _learn(self, view: View) -> None:
        """Note the rules and, where the seat knows them, the keywords."""
        self._rules, self._turns = view.rules, view.turns
        if not isinstance(view, InterceptorView):
            self._keywords = view.keywords

    @property
    def number(self) -> int:
        """The coming turn, from 1."""
        return len(self._turns) + 1

    def rules_text(self) -> str:
        """Return the rules and, where the seat knows them, the keywords."""
        return self._once("context/rules", rules=self._rules, keywords=self._keywords)

    def history_text(self) -> str:
        """Return what everybody knows of the past turns."""
        return self._once("context/history", turns=self._turns, history=hint_history(self._turns))

    def _once(self, name: str, **values: Any) -> str:
        """Render a template anew only where its values are not those of last time."""
        if name not in self._rendered or self._rendered[name][0] != values:
            text = self.prompts.render(name, player=self.player, **values)
            self._rendered[name] = (values, text)
        return self._rendered[name][1]

    async def _past(self) -> str | Invalid:
        """Return the past turns, or the seat's summary of them; written once a turn."""
        if self.strategy.context != "s2a" or not self._turns:
            return self.history_text()
        if self._summary[0] != self.number:
            request = self.prompts.render(
                "context/s2a",
                rules=self.rules_text(),
                history=self.history_text(),
                player=self.player,
                number=self.number,
                knows=self._keywords is not None,
            )
            written = await self.line.write(
                "summarise", "s2a", _user(request), self.number, " summarise"
            )
            if isinstance(written, str):
                written = self.prompts.render(
                    "context/summary", summary=written, number=self.number
                )
            self._summary = (self.number, written)
        return self._summary[1]

    def _lesson_text(self) -> str:
        if not self._lessons:
            return ""
        size = self.strategy.memory
        return self.prompts.render("advice/reflexion", memory=self._lessons[-size:])

    async def _prompt(self, *parts: str) -> Prompt | Invalid:
        """Return a question with everything that stands before it."""
        if self.options.memory == "conversation":
            opening = "" if self.transcript else self.rules_text()
            text = _join(opening, self._revealed_text(), self._lesson_text(), *parts)
            return Prompt((*self.transcript, Message("user", text)))
        past = await self._past()
        if isinstance(past, Invalid):
            return past
        return _user(self.rules_text(), past, self._lesson_text(), *parts)

    def _revealed_text(self) -> str:
        """Return how the turns ended that the conversation does not tell yet."""
        if self._told == len(self._turns):
            return ""
        return self.prompts.render(
            "context/revealed",
            first=self._told + 1,
            turns=self._turns[self._told :],
            history=hint_history(self._turns),
        )

    def _answer_text(self, key: str) -> str:
        name = f"answer/{self.strategy.answer}"
        return self.prompts.render(name, marker=MARKER, form=FORMS[key], kind=key)

    # What is asked

    async def _play(
        self,
        purpose: str,
        key: str,
        check: Callable[[list[Any]], T | str],
        question: str,
        *advice: str,
        final: bool = True,
    ) -> Said[T] | Invalid:
        """Ask for what the seat plays; a conversation takes the `final` question and its reply."""
        if self._failed is not None:
            return replace(self._failed, calls=())
        prompt = await self._prompt(*advice, question, self._answer_text(key))
        if isinstance(prompt, Invalid):
            return prompt
        answer, text = await self.line.ask(purpose, prompt, self.number, key, check)
        if final:  # a reply that cannot be read is not remembered
            said = visible(text) if isinstance(answer, Said) else None
            self._coming = (prompt.messages[-1], Message("assistant", said)) if said else None
        return answer

    async def _probe(
        self, name: str, key: str, check: Callable[[list[Any]], T | str], **values: Any
    ) -> Said[T] | Invalid:
        """Ask a probe: on a line of its own, nothing of it is remembered."""
        question = self.prompts.render(f"probe/{name}", number=self.number, draft=False, **values)
        prompt = await self._prompt(question, self._answer_text(key))
        if isinstance(prompt, Invalid):
            return replace(prompt, calls=self.line.drain())
        answer, _ = await self.probe_line.ask(f"probe {name}", prompt, self.number, key, check)
        return replace(answer, calls=self.line.drain() + self.probe_line.drain())

    def _close(self, answer: Said[T] | Invalid, **details: Any) -> Said[T] | Invalid:
        """Attach the calls made since the last answer."""
        return replace(answer, calls=self.line.drain(), details=details or None)

    async def observe(self, turn: Turn) -> tuple[dict[str, Any], ...]:
        """Take the turn into memory, and reflect where the strategy does."""
        if self.options.memory == "conversation" and self._coming is not None:
            self.transcript += self._coming
            self._coming, self._told = None, len(self._turns)
        self._turns = (*self._turns, turn)
        if self.strategy.advice.startswith("reflexion"):
            number = self.number - 1
            request = self.prompts.render("advice/reflexion_write", number=number)
            prompt = await self._prompt_after(request)
            written = await self.line.write("reflect", "reflect", prompt, number, " reflect")
            self._failed = written if isinstance(written, Invalid) else None
            if isinstance(written, str):
                self._lessons.append(" ".join(written.split()))
        return self.line.drain()

    async def _prompt_after(self, request: str) -> Prompt:
        """Return a request about the turn that is over; no summary is written for it."""
        if self.options.memory == "conversation":
            text = _join(self._revealed_text(), self._lesson_text(), request)
            return Prompt((*self.transcript, Message("user", text)))
        return _user(self.rules_text(), self.history_text(), self._lesson_text(), request)


class LLMEncoder(LLMSeat, Encoder):
    """Alice."""

    async def encode(self, view: EncoderView) -> Said[Hints] | Invalid:
        """Give hints; with Social or Oracle a draft and what is expected of it come first."""
        self._learn(view)
        advice, details = "", {}
        if self.strategy.advice in ("social_qa", "oracle"):
            draft = await self._hints(view, "draft", final=False)
            if isinstance(draft, Invalid):
                return self._close(replace(draft, raw=f"no draft: {draft.raw}"))
            expected = await self._expected(view, draft.value)
            if isinstance(expected, Invalid):
                return self._close(expected)
            bob, eve = expected
            name = "advice/social" if self.strategy.advice == "social_qa" else "advice/oracle"
            advice = self.prompts.render(name, hints=draft.value, bob=bob, eve=eve)
            details = {"draft": draft.value, "draft_bob": bob, "draft_eve": eve}
        return self._close(await self._hints(view, "encode", advice), **details)

    async def _hints(
        self, view: EncoderView, purpose: str, *advice: str, final: bool = True
    ) -> Said[Hints] | Invalid:
        check = check_hints(
            lambda hints: hint_fault(hints, view.keywords, view.code, view.turns, view.rules)
        )
        question = self.prompts.render(
            "ask/encoder",
            number=self.number,
            rules=view.rules,
            code=view.code,
            words=[view.keywords[digit - 1] for digit in view.code],
        )
        return await self._play(purpose, "hints", check, question, *advice, final=final)

    async def _expected(
        self, view: EncoderView, hints: Hints
    ) -> tuple[Code | None, Code | None] | Invalid:
        """Return Bob's and Eve's guesses for a draft: as predicted, or through the door."""
        if self.strategy.advice == "oracle":
            told = await self.chair.door.guesses(hints)
            bob, eve = (answer.value if isinstance(answer, Said) else None for answer in told)
            return bob, eve
        found: list[Code] = []
        for question in ("bob", "eve"):
            text = self._question(question, view, hints)
            answer = await self._play(f"predict {question}", "code", check_code, text, final=False)
            if isinstance(answer, Invalid):
                return replace(answer, raw=f"no prediction to act on: {answer.raw}")
            found.append(answer.value)
        return found[0], found[1]

    def _question(self, question: str, view: EncoderView, hints: Hints) -> str:
        return self.prompts.render(
            f"probe/{question}", number=self.number, code=view.code, hints=hints, draft=True
        )

    async def predict(
        self, view: EncoderView, hints: Hints, question: str
    ) -> Said[Code] | Invalid | None:
        """Say what a listener will guess."""
        self._learn(view)
        return await self._probe(question, "code", check_code, code=view.code, hints=hints)


class LLMDecoder(LLMSeat, Decoder):
    """Bob."""

    async def decode(self, view: DecoderView) -> Said[Code] | Invalid:
        """Guess the code."""
        self._learn(view)
        question = self.prompts.render(
            "ask/decoder", number=self.number, rules=view.rules, hints=view.hints
        )
        return self._close(await self._play("decode", "code", check_code, question))


class LLMInterceptor(LLMSeat, Interceptor):
    """Eve."""

    async def intercept(self, view: InterceptorView) -> Said[Code] | Invalid:
        """Guess the code."""
        self._learn(view)
        question = self.prompts.render(
            "ask/interceptor", number=self.number, rules=view.rules, hints=view.hints
        )
        return self._close(await self._play("intercept", "code", check_code, question))

    async def believe(
        self, view: InterceptorView, question: str, revealed: Keywords | None
    ) -> Said[Keywords] | Invalid | None:
        """Say what the keywords are, were thought to be, or will be thought to be."""
        self._learn(view)
        values: dict[str, Any] = {"hints": view.hints}
        if revealed is not None:
            values["keywords"] = revealed
        return await self._probe(question, "keywords", check_keywords, **values)


LLM_SEATS: dict[str, type[LLMSeat]] = {
    "encoder": LLMEncoder,
    "decoder": LLMDecoder,
    "interceptor": LLMInterceptor,
}


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _user(*parts: str) -> Prompt:
    """Return one user turn of several paragraphs; empty ones are left out."""
    return Prompt((Message("user", _join(*parts)),))
