"""A language model with a prompting strategy as a subject of matrix games."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Invalid, Said
from tomeval.games.matrix.identity import Identity, read_questions
from tomeval.games.matrix.personas import NONE
from tomeval.games.matrix.rules import ASKED, DRAW, WHICH, Joint, Observation
from tomeval.games.matrix.scene import MatrixScene, Words, framed, prompts_of
from tomeval.games.matrix.scene import option_order as option_order_of
from tomeval.games.matrix.subjects.base import Answer, Seat, Subject, stated
from tomeval.games.played import together
from tomeval.strategies.asking import Asker
from tomeval.strategies.beliefs import Belief
from tomeval.strategies.compose import parse_strategy
from tomeval.strategies.labels import Labels
from tomeval.strategies.options import ModelOptions
from tomeval.strategies.player import LM, Asked, LLMPlayer
from tomeval.strategies.questions import Foresight, Question


@dataclass(frozen=True, kw_only=True)
class SubjectOptions(ModelOptions):
    """The options of a subject of kind ``llm``, beside those that all games share.

    Attributes
    ----------
    model : str or dict
        Which model; read by the runner, see `tomeval.models.open_model`.
    literal_order : {"agent_first", "partner_first"}
        Whether the scored literal probe shows the own action of the round before the partner's
        label. Social LM always asks partner first: its own action is not known yet.
    option_order : {"fixed", "reversed", "shuffled"}
        In which order prompts list the options; ``shuffled`` draws one order per episode.
    goal : {"none", "win", "maximise"}
        What the rules say of the aim: nothing, to win what one can, or that this is the only aim.
    persona, partner_persona : str
        Who the player is asked to be, and who it is told that the other player is: one line of
        text. The other player's policy stays what it is. A partner that says who it is, see
        docs/partners.md, takes the place of `partner_persona`.
    frame : str
        The story that is told around the game: ``none``, ``business``, ``friends``, ``sport``, or a
        template ``matrix/frame/NAME.j2`` of a folder that `prompts` names.
    literal : bool
        Ask what the partner does in every round. False leaves the question out where it is a probe
        only; a prediction that the strategy acts on (Social) is made and recorded all the same.
    conditional : bool
        Ask in every round, for each own action, what the partner would do next.
    draws : int
        Ask what the partner does so often again in every round, aside, to see how often each answer
        comes: probabilities of written predictions. 0, or at least 2; predictions that are scored
        state their probabilities and are not drawn.
    questions : dict, optional
        Ask what the partner is, aside; see `tomeval.games.matrix.identity.Questions`.
    """

    model: str | dict[str, Any] = ""
    literal_order: str = "agent_first"
    option_order: str = "fixed"
    goal: str = "win"
    persona: str = NONE
    partner_persona: str = NONE
    frame: str = NONE
    literal: bool = True
    conditional: bool = False
    draws: int = 0
    questions: dict[str, Any] | None = None

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {**ModelOptions.LIMITS, "draws": (0, 1000)}
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **ModelOptions.CHOICES,
        "literal_order": ("agent_first", "partner_first"),
        "option_order": ("fixed", "reversed", "shuffled"),
        "goal": ("none", "win", "maximise"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("literal", "conditional"):
            switch = getattr(self, name)
            if not isinstance(switch, bool):
                raise TomevalError(f"{name} must be true or false, is {json.dumps(switch)}")
        faults = {
            "conditional = true needs literal = true: stated reactions are evaluated together with "
            "the prediction": self.conditional and not self.literal,
            "draws must be 0 or at least 2, is 1: one draw shows no spread": self.draws == 1,
            "draws need literal = true: they repeat the question": self.draws and not self.literal,
            "draws need a temperature above 0: else they are all the same": self.draws
            and not self.temperature,
        }
        for fault, holds in faults.items():
            if holds:
                raise TomevalError(fault)
        read_questions(self.questions)


class LLMSubject(Subject, Foresight):
    """A language model that plays and predicts through prompts.

    The seat's `model` answers; the options are those of `SubjectOptions`.
    """

    reads_templates: ClassVar[bool] = True
    OPTIONS: ClassVar[type[SubjectOptions]] = SubjectOptions

    def __init__(self, seat: Seat, **options: Any) -> None:
        super().__init__(seat)
        options |= seat.said
        self.settings = self.OPTIONS(**options)
        self.strategy = strategy = parse_strategy(self.settings.strategy)
        self.predicts_first = strategy.part.predicts_first
        self.looks_ahead = strategy.part.is_told
        self._again = tuple(f"{DRAW} {number}" for number in range(self.settings.draws))
        asked = read_questions(self.settings.questions)
        self.identity = asked and Identity(asked, seat)
        self.asides = (*self._again, *(self.identity.names if self.identity else ()))
        game = seat.game
        self.order = option_order_of(self.settings.option_order, game.n, game.m, seat.rng)
        told = self.order, strategy, self.settings.goal
        words = Words(game, seat.labels, seat.horizon, *told, seat.continuation)
        prompts = prompts_of(options, seat.base, seat.horizon is None)
        before = framed(prompts, vars(self.settings), words.common, game.story)
        self.scene = MatrixScene(prompts, words, strategy, self.settings.opening, before)
        line = Asker(seat.model, self.settings.asking(), seat.name)
        how = self.settings.decide, self.settings.predict
        self.player = LLMPlayer(self.scene, strategy, line, seat.rng, *how)
        self._own, self._partner = Labels(seat.labels.own), Labels(seat.labels.partner)
        self._expected: Answer | None = None
        self._beside: Answer | None = None  # the prediction, if it was asked for beside the action
        # How the literal question is answered: as everything, or as advice that predicts asks.
        self._literal_kind = "" if not strategy.scored else LM
        self._stated: dict[str, Any] = {}

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return the options with their defaults."""
        return {field.name: field.default for field in fields(cls.OPTIONS)}

    async def act(self, observation: Observation) -> Answer:
        """Ask for the own action.

        A written literal question does not depend on it, so once the strategy has done what comes
        before a move, both are asked at the same time if the model allows it: they then share one
        pass over the context on a local model, and the waiting time on a served one. After a
        prediction that cannot be read, Social does not ask: `predict` returns what was invalid.
        """
        self._expected, self._beside, self._stated = None, None, {}
        question = Question("act", "functional", "act", self._own, observation.round)
        told, can = await self.player.advised(self), self.player.line.model.capabilities
        if isinstance(told, Invalid):
            asked: Asked[int] = Asked(told)
        elif self._probed and can.concurrent and not self.strategy.scored:
            moving = self.player.move(question, told)
            asked, self._beside = await together(moving, self._aside(self._literal()))
        else:
            asked = await self.player.move(question, told)
        calls = self.player.line.drain()
        if isinstance(asked.answer, Invalid) and self._beside is not None:
            # Its calls belong in the log, whatever becomes of the episode.
            calls, self._beside = calls + self._beside.calls, replace(self._beside, calls=())
        answer = self._close(asked.answer, calls, self._stated)
        if isinstance(answer, Invalid) and isinstance(self._expected, Invalid):
            return replace(answer, asked=False)
        return answer

    @property
    def _probed(self) -> bool:
        """Whether the literal question is asked for its own sake."""
        return self.settings.literal and not self.strategy.part.predicts_first

    async def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Ask the literal question, unless the strategy has asked it already."""
        if self.predicts_first:  # nothing, if what comes before the prediction failed
            return None if self._expected is None else self._close(self._expected)
        if not self.settings.literal:
            if self.strategy.scored:
                self.seat.rng.random()  # the probe's draw: later ones must not depend on it
            return None
        if self._beside is not None:
            return self._beside
        agent_first = self.settings.literal_order == "agent_first" and self.strategy.scored
        question = self._literal(own_action if agent_first else None)
        return self._close((await self.player.ask(question)).answer)

    async def react(self, observation: Observation, own_action: int) -> Answer | None:
        """Ask what the partner would do in the next round after an own action in this one."""
        if not self.settings.conditional or observation.round == observation.horizon:
            return None
        label, step = self.seat.labels.own[own_action], observation.round
        values = {"own_action": label}
        question = Question(f"react {label}", "literal", "react", self._partner, step, values)
        return self._close((await self.player.ask(question)).answer)

    async def draw(self, observation: Observation) -> Mapping[str, Answer]:
        """Ask the literal question again, as often as `draws` says, and what the partner is.

        Every draw has request seeds of its own and the prompt of the prediction; a summary that it
        stands on is not written anew. Servers are asked for all of them at once.
        """
        again = () if self._literal_kind == LM else self._again
        asking = {name: self._aside(replace(self._literal(), purpose=name)) for name in again}
        for one in self.identity.due(observation.round) if self.identity else ():
            asking[one.question.purpose] = self._aside(one.question, one.kept, one.rng)
        at_once = self.player.line.model.capabilities.concurrent
        return dict(zip(asking, await together(*asking.values(), at_once=at_once), strict=True))

    async def _aside(
        self,
        question: Question[int],
        kept: Mapping[str, Any] = MappingProxyType({}),
        rng: np.random.Generator | None = None,
    ) -> Answer:
        """Ask a literal question on a line of its own; a candidate is known by its own number."""
        line = self.player.line.fork()
        answer = (
            await self.player.ask(question, line=line, kind=self._literal_kind, rng=rng)
        ).answer
        if question.template == WHICH and isinstance(answer, Said):
            answer = replace(answer, value=kept[ASKED]["order"][answer.value], probs=None)
        return self._close(answer, line.drain(), kept)

    async def observe(self, joint: Joint) -> None:
        """Add the round to the history, and reflect where the strategy does."""
        self.scene.observe(joint)
        if self.seat.horizon is None or self.scene.step <= self.seat.horizon:
            await self.player.observe()

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask for the partner's action first; the prediction is the literal record of the round."""
        asked = await self.player.ask(self._literal(), kind=kind)
        self._expected, self._literal_kind = self._close(asked.answer, ()), kind
        if isinstance(self._expected, Invalid):
            failed = self._expected
            return Invalid(failed.reason, f"no prediction to act on: {failed.raw}")
        return self._in_words("prediction", self._expected.value)

    async def truth(self) -> dict[str, Any]:
        """Return the partner's true action."""
        return self._in_words("truth", self.seat.door.next_action())

    async def planted(self, belief: Belief) -> dict[str, Any]:
        """State an action of the partner."""
        said = self.seat.door.statement(belief.share)
        self._stated = stated(said, belief.share, belief.wording)
        return self._in_words("stated", said.stated)

    def _in_words(self, name: str, action: int) -> dict[str, Any]:
        label = self.seat.labels.partner[action]
        return {**self.scene.words.common, name: label, "round": self.scene.step}

    def _literal(self, own_action: int | None = None) -> Question[int]:
        """Return the question for the partner's action in this round."""
        own = {} if own_action is None else {"own_action": self.seat.labels.own[own_action]}
        return Question("predict", "literal", "predict", self._partner, self.scene.step, own)

    def _close(
        self,
        answer: Answer,
        calls: tuple[dict[str, Any], ...] | None = None,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        """Attach the calls made since the last answer, the order of options, and more facts."""
        calls = self.player.line.drain() if calls is None else calls
        order = {"own_order": self.order.own, "partner_order": self.order.partner}
        return replace(answer, calls=calls, details={**(answer.details or {}), **order, **more})
