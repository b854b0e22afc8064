"""A language model in a seat: what it is asked, by play and probes, and how replies are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from tomeval.core.outcomes import Invalid, Said
from tomeval.games.chairs import Chair, Door
from tomeval.games.decrypto.game import (
    MAX_HINT_LENGTH,
    Code,
    EncoderView,
    Hints,
    Keywords,
    Turn,
    View,
    as_code,
    clean_hint,
    hint_fault,
)
from tomeval.games.decrypto.llm_options import LLMOptions
from tomeval.games.decrypto.llm_scene import TableScene
from tomeval.games.decrypto.planting import plant_guess
from tomeval.games.decrypto.seats import ACTS, Seat
from tomeval.games.decrypto.stages import BOB, EVE
from tomeval.games.seated.llm_seat import ModelSeat
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


def hints_shape(view: EncoderView) -> JsonShape[Hints]:
    """Return the shape of hints, legal by the rules of a turn; see `game.hint_fault`."""

    def check(value: list[Any]) -> Hints | str:
        one, two, three = (clean_hint(hint) for hint in value)
        hints = (one, two, three)
        return hint_fault(hints, view.keywords, view.code, view.turns, view.rules) or hints

    return JsonShape("hints", str, 3, check)


class LLMSeat(ModelSeat[str], Seat):
    """A language model in any of the three seats. See `LLMOptions`."""

    def __init__(self, chair: Chair[str], options: LLMOptions) -> None:
        prompts = options.templates("decrypto", chair.base)
        super().__init__(chair, options, options.strategy_of(chair.seat), prompts)
        self.scene = TableScene(prompts, chair.seat, options.conversation, options.opening)
        self.player = LLMPlayer(self.scene, self.strategy, self.line, chair.rng)

    async def answer(self, view: View) -> Said[Any] | Invalid:
        """Give hints or guess; with Social or Oracle a draft and what is expected come first."""
        self.scene.see(view)
        if isinstance(view, EncoderView):
            words = [view.keywords[digit - 1] for digit in view.code]
            question = self._question(hints_shape(view), code=view.code, words=words)
            draft = Draft(self.player, question, view.code, self.chair.door)
            answer = await self._move(question, draft)
            return replace(answer, details={**(answer.details or {}), **draft.details} or None)
        return await self._move(self._question(CODE, hints=view.hints), Foresight())

    async def _move(self, question: Question[T], foresight: Foresight) -> Said[T] | Invalid:
        """Ask for what the seat plays."""
        asked = await self.player.act(question, foresight)
        self.scene.keep(asked)
        return replace(asked.answer, calls=self.line.drain())

    async def probe(self, view: View, question: str, **shown: Any) -> Said[Any] | Invalid | None:
        """Ask a probe on a line of its own; nothing of it is remembered."""
        self.scene.see(view)
        if isinstance(view, EncoderView):
            shape: JsonShape[Any] = CODE
            shown["code"] = view.code
        else:
            shape, shown["hints"] = KEYWORDS, view.hints
        asked = self._question(shape, probe=question, draft=False, **shown)
        answer = (await self.player.ask(asked, line=self.probe_line)).answer
        return replace(answer, calls=self.line.drain() + self.probe_line.drain())

    def _question(self, shape: JsonShape[T], *, probe: str = "", **values: Any) -> Question[T]:
        """Return a question of the coming turn: for the seat's move, or a probe."""
        role, step = self.chair.seat, self.scene.step
        if probe:
            asked = f"probe/{probe}"
            return Question(f"probe {probe}", "literal", asked, shape, step, values, shape.key)
        asked = f"ask/{role}"
        return Question(ACTS[role], "functional", asked, shape, step, values, shape.key)

    async def observe(self, turn: Turn) -> tuple[dict[str, Any], ...]:
        """Take the turn into memory, and reflect if the strategy does."""
        self.scene.observe(turn)
        await self.player.observe()
        return self.line.drain()


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
        told = await self.door(hints)
        return self._found(hints, told[BOB].action, told[EVE].action)

    async def planted(self, belief: Belief) -> dict[str, Any] | Invalid:
        """Ask for a draft, and state what Eve guesses for it, right as often as the belief is."""
        told = await self.truth()
        if isinstance(told, Invalid):
            return told
        eve, chance = told["eve"], self.door.beliefs(self.question.step)
        stated = plant_guess(eve, self.code, belief.share, *chance)
        self.details["belief"] = {
            "eve": stated,
            "right": None if eve is None else stated == eve,
            "accuracy": belief.share,
            "as": belief.wording,
        }
        return {"hints": told["hints"], "eve": stated}

    async def _hints(self) -> Hints | Invalid:
        answer = (await self.player.ask(replace(self.question, purpose="draft"))).answer
        if isinstance(answer, Invalid):
            return replace(answer, raw=f"no draft: {answer.raw}")
        return answer.value

    def _found(self, hints: Hints, bob: Code | None, eve: Code | None) -> dict[str, Any]:
        self.details = {"draft": hints, "draft_bob": bob, "draft_eve": eve}
        return {"hints": hints, "bob": bob, "eve": eve}
