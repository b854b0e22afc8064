"""A language model in a seat: decisions, probes, and what advice asks first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tomeval.core.outcomes import Invalid
from tomeval.core.streams import Stream
from tomeval.games.game import Action, Ask, Broken, Probe, What
from tomeval.games.llm.scene import ONE_LABEL, Judged, Meant, SeatScene
from tomeval.games.seats import Answer, Chair, Seat
from tomeval.strategies.asking import Asker
from tomeval.strategies.compose import Strategy
from tomeval.strategies.player import Asked, LLMPlayer
from tomeval.strategies.questions import Context, Foresight, Question
from tomeval.strategies.questions import Form as Use
from tomeval.strategies.templates import Prompts

if TYPE_CHECKING:
    from tomeval.games.llm.options import LLMOptions


class LLMSeat(Seat):
    """A language model with a prompting strategy.

    What it writes besides the answer (reasoning, lessons, notes, summaries) stays in its own
    prompts: others get the action that the game reads from the marked answer, and nothing else.

    Its lines to the model: `line` asks for moves, as often as the table says, `advice_line` for
    what advice asks first, and `probe_line` for probes.
    """

    # Whether attempts at what was to precede a decision count as its own if it was lost.
    counts_lost: ClassVar[bool] = False
    # Whether a strategy that scores labels is asked probes whose answers are free, in writing.
    writes_free: ClassVar[bool] = False

    scenes: ClassVar[type[SeatScene]] = SeatScene  # what it is told
    # The kind of call, in the log, of every answer, with ``{}`` for what is asked for; empty: as
    # the strategy answers.
    kind_of: ClassVar[str] = ""

    def __init__(
        self, chair: Chair, options: LLMOptions, strategy: Strategy, prompts: Prompts
    ) -> None:
        self.chair, self.options, self.strategy, self.prompts = chair, options, strategy, prompts
        how = options.asking()
        self.line = self.advice_line = Asker(chair.model, how, chair.name)
        self.probe_line = self.line.fork(options.probe_temperature)
        if chair.attempts:
            self.advice_line = self.line.fork()
            self.line.how = replace(how, max_attempts=chair.attempts)
        self._how = options.decide, options.predict
        self._turn = asyncio.Lock()  # a decision and its probes may be asked side by side
        self._decided: int | None = None  # events seen before the decision of this stage
        self._over: int | None = None  # the same, once its stage is over

    def begin(self, view: Any) -> None:
        """Sit down."""
        chair, options = self.chair, self.options
        self.game = view.game
        told = options.conversation, options.opening
        self.scene = self.scenes(self.prompts, view.game, chair.seat, *told)
        self.player = LLMPlayer(self.scene, self.strategy, self.line, chair.rng, *self._how)
        self.probed = Context(self.scene, self.strategy.summarises)

    def foresight(self, view: Any, ask: Ask) -> Others:
        """Return what there is to know of others beside a decision."""
        return Others(self, view, ask)

    async def answer(self, view: Any, ask: Ask) -> Answer:
        """Decide."""
        await self._look(view)
        judged, question = self.decision(view, ask)
        others = self.foresight(view, ask)
        asked = ONE_LABEL if judged.forced else await self.player.act(question, others)
        self.scene.keep(asked)
        self._decided = self.scene.seen
        judged.tries += others.failed
        answer = judged.answer(asked, self.counts_lost)
        details = {**(answer.details or {}), **others.details} or None
        calls = self.advice_line.drain() + self.line.drain()
        return replace(answer, calls=calls, details=details)

    async def probe(self, view: Any, ask: Ask, probe: Probe) -> Answer | None:
        """Answer a probe; nothing of it is remembered.

        It is asked by a player of its own, with the same memory and what else the strategy shows.
        None where labels are scored and the answers to the probe are free.
        """
        listed = self.writes_free or self.game.form(view, probe).labels
        if self.strategy.scored and not listed:
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

    def decision(self, view: Any, ask: Ask, purpose: str = "") -> tuple[Judged, Question[Any]]:
        """Return a decision as a question; `purpose` is another one than the decision."""
        judged = self._judged(view, ask, self.strategy.scored)
        values = {"view": view, "ask": ask, "form": judged.form}
        name, template = purpose or ask.kind, f"ask/{ask.kind}"
        return judged, self._question(name, "functional", template, judged, values)

    async def predict(
        self,
        view: Any,
        ask: Ask,
        probe: Probe,
        use: Use,
        player: LLMPlayer,
        line: Asker | None = None,
        kind: str = "",
        **more: Any,
    ) -> tuple[Judged, Asked[Any]]:
        """Ask a probe, to be answered as the strategy answers or by another `kind` of answer.

        `more` are values for its template.
        """
        judged = self._judged(view, probe, (kind or self.strategy.answer) == "lm")
        values = {"view": view, "ask": ask, "probe": probe, "form": judged.form, **more}
        name = f"{'probe' if use == 'literal' else 'predict'} {probe.question}"
        question = self._question(name, use, f"probe/{probe.name}", judged, values)
        if judged.forced:
            return judged, ONE_LABEL
        return judged, await player.ask(question, line=line, kind=kind)

    def _judged(self, view: Any, what: What, scored: bool) -> Judged:
        game, form = self.game, self.game.form(view, what)
        scored = scored and bool(form.labels)
        return Judged(form, lambda items: game.read(view, what, items), scored)

    def _question(
        self, purpose: str, use: Use, template: str, judged: Judged, values: dict[str, Any]
    ) -> Question[Any]:
        step, kind = self.scene.step, self.kind_of.format(judged.form.key)
        return Question(purpose, use, template, judged.reader, step, values, kind)

    async def observe(self, view: Any) -> tuple[dict[str, Any], ...]:
        """Note that the stage is over; what follows is seen before the next question."""
        if self._decided is not None:
            self._over, self._decided = self._decided, None
        return ()

    async def _look(self, view: Any) -> None:
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
    `drafting` names the request for a draft.
    """

    drafting: ClassVar[str] = "draft {}"

    def __init__(self, seat: LLMSeat, view: Any, ask: Ask) -> None:
        self.seat, self.view, self.ask = seat, view, ask
        self.details: dict[str, Any] = {}
        self.failed: list[Broken] = []

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Predict each; nothing is asked where a decision has no probes.

        What is asked of what follows from a decision is asked of a draft.
        """
        seat, view, ask = self.seat, self.view, self.ask
        probes = seat.game.probes(view._state, ask, None, {})
        draft = await self._draft()
        if isinstance(draft, Invalid):
            return draft
        if draft is not None and draft.action is not None:
            probes += seat.game.probes(view._state, ask, draft.action, {})
        items_of: dict[Probe, list[Any]] = {}
        for probe in probes:
            meant = await self._predicted(probe, kind)
            if isinstance(meant, Invalid):
                return meant
            items_of[probe] = meant.items
        values = self._in_words("expected", items_of)
        if draft is not None:
            self.details["draft"] = draft.items
        return values | {"draft": draft is not None}

    async def _predicted(self, probe: Probe, kind: str, **more: Any) -> Meant | Invalid:
        """Predict an answer; `more` are values for the template of the question."""
        seat, line = self.seat, self.seat.advice_line
        judged, asked = await seat.predict(
            self.view, self.ask, probe, "advice", seat.player, line, kind, **more
        )
        return self._meant(judged, asked, "no prediction to act on")

    async def _draft(self) -> Meant | Invalid | None:
        """Ask for a draft of the decision if there are questions on what follows from it."""
        game, view, ask = self.seat.game, self.view, self.ask
        some = game.random(view, ask, np.random.default_rng(0))  # any decision will do to find out
        follow = some is not None and game.probes(view._state, ask, some, {})
        return await self.draft() if follow else None

    async def draft(self) -> Meant | Invalid:
        """Ask for a draft of the decision."""
        name = self.drafting.format(self.ask.kind)
        judged, question = self.seat.decision(self.view, self.ask, name)
        asked = await self.seat.player.ask(question, line=self.seat.advice_line)
        return self._meant(judged, asked, "no draft")

    def _meant(self, judged: Judged, asked: Asked[Any], lost: str) -> Meant | Invalid:
        meant = judged.meant(asked.answer)
        if isinstance(meant, Invalid):
            self.failed = judged.tries[-1:]
            return replace(meant, raw=f"{lost}: {meant.raw}")
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
