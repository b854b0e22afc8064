"""A language model in a seat: what it is asked, by play and probes, and how replies are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.decrypto.game import (
    MAX_HINT_LENGTH,
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Turn,
    as_code,
    clean_hint,
    hint_fault,
)
from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.decrypto.llm_scene import TableScene
from tomeval.domains.decrypto.planting import plant_guess
from tomeval.domains.decrypto.seats import Chair, Decoder, Door, Encoder, Interceptor, SeatPlayer
from tomeval.strategies.asking import Asker
from tomeval.strategies.beliefs import Belief
from tomeval.strategies.player import LLMPlayer
from tomeval.strategies.questions import Foresight, Question
from tomeval.strategies.shapes import JsonShape

T = TypeVar("T")


def check_code(value: list[Any]) -> Code | str:
    """Return a code, or what is wrong with it."""
    return as_code(value) or "a code is three different digits from 1 to 4"


def check_keywords(value: list[Any]) -> Keywords | str:
    """Return four printable, short texts, or what is wrong with them."""
    one, two, three, four = (clean_hint(word) for word in value)
    if not all((one, two, three, four)):
        return "a keyword is empty"
    if max(map(len, (one, two, three, four))) > MAX_HINT_LENGTH:
        return f"a keyword is longer than {MAX_HINT_LENGTH} characters"
    if not all(word.isprintable() for word in (one, two, three, four)):
        return "a keyword cannot be printed"
    return one, two, three, four


CODE: JsonShape[Code] = JsonShape("code", int, 3, check_code)
KEYWORDS: JsonShape[Keywords] = JsonShape("keywords", str, 4, check_keywords)


def hints_shape(fault: Callable[[Hints], str | None]) -> JsonShape[Hints]:
    """Return the shape of hints, legal by the rules of a turn; see `game.hint_fault`."""

    def check(value: list[Any]) -> Hints | str:
        one, two, three = (clean_hint(hint) for hint in value)
        return fault((one, two, three)) or (one, two, three)

    return JsonShape("hints", str, 3, check)


class LLMSeat(SeatPlayer):
    """What the three seats share. See `LLMOptions`."""

    def __init__(self, chair: Chair, options: LLMOptions) -> None:
        super().__init__(chair)
        strategy = options.strategy_of(chair.role)
        prompts = options.templates("decrypto", chair.base)
        self.scene = TableScene(prompts, chair.role, options.conversation, options.opening)
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
        question = self._question(f"probe {name}", shape, probe=name, draft=False, **values)
        answer = (await self.player.ask(question, line=self.probe_line)).answer
        return replace(answer, calls=self.player.line.drain() + self.probe_line.drain())

    def _question(
        self, purpose: str, shape: JsonShape[T], *, probe: str = "", **values: Any
    ) -> Question[T]:
        """Return a question of the coming turn: for the seat's move, or a probe."""
        form: Literal["functional", "literal"] = "literal" if probe else "functional"
        template = f"probe/{probe}" if probe else f"ask/{self.chair.role}"
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
        question = self._question("encode", shape, code=view.code, words=words)
        draft = Draft(self.player, question, view.code, self.chair.door)
        answer = await self._move(question, draft)
        return replace(answer, details={**(answer.details or {}), **draft.details} or None)

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

    async def planted(self, belief: Belief) -> dict[str, Any] | Invalid:
        """Ask for a draft, and state what Eve guesses for it, right as often as the belief is."""
        hints = await self._hints()
        if isinstance(hints, Invalid):
            return hints
        told = await self.door.guesses(hints)
        bob, eve = (said.value if isinstance(said, Said) else None for said in told)
        chance = self.door.belief_chance(self.question.step)
        stated = plant_guess(eve, self.code, belief.share, *chance)
        self._found(hints, bob, eve)
        self.details["belief"] = {
            "eve": stated,
            "right": None if eve is None else stated == eve,
            "accuracy": belief.share,
            "as": belief.wording,
        }
        return {"hints": hints, "eve": stated}

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
        return await self._move(self._question("decode", CODE, hints=view.hints))


class LLMInterceptor(LLMSeat, Interceptor):
    """Eve."""

    async def intercept(self, view: InterceptorView) -> Said[Code] | Invalid:
        """Guess the code."""
        self.scene.see(view)
        return await self._move(self._question("intercept", CODE, hints=view.hints))

    async def believe(
        self,
        view: InterceptorView,
        question: str,
        revealed: Keywords | None,
        earlier: Keywords | None = None,
    ) -> Said[Keywords] | Invalid | None:
        """Say what the keywords are, were thought to be, or will be thought to be."""
        self.scene.see(view)
        shown = {} if revealed is None else {"keywords": revealed}
        shown |= {} if earlier is None else {"earlier": earlier}
        return await self._probe(question, KEYWORDS, hints=view.hints, **shown)


LLM_SEATS: dict[str, type[LLMSeat]] = {
    "encoder": LLMEncoder,
    "decoder": LLMDecoder,
    "interceptor": LLMInterceptor,
}
