"""A language model that writes its policy down once, as a table, and then the other player's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision, Invalid, Said
from tomeval.core.resources import shipped
from tomeval.extensions.program.tables import Form, Table
from tomeval.games.matrix.games import Labels as Names
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.rules import LINE, Joint, Observation
from tomeval.games.matrix.storing import PROGRAM as KIND
from tomeval.games.matrix.subjects.base import Answer, Seat
from tomeval.games.matrix.subjects.llm import LLMSubject, SubjectOptions
from tomeval.games.played import together
from tomeval.strategies.advice import Advice
from tomeval.strategies.asking import Asker
from tomeval.strategies.parts import ANSWER_PARTS, Part
from tomeval.strategies.questions import Question, Told
from tomeval.strategies.readers import MARKER

Written = Said[Table] | Invalid

PROGRAM = ANSWER_PARTS[KIND] = Part(
    "Program", "a policy as a table, once", Advice, templates=shipped("prompts") / "parts" / KIND
)
"""The answer part."""


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(SubjectOptions):
    """The options of a subject that writes programs, beside those of every language model.

    Attributes
    ----------
    max_attempts : int
        How often a table is asked for; from the second time on it is told what was wrong.
    memory : int
        How many past rounds tables look at: 0, 1 or 2.
    after : int
        Rounds of a trial that it sees first, its own actions drawn uniformly, the same for all
        subjects of a task. They do not count, and the partner begins anew.
    """

    strategy: str | dict[str, Any] = PROGRAM.shown
    max_attempts: int = 2
    memory: int = 1
    after: int = 20

    LIMITS: ClassVar = {**SubjectOptions.LIMITS, "memory": (0, 2), "after": (0, 10_000)}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("conditional", "draws", "questions"):
            if getattr(self, name):
                raise TomevalError(f"{name} needs a player that is asked in every round")


class ProgramSubject(LLMSubject):
    """A language model that writes down, once an episode, its policy and the partner's, as tables.

    They act and predict in every round. The options are those of `ProgramOptions`.
    """

    OPTIONS = ProgramOptions
    settings: ProgramOptions

    def __init__(self, seat: Seat, **options: Any) -> None:
        if seat.horizon is None:
            raise TomevalError("program: a policy is written for a horizon, not a continuation")
        super().__init__(seat, **{"strategy": PROGRAM.shown, **options})
        settings, strategy = self.settings, self.strategy
        if strategy.answer != KIND or strategy.advice not in ("none", "oracle", "oracle_max"):
            raise TomevalError(
                f"strategy {strategy.name!r}: who writes a program needs Program in its strategy, "
                "with any context, and no advice but Oracle or Oracle + Max"
            )
        self.looks_ahead, self.needs_table = False, strategy.part.is_told
        sides = seat.labels.own, seat.labels.partner
        self.forms = [Form(seat.labels, side, settings.memory) for side in sides]
        for form in self.forms:
            lines = form.lines((0,) * len(form.heads))
            if form.read("\n".join([MARKER, *lines]), "stop").value is None:
                raise TomevalError(
                    f"game {seat.game.name}: the labels {seat.labels.name!r} cannot be told apart "
                    "in a table; choose others"
                )
        self._wrote: list[Written] = []  # the own table, then the partner's if it is asked for
        if settings.after:
            for joint in trial(seat, seat.door.tables()[0], settings.after):
                self.scene.observe(joint)

    async def act(self, observation: Observation) -> Answer:
        """Have the tables written, in the first round, and follow the own one."""
        if observation.round == 1:
            line = self.player.line
            lines = [line, line.fork()][: 1 + self.settings.literal]
            asking = (self._write(one is line, one) for one in lines)
            at_once = line.model.capabilities.concurrent
            own, *said = await together(*asking, at_once=at_once)
            if isinstance(own, Invalid):  # what was asked beside it is logged, whatever follows
                own = replace(own, calls=sum((one.calls for one in (own, *said)), ()))
                said = [replace(one, calls=()) for one in said]
            self._wrote = [own, *said]
        return self._follow(0, observation)

    async def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Follow the table of the partner."""
        return self._follow(1, observation) if self.settings.literal else None

    async def observe(self, joint: Joint) -> None:
        """Nothing is told of a round."""

    def _follow(self, side: int, seen: Observation) -> Answer:
        """Return what a table says; only in the first round it was asked for."""
        form, written, first = self.forms[side], self._wrote[side], seen.round == 1
        if isinstance(written, Invalid):
            return written if first else replace(written, asked=False, calls=())
        at = form.situation(seen.past)
        facts: dict[str, Any] = {LINE: form.heads[at]} | ({KIND: written.value} if first else {})
        asked = written if first else Decision(0, attempts=0)
        answer = Decision(written.value[at], attempts=asked.attempts, details=asked.details)
        return self._close(answer, asked.calls, facts)

    async def _write(self, mine: bool, line: Asker) -> Written:
        """Ask for a table."""
        form, words, settings = self.forms[not mine], self.scene.words.common, self.settings
        listed = Names("", words["own_labels"], words["partner_labels"])
        values: dict[str, Any] = {"mine": mine, "memory": form.memory, "marker": MARKER}
        values["heads"] = replace(form, names=listed).heads
        values["options"] = words["own_options" if mine else "partner_options"]
        values["trial"] = settings.after * self.strategy.shows_history
        repair = partial(self.player.render, "answer/program_repair", **values)
        asking = "program", form, 1, values, KIND, repair
        question = Question("predict", "literal", *asking)
        if mine:
            question = Question("act", "functional", *asking)
        told = self._machine() if mine and self.needs_table else Told()
        asked = await self.player.ask(question, told, line=line, kind="cot")
        return replace(asked.answer, calls=line.drain())

    def _machine(self) -> Told:
        """Return what the strategy tells of the partner: all of its table, in words."""
        partner, labels, states = self.seat.door.partner()[0], self.seat.labels, []
        for row, following in zip(partner.emissions, partner.next_state, strict=True):
            may = np.flatnonzero(row)
            chances = [(f"{row[b]:g}", labels.partner[b]) for b in may]
            states.append({"chances": chances, "goes": (following[:, may] + 1).tolist()})
        told = {"states": states, "start": partner.start + 1, "own": labels.own}
        told["maximise"] = self.strategy.advice == "oracle_max"
        return Told(self.player.render("advice/program_oracle", **told))


def trial(seat: Seat, partner: Partner, count: int) -> Iterator[Joint]:
    """Yield rounds before the first: own actions uniform, the partner's as its table draws them."""
    state, game = partner.start, seat.game
    for own, theirs in seat.shared("trial").random((count, 2)).tolist():
        a, bounds = int(own * game.n), np.cumsum(partner.emissions[state])[:-1]
        b = int((theirs >= bounds).sum())
        yield Joint(a, b, *game.payoffs[a, b].tolist())
        state = int(partner.next_state[state, a, b])
