"""A language model in a seat of the arena: decisions, probes, and what advice asks first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Invalid
from tomeval.core.streams import Stream
from tomeval.games.arena.llm_options import LLMOptions
from tomeval.games.arena.llm_reading import ONE_LABEL, Judged, Meant
from tomeval.games.arena.llm_scene import ArenaScene
from tomeval.games.arena.sampled import scorable
from tomeval.games.chairs import Chair
from tomeval.games.game import Action, Ask, Broken, Probe, View
from tomeval.games.seated.llm_seat import ModelSeat
from tomeval.games.seats import Answer, Seat
from tomeval.strategies.asking import Asker
from tomeval.strategies.player import Asked, LLMPlayer
from tomeval.strategies.questions import Context, Foresight, Question
from tomeval.strategies.questions import Form as Use
from tomeval.strategies.templates import Prompts


class LLMSeat(ModelSeat[int], Seat):
    """A language model with a prompting strategy.

    What it writes besides the answer (reasoning, lessons, notes, summaries) stays in its own
    prompts: others get the action that the game reads from the marked answer, and nothing else.

    Parameters
    ----------
    prompts : Prompts, optional
        Default: the templates that the options name.
    """

    def __init__(
        self, chair: Chair[int], options: LLMOptions, prompts: Prompts | None = None
    ) -> None:
        prompts = prompts or options.templates("arena", chair.base)
        super().__init__(chair, options, options.parsed, prompts)
        self._how = options.decide, options.predict
        self._turn = asyncio.Lock()  # a decision and its probes may be asked side by side
        self._decided: int | None = None  # events seen before the decision of this stage
        self._over: int | None = None  # the same, once its stage is over

    def begin(self, view: View[Any]) -> None:
        """Sit down."""
        chair, options = self.chair, self.options
        self.game = view.game
        opening = options.opening
        self.scene = ArenaScene(self.prompts, view.game, chair.seat, options.conversation, opening)
        self.player = LLMPlayer(self.scene, self.strategy, self.line, chair.rng, *self._how)
        self.probed = Context(self.scene, self.strategy.summarises)

    async def answer(self, view: View[Any], ask: Ask) -> Answer:
        """Decide."""
        await self._look(view)
        judged, question = self.decision(view, ask)
        others = Others(self, view, ask)
        asked = ONE_LABEL if judged.forced else await self.player.act(question, others)
        self.scene.keep(asked)
        self._decided = self.scene.seen
        judged.tries += others.failed
        answer = judged.answer(asked)
        details = {**(answer.details or {}), **others.details} or None
        calls = self.advice_line.drain() + self.line.drain()
        return replace(answer, calls=calls, details=details)

    async def probe(self, view: View[Any], ask: Ask, probe: Probe) -> Answer | None:
        """Answer a probe; nothing of it is remembered.

        It is asked by a player of its own, with the same memory and what else the strategy shows.
        None where labels are scored and the answers to the probe are free.
        """
        if self.strategy.scored and not scorable(self.game.form(view, probe)):
            return None
        await self._look(view)
        line = self.probe_line.fork()
        async with self._turn:  # one summary serves all probes of a decision
            await self.probed.text(line, "literal")
        name = (self.chair.name, "probe", probe.question)
        rng = Stream.of(0, *name).episode(self.scene.step)
        prober = LLMPlayer(self.scene, self.strategy, line, rng, *self._how)
        prober.context, prober.advice = self.probed, self.player.advice
        judged, asked = await self.predict(view, ask, probe, "literal", prober)
        answer = judged.answer(asked)
        return replace(answer, calls=line.drain())

    def decision(self, view: View[Any], ask: Ask, what: str = "") -> tuple[Judged, Question[Any]]:
        """Return a decision as a question; `what` stands before its purpose."""
        judged = Judged(
            self.game.form(view, ask),
            lambda items: self.game.read(view, ask, items),
            self.strategy.scored,
        )
        if self.strategy.scored and not scorable(judged.form):
            raise TomevalError(
                f"{self.game.name}: strategy {self.strategy.name!r} scores labels, but this answer "
                f"to {ask.kind} is free"
            )
        values = {"view": view, "ask": ask, "form": judged.form}
        name = f"{what} {ask.kind}".strip()
        return judged, self._question(name, "functional", f"ask/{ask.kind}", judged, values)

    async def predict(
        self,
        view: View[Any],
        ask: Ask,
        probe: Probe,
        use: Use,
        player: LLMPlayer,
        line: Asker | None = None,
        kind: str = "",
    ) -> tuple[Judged, Asked[Any]]:
        """Ask a probe, to be answered as the strategy answers or by another `kind` of answer."""
        judged = Judged(
            self.game.form(view, probe),
            lambda items: self.game.read(view, probe, items),
            (kind or self.strategy.answer) == "lm",
        )
        values = {"view": view, "ask": ask, "probe": probe, "form": judged.form}
        name = f"{'probe' if use == 'literal' else 'predict'} {probe.question}"
        question = self._question(name, use, f"probe/{probe.name}", judged, values)
        if judged.forced:
            return judged, ONE_LABEL
        return judged, await player.ask(question, line=line, kind=kind)

    def _question(
        self, purpose: str, use: Use, template: str, judged: Judged, values: dict[str, Any]
    ) -> Question[Any]:
        return Question(purpose, use, template, judged.reader, self.scene.step, values)

    async def observe(self, view: View[Any]) -> tuple[dict[str, Any], ...]:
        """Note that the stage is over; what follows is seen before the next question."""
        if self._decided is not None:
            self._over, self._decided = self._decided, None
        return ()

    async def _look(self, view: View[Any]) -> None:
        """See what is new, and look back on the last decision, as the strategy does.

        This waits for the next question, so that lessons are drawn from all that came of a
        decision, and none after the last.
        """
        async with self._turn:
            self.scene.see(view)
            if self._over is not None:
                self.scene.advance(self._over)
                self._over = None
                await self.player.observe()


class Others(Foresight):
    """What the other seats do or are, by all the probes that belong to a decision.

    `details` go to the row of the decision; `failed` is what kept a prediction from being read.
    """

    def __init__(self, seat: LLMSeat, view: View[Any], ask: Ask) -> None:
        self.seat, self.view, self.ask = seat, view, ask
        self.details: dict[str, Any] = {}
        self.failed: list[Broken] = []

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Predict each; nothing is asked where a decision has no probes.

        What is asked of what follows from a decision is asked of a draft.
        """
        seat, view, ask = self.seat, self.view, self.ask
        probes = seat.game.probes(view._state, ask)
        draft = await self._draft()
        if isinstance(draft, Invalid):
            return draft
        if draft is not None:
            probes += seat.game.probes(view._state, ask, draft.action)
        items_of: dict[Probe, list[Any]] = {}
        for probe in probes:
            judged, asked = await seat.predict(
                view, ask, probe, "advice", seat.player, seat.advice_line, kind
            )
            meant = judged.meant(asked.answer)
            if isinstance(meant, Invalid):
                self.failed = judged.tries[-1:]
                return replace(meant, raw=f"no prediction to act on: {meant.raw}")
            items_of[probe] = meant.items
        values = self._in_words("expected", items_of)
        if draft is not None:
            self.details["draft"] = draft.items
        return values | {"draft": draft is not None}

    async def _draft(self) -> Meant | Invalid | None:
        """Ask for a draft of the decision if there are questions on what follows from it."""
        game, view, ask = self.seat.game, self.view, self.ask
        some = game.random(view, ask, np.random.default_rng(0))  # any decision will do to find out
        if not game.probes(view._state, ask, some):
            return None
        judged, question = self.seat.decision(view, ask, "draft")
        asked = await self.seat.player.ask(question, line=self.seat.advice_line)
        meant = judged.meant(asked.answer)
        if isinstance(meant, Invalid):
            self.failed = judged.tries[-1:]
            return replace(meant, raw=f"no draft: {meant.raw}")
        return meant

    async def truth(self) -> dict[str, Any] | Invalid:
        """Open the door; probes whose answer is not settled yet are left out."""
        game, view = self.seat.game, self.view
        told: Mapping[Probe, Action] = await self.seat.chair.door()
        items = {probe: game.written(view, probe, true) for probe, true in told.items()}
        return self._in_words("told", items)

    def _in_words(self, name: str, items_of: Mapping[Probe, list[Any]]) -> dict[str, Any]:
        """Return questions and answers in words, for a template."""
        self.details = {name: {probe.question: items for probe, items in items_of.items()}}
        return {
            "answers": [
                (self.seat.scene.worded(self.view, self.ask, probe), items)
                for probe, items in items_of.items()
            ]
        }
