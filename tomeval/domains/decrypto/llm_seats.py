"""A language model in a seat: what it is asked there, in play and by probes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeVar

from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.decrypto.game import (
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Turn,
    hint_fault,
)
from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.decrypto.llm_scene import TableScene
from tomeval.domains.decrypto.readers import CODE, KEYWORDS, hints_shape
from tomeval.domains.decrypto.seats import Chair, Decoder, Door, Encoder, Interceptor, SeatPlayer
from tomeval.strategies.asking import Asker
from tomeval.strategies.player import LLMPlayer
from tomeval.strategies.questions import Foresight, Question
from tomeval.strategies.readers import JsonShape

T = TypeVar("T")


class LLMSeat(SeatPlayer):
    """What the three seats share. See `LLMOptions`."""

    def __init__(self, chair: Chair, options: LLMOptions) -> None:
        super().__init__(chair)
        strategy = options.strategy_of(chair.role)
        prompts = options.templates("decrypto", chair.base)
        self.scene = TableScene(prompts, chair.role, options.conversation)
        line = Asker(chair.model, options.asking(), chair.name)
        self.player = LLMPlayer(self.scene, strategy, line, chair.rng)
        self.probe_line = line.fork(options.probe_temperature)

    async def _move(
        self, question: Question[T], foresight: Foresight | None = None
    ) -> Said[T] | Invalid:
        """Ask for what the seat plays."""
        asked = await self.player.act(question, foresight or Foresight())
        self.scene.keep(asked)
        return replace(asked.answer, calls=self.player.line.drain())

    async def _probe(self, name: str, shape: JsonShape[T], **values: Any) -> Said[T] | Invalid:
        """Ask a probe on a line of its own; nothing of it is remembered."""
        values["draft"] = False
        question = self._question(f"probe {name}", "literal", f"probe/{name}", shape, **values)
        answer = (await self.player.ask(question, line=self.probe_line)).answer
        return replace(answer, calls=self.player.line.drain() + self.probe_line.drain())

    def _question(
        self,
        purpose: str,
        form: Literal["functional", "literal", "advice"],
        template: str,
        shape: JsonShape[T],
        **values: Any,
    ) -> Question[T]:
        """Return a question of the coming turn."""
        return Question(purpose, form, template, shape, self.scene.step, values, shape.key)

    async def observe(self, turn: Turn) -> tuple[dict[str, Any], ...]:
        """Take the turn into memory, and reflect if the strategy does."""
        self.scene.observe(turn)
        await self.player.observe()
        return self.player.line.drain()


class LLMEncoder(LLMSeat, Encoder):
    """Alice."""

    async def encode(self, view: EncoderView) -> Said[Hints] | Invalid:
        """Give hints; with Social or Oracle a draft and what is expected of it come first."""
        self.scene.see(view)
        shape = hints_shape(
            lambda hints: hint_fault(hints, view.keywords, view.code, view.turns, view.rules)
        )
        words = [view.keywords[digit - 1] for digit in view.code]
        question = self._question(
            "encode", "functional", "ask/encoder", shape, code=view.code, words=words
        )
        draft = Draft(self.player, question, view.code, self.chair.door)
        answer = await self._move(question, draft)
        return replace(answer, details=draft.details or None)

    async def predict(
        self, view: EncoderView, hints: Hints, question: str
    ) -> Said[Code] | Invalid | None:
        """Say what a listener will guess."""
        self.scene.see(view)
        return await self._probe(question, CODE, code=view.code, hints=hints)


class Draft(Foresight):
    """Alice's hints before she gives them, and what the listeners will guess for them.

    `details` go to the row of the turn.
    """

    def __init__(
        self, player: LLMPlayer, question: Question[Hints], code: Code, door: Door
    ) -> None:
        self.player, self.question, self.code, self.door = player, question, code, door
        self.details: dict[str, Any] = {}

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask for a draft, then what Bob and Eve will guess for it, all as the strategy answers."""
        hints = await self._hints()
        if isinstance(hints, Invalid):
            return hints
        guesses = []
        for name in ("bob", "eve"):
            values = {"code": self.code, "hints": hints, "draft": True}
            purpose, step = f"predict {name}", self.question.step
            question = Question(purpose, "advice", f"probe/{name}", CODE, step, values, CODE.key)
            answer = (await self.player.ask(question)).answer
            if isinstance(answer, Invalid):
                return replace(answer, raw=f"no prediction to act on: {answer.raw}")
            guesses.append(answer.value)
        return self._found(hints, *guesses)

    async def truth(self) -> dict[str, Any] | Invalid:
        """Ask for a draft, and look up what is guessed for it."""
        hints = await self._hints()
        if isinstance(hints, Invalid):
            return hints
        told = await self.door.guesses(hints)
        bob, eve = (said.value if isinstance(said, Said) else None for said in told)
        return self._found(hints, bob, eve)

    async def _hints(self) -> Hints | Invalid:
        answer = (await self.player.ask(replace(self.question, purpose="draft"))).answer
        if isinstance(answer, Invalid):
            return replace(answer, raw=f"no draft: {answer.raw}")
        return answer.value

    def _found(self, hints: Hints, bob: Code | None, eve: Code | None) -> dict[str, Any]:
        self.details = {"draft": hints, "draft_bob": bob, "draft_eve": eve}
        return {"hints": hints, "bob": bob, "eve": eve}


class LLMDecoder(LLMSeat, Decoder):
    """Bob."""

    async def decode(self, view: DecoderView) -> Said[Code] | Invalid:
        """Guess the code."""
        self.scene.see(view)
        question = self._question("decode", "functional", "ask/decoder", CODE, hints=view.hints)
        return await self._move(question)


class LLMInterceptor(LLMSeat, Interceptor):
    """Eve."""

    async def intercept(self, view: InterceptorView) -> Said[Code] | Invalid:
        """Guess the code."""
        self.scene.see(view)
        question = self._question(
            "intercept", "functional", "ask/interceptor", CODE, hints=view.hints
        )
        return await self._move(question)

    async def believe(
        self, view: InterceptorView, question: str, revealed: Keywords | None
    ) -> Said[Keywords] | Invalid | None:
        """Say what the keywords are, were thought to be, or will be thought to be."""
        self.scene.see(view)
        values: dict[str, Any] = {"hints": view.hints}
        if revealed is not None:
            values["keywords"] = revealed
        return await self._probe(question, KEYWORDS, **values)


LLM_SEATS: dict[str, type[LLMSeat]] = {
    "encoder": LLMEncoder,
    "decoder": LLMDecoder,
    "interceptor": LLMInterceptor,
}
