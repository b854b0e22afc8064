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
    View,
    as_code,
    clean_hint,
    hint_fault,
    outcome_of,
)
from tomeval.games.decrypto.llm_options import LLMOptions
from tomeval.games.decrypto.llm_scene import TableScene
from tomeval.games.decrypto.planting import plant_guess
from tomeval.games.decrypto.seats import ACTS, BOB, EVE, ROLES
from tomeval.games.game import Ask, Probe
from tomeval.games.seated.llm_seat import ModelSeat
from tomeval.games.seats import Answer, Seat
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


class LLMSeat(ModelSeat[int], Seat):
    """A language model in any of the three seats. See `LLMOptions`."""

    asked_first = True

    def __init__(self, chair: Chair[int], options: LLMOptions) -> None:
        prompts, self.role = options.templates("decrypto", chair.base), ROLES[chair.seat]
        super().__init__(chair, options, options.strategy_of(self.role), prompts)
        self.scene = TableScene(prompts, self.role, options.conversation, options.opening)
        self.player = LLMPlayer(self.scene, self.strategy, self.line, chair.rng)

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Give hints or guess; with Social or Oracle a draft and what is expected come first."""
        self.scene.see(view)
        if isinstance(view, EncoderView):
            words = [view.keywords[digit - 1] for digit in view.code]
            question = self._question(hints_shape(view), code=view.code, words=words)
            draft = Draft(self.player, question, view.code, self.chair.door)
            answer = await self._move(question, draft)
            return replace(answer, details={**(answer.details or {}), **draft.details} or None)
        return await self._move(self._question(CODE, hints=view.hints), Foresight())

    async def _move(self, question: Question[T], foresight: Foresight) -> Answer:
        """Ask for what the seat plays."""
        asked = await self.player.act(question, foresight)
        self.scene.keep(asked)
        return answer_of(replace(asked.answer, calls=self.line.drain()))

    async def probe(self, view: View, ask: Ask, probe: Probe) -> Answer:
        """Ask a probe on a line of its own; nothing of it is remembered."""
        self.scene.see(view)
        shape: JsonShape[Any] = KEYWORDS
        if isinstance(view, EncoderView):
            shape, shown = CODE, {"code": view.code, "hints": probe.given}
        else:
            names = ("keywords", "earlier")
            shown = dict(zip(names, probe.given or (), strict=False)) | {"hints": view.hints}
        asked = self._question(shape, probe=probe.name, draft=False, **shown)
        answer = (await self.player.ask(asked, line=self.probe_line)).answer
        return answer_of(replace(answer, calls=self.line.drain() + self.probe_line.drain()))

    def _question(self, shape: JsonShape[T], *, probe: str = "", **values: Any) -> Question[T]:
        """Return a question of the coming turn: for the seat's move, or a probe."""
        step = self.scene.step
        if probe:
            asked = f"probe/{probe}"
            return Question(f"probe {probe}", "literal", asked, shape, step, values, shape.key)
        asked = f"ask/{self.role}"
        return Question(ACTS[self.chair.seat], "functional", asked, shape, step, values, shape.key)

    async def observe(self, view: View) -> tuple[dict[str, Any], ...]:
        """Take a turn that is over into memory, and reflect if the strategy does; not the last."""
        if len(view.turns) < self.scene.step or outcome_of(view.turns, view.rules):
            return ()
        self.scene.observe(view.turns[-1])
        await self.player.observe()
        return self.line.drain()


def answer_of(said: Said[Any] | Invalid) -> Answer:
    """Return an answer for the table."""
    if isinstance(said, Invalid):
        return Answer(
            None, (), said.attempts, said.reason, said.raw, None, said.calls, said.details
        )
    return Answer(said.value, attempts=said.attempts, calls=said.calls, details=said.details)


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
