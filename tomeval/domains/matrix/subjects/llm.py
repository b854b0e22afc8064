"""A language model with a prompting strategy: the one place where models and strategies meet."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Decision, Invalid
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.subjects.base import Answer, Seat, Subject
from tomeval.domains.matrix.wording import OPTION_ORDERS, Words
from tomeval.domains.matrix.wording import option_order as option_order_of
from tomeval.models.base import Sampling
from tomeval.strategies.advice import Turn, make_advice
from tomeval.strategies.answers import AnswerPart, make_answer
from tomeval.strategies.asking import Asker, Asking
from tomeval.strategies.compose import parse_strategy
from tomeval.strategies.contexts import make_context
from tomeval.strategies.readers import MARKER
from tomeval.strategies.templates import Prompts, load_prompts

LITERAL_ORDERS = ("agent_first", "partner_first")
DECIDES = ("argmax", "sample")


class LLMSubject(Subject):
    """A language model that plays and predicts through prompts.

    Parameters
    ----------
    seat : Seat
        Its `model` answers.
    model : str or dict
        Which model; read by the runner, see `tomeval.models.open_model`.
    strategy : str or dict
        See `tomeval.strategies.parse_strategy`.
    temperature, top_p, top_k, min_p
        How text is drawn; see `tomeval.models.base.Sampling`.
    max_tokens : int
        Longest reply; 0 takes a default by kind of call.
    max_attempts : int
        How often a question is asked until its answer can be read.
    decide : {"argmax", "sample"}
        How scored labels become an action.
    literal_order : {"agent_first", "partner_first"}
        Whether the scored literal probe shows the own action of the round before the partner's
        label. Social LM always asks partner first: its own action is not known yet.
    option_order : {"fixed", "reversed", "shuffled"}
        In which order prompts list the options; ``shuffled`` draws one order per episode.
    conditional : bool
        Ask in every round, for each own action, what the partner would do next.
    constrain : bool
        Let a server that can restrict QA replies to legal ones; without effect on Plans + Insights,
        whose replies hold more than the answer.
    prompts : str
        Folder of own templates, used before the shipped ones.
    """

    def __init__(
        self,
        seat: Seat,
        model: str | dict[str, Any] = "",
        strategy: str | dict[str, Any] = "QA",
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float = 0.0,
        max_tokens: int = 0,
        max_attempts: int = 10,
        decide: str = "argmax",
        literal_order: str = "agent_first",
        option_order: str = "fixed",
        conditional: bool = False,
        constrain: bool = False,
        prompts: str = "",
    ) -> None:
        super().__init__(seat)
        for name, value, known in (
            ("decide", decide, DECIDES),
            ("literal_order", literal_order, LITERAL_ORDERS),
            ("option_order", option_order, OPTION_ORDERS),
        ):
            if value not in known:
                raise unknown(name, value, known)
        _check_numbers(temperature, top_p, top_k, min_p, max_tokens, max_attempts)
        for name, switch in (("conditional", conditional), ("constrain", constrain)):
            if not isinstance(switch, bool):
                raise TomevalError(f"{name} must be true or false, is {json.dumps(switch)}")
        if not isinstance(prompts, str):
            raise TomevalError(f"prompts must be the name of a folder, is {json.dumps(prompts)}")
        self.strategy = parse_strategy(strategy)
        self.literal_order, self.conditional = literal_order, conditional
        self.prompts = self.load_templates(prompts, seat.base)
        game = seat.game
        self.order = option_order_of(option_order, game.n, game.m, seat.rng)
        self.words = Words(
            game, seat.labels, seat.horizon, self.order, self.strategy.context != "-payoffs"
        )
        self.context = make_context(self.strategy.context, self.prompts, self.words)
        self.advice = make_advice(self.strategy.advice, self.strategy.answer, MARKER)
        self.decide = decide
        self.answer = make_answer(self.strategy.answer, self.prompts, self.words, decide)
        sampling = Sampling(temperature, top_p, top_k, min_p, max_tokens)
        constrain = constrain and self.strategy.advice != "plans_insights"
        self._how = Asking(sampling, max_attempts, constrain)
        self._asker: Asker | None = None
        self._ahead: asyncio.Future[Answer] | None = None
        self._ahead_line: Asker | None = None

    @staticmethod
    def load_templates(folder: str, base: Path | None) -> Prompts:
        """Return the templates of the option `prompts`; a relative folder starts from `base`."""
        return load_prompts("matrix", str((base or Path()) / folder) if folder else "")

    @property
    def asker(self) -> Asker:
        """The line to the model."""
        if self._asker is None:
            if self.seat.model is None:
                raise TomevalError("this subject needs a model: set model, or use --model")
            self._asker = Asker(self.seat.model, self._how, self.seat.name)
        return self._asker

    def use(self, asker: Asker) -> None:
        """Ask through another line to the model."""
        self._asker = asker

    async def act(self, observation: Observation) -> Answer:
        """Ask for the own action."""
        turn = self._turn(observation.round)
        context = await self.context.text(self.asker)
        if isinstance(context, Invalid):
            return self._close(context)
        advice = await self.advice.before_act(turn)
        if isinstance(advice, Invalid):
            return self._close(advice)
        parts = [context, self.advice.memory(turn), advice]
        prompt = self.answer.prompt(
            "act", parts, self.advice.ask_along(turn), round=observation.round
        )
        self._ask_ahead(observation)
        try:
            answer, text = await self.answer.ask(
                self.asker, "act", prompt, observation.round, self.seat.labels.own, self.seat.rng
            )
        except Exception:
            if self._ahead is not None:  # what has been paid for is waited for, and kept
                await asyncio.gather(self._ahead, return_exceptions=True)
            raise
        if isinstance(answer, Decision):
            self.advice.after_act(text)
            return self._close(answer)
        closed = self._close(answer)
        if self._ahead is not None and self._ahead_line is not None:
            await self._ahead  # its calls belong in the log, whatever becomes of the episode
            closed = replace(closed, calls=closed.calls + self._ahead_line.drain())
        return closed

    def _ask_ahead(self, observation: Observation) -> None:
        """Ask the literal question beside the functional one, where it does not depend on it.

        Written answers do not: the probe shows nothing of this round. The two then share one pass
        over the context on a local model, and the waiting time on a served one.
        """
        self._ahead = None
        written = self.answer.kind != "lm" and self.strategy.probes_per_step == 1
        if written and self.asker.model.capabilities.concurrent:
            line = self.asker.fork()
            probe = self._predict(self.answer, observation.round, "partner_first", None, line)
            self._ahead = asyncio.ensure_future(probe)
            self._ahead_line = line

    async def predict(self, observation: Observation, own_action: int | None) -> Answer:
        """Ask the literal question, unless the strategy has asked it already."""
        if self.strategy.probes_per_step == 0:
            found = self.advice.prediction(observation.round)
            # None: the summary that it would have read could not be written.
            return self._close(await self._failed_context() if found is None else found)
        if self._ahead is not None:
            answer = await self._ahead
            return self._close(answer, self._ahead_line)
        order = self.literal_order if own_action is not None else "partner_first"
        return self._close(await self._predict(self.answer, observation.round, order, own_action))

    async def react(self, observation: Observation) -> tuple[Answer, ...] | None:
        """Ask, for each own action, what the partner would do in the next round."""
        if not self.conditional or observation.round >= observation.horizon:
            return None
        context = await self.context.text(self.asker)
        if isinstance(context, Invalid):
            return (self._close(context),) * self.seat.game.n
        answers = []
        parts = [context, self.advice.memory(self._turn(observation.round))]
        for label in self.seat.labels.own:
            prompt = self.answer.prompt(
                "react", parts, "", round=observation.round, own_action=label
            )
            answer, _ = await self.answer.ask(
                self.asker,
                f"react {label}",
                prompt,
                observation.round,
                self.seat.labels.partner,
                self.seat.rng,
            )
            answers.append(self._close(answer))
        return tuple(answers)

    async def observe(self, joint: Joint) -> None:
        """Add the round to the history, and reflect where the strategy does."""
        self.context.observe(joint)
        if self.context.rounds < self.seat.horizon:
            await self.advice.after_step(self._turn(self.context.rounds + 1))

    async def _failed_context(self) -> Invalid:
        """Return why there is no context in this round."""
        context = await self.context.text(self.asker)
        return context if isinstance(context, Invalid) else Invalid("unparsable", "not predicted")

    async def _predict(
        self,
        part: AnswerPart,
        number: int,
        order: str,
        own_action: int | None,
        line: Asker | None = None,
    ) -> Answer:
        """Ask for the partner's action of a round in the form of an answer part."""
        line = line or self.asker
        context = await self.context.text(self.asker)
        if isinstance(context, Invalid):
            return context
        values: dict[str, Any] = {"round": number}
        form = "predict"
        if part.kind == "lm":
            form = f"predict_{order}"
            if order == "agent_first" and own_action is not None:
                values["own_action"] = self.seat.labels.own[own_action]
        parts = [context, self.advice.memory(self._turn(number))]
        prompt = part.prompt(form, parts, "", **values)
        labels = self.seat.labels.partner
        answer, _ = await part.ask(line, "predict", prompt, number, labels, self.seat.rng)
        return answer

    def _turn(self, number: int) -> Turn:
        async def predict(form: str) -> Answer:
            part = make_answer(form, self.prompts, self.words, self.decide)
            return await self._predict(part, number, "partner_first", None)

        return Turn(
            number,
            self.asker,
            self.context,
            self.prompts,
            self.seat.labels.partner,
            predict,
            self.seat.door.next_action,
        )

    def _close(self, answer: Answer, line: Asker | None = None) -> Answer:
        """Attach the calls made since the last answer, and the order of options."""
        line = line or self.asker
        order = {"own_order": self.order.own, "partner_order": self.order.partner}
        details = {**(answer.details or {}), **order}
        return replace(answer, calls=line.drain(), details=details)


def _check_numbers(
    temperature: float, top_p: float, top_k: int, min_p: float, max_tokens: int, max_attempts: int
) -> None:
    """Raise where a number is out of range."""
    for name, value, low, high, whole in (
        ("temperature", temperature, 0, 100, False),
        ("top_p", top_p, 1e-9, 1, False),
        ("top_k", top_k, 0, 10**9, True),
        ("min_p", min_p, 0, 1, False),
        ("max_tokens", max_tokens, 0, 10**7, True),
        ("max_attempts", max_attempts, 1, 10**6, True),
    ):
        kinds = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            raise TomevalError(
                f"{name} must be a number from {low} to {high}, is {json.dumps(value)}"
            )
