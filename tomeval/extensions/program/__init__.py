"""A language model that writes its policy down once, as a table, and then the other player's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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
from tomeval.strategies.asking import Asker
from tomeval.strategies.parts import AnswerPart, add_answer
from tomeval.strategies.questions import Question, Told
from tomeval.strategies.readers import MARKER

Written = Said[Table] | Invalid

PROGRAM = add_answer(
    KIND,
    AnswerPart("Program", "a policy as a table, once", shipped("prompts") / "parts" / KIND, KIND),
)
"""The answer part."""

TRIAL = 20
"""Rounds of the trial, if an experiment sets none."""


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(SubjectOptions):
    """The options of a subject that writes a program, beside those of every language model.

    Attributes
    ----------
    max_attempts : int
        How often a table is asked for; from the second time on it is told what was wrong.
    memory : int
        How many past rounds the tables look at: 0, 1 or 2.
    after : int
        Rounds of a trial that it is shown first, with its own actions drawn uniformly; they do not
        count, and the partner begins anew. All subjects of a task see the same ones in an episode.
    """

    strategy: str | dict[str, Any] = PROGRAM.shown
    max_attempts: int = 2
    memory: int = 1
    after: int = TRIAL

    LIMITS: ClassVar = {**SubjectOptions.LIMITS, "memory": (0, 2), "after": (0, 10_000)}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("conditional", "draws"):
            if getattr(self, name):
                raise TomevalError(f"{name} goes with players that are asked in every round")


class ProgramSubject(LLMSubject):
    """A language model that is asked once for a policy, and what the partner's is, as tables.

    The tables then act and predict in every round. An episode is one writing of both. Options:
    those of `ProgramOptions`.
    """

    OPTIONS = ProgramOptions

    def __init__(self, seat: Seat, **options: Any) -> None:
        super().__init__(seat, **{"strategy": PROGRAM.shown, **options})
        settings, advice = self.settings, self.strategy.advice
        assert isinstance(settings, ProgramOptions)
        if self.strategy.answer != KIND or advice not in ("none", "oracle", "oracle_max"):
            raise TomevalError(
                f"strategy {self.strategy.name!r}: a program is written with no advice, Oracle or "
                "Oracle + Max, in any context"
            )
        self.looks_ahead, self.needs_table = False, self.strategy.part.is_told
        self.forms = [
            Form(seat.labels, who, settings.memory)
            for who in (seat.labels.own, seat.labels.partner)
        ]
        for form in self.forms:
            table = tuple(number % len(form.answers) for number in range(len(form.heads)))
            if form.read("\n".join([MARKER, *form.lines(table)]), "stop").value != table:
                raise TomevalError(
                    f"labels {seat.labels.name!r} of game {seat.game.name} cannot be told apart in "
                    "a table; choose another label set"
                )
        self._trial = 0
        self._wrote: list[Written] = []  # the own table, then the partner's if it is asked for
        if settings.after:
            for joint in trial(seat, seat.door.tables()[0], settings.after):
                self.scene.observe(joint)
            self._trial = settings.after * self.strategy.shows_history

    @classmethod
    def shown_draws(cls, options: Mapping[str, Any]) -> bool:
        """Return whether there is a trial."""
        return bool(options.get("after", TRIAL))

    async def act(self, observation: Observation) -> Answer:
        """Have the tables written, in the first round, and follow the own one."""
        if observation.round == 1:
            line = self.player.line
            asking = [self._write(True, line)]
            asking += [self._write(False, line.fork())] if self.settings.literal else []
            at_once = line.model.capabilities.concurrent
            own, *said = await together(*asking, at_once=at_once)
            if isinstance(own, Invalid):  # what was asked beside it is logged, whatever follows
                own = replace(own, calls=sum((one.calls for one in (own, *said)), ()))
                said = [replace(one, calls=()) for one in said]
            self._wrote = [own, *said]
        return self._follow(self.forms[0], self._wrote[0], observation)

    async def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Follow the table of the partner."""
        if not self.settings.literal:
            return None
        return self._follow(self.forms[1], self._wrote[1], observation)

    async def observe(self, joint: Joint) -> None:
        """Nothing is told of the round."""

    def _follow(self, form: Form, written: Written, seen: Observation) -> Answer:
        """Return what a table says; only in the first round it was asked for."""
        first = seen.round == 1
        if isinstance(written, Invalid):
            return written if first else replace(written, asked=False, calls=())
        at = form.situation([joint[:2] for joint in seen.past])
        action, facts = written.value[at], dict[str, Any]({LINE: form.heads[at]})
        if not first:
            return self._close(Decision(action, attempts=0), (), facts)
        facts |= {KIND: written.value}
        decision = Decision(action, None, written.attempts, details=written.details)
        return self._close(decision, written.calls, facts)

    async def _write(self, mine: bool, line: Asker) -> Written:
        """Ask for a table."""
        form, words = self.forms[not mine], self.scene.words.common
        heads = replace(form, names=Names("", words["own_labels"], words["partner_labels"])).heads
        values = {"mine": mine, "heads": heads, "memory": form.memory, "trial": self._trial}
        values |= {"options": words["own_options" if mine else "partner_options"], "marker": MARKER}
        question = Question(
            *(
                "act" if mine else "predict",
                "functional" if mine else "literal",
                "program",
                form,
                1,
            ),
            values,
            KIND,
            "answer/program_repair",
        )
        told = self._machine() if mine and self.needs_table else Told()
        asked = await self.player.ask(question, told, line=line, kind="cot")
        return replace(asked.answer, calls=line.drain())

    def _machine(self) -> Told:
        """Return what the strategy tells of the partner: all of its table, in words."""
        partner, _ = self.seat.door.partner()
        labels, states = self.seat.labels, []
        for row, following in zip(partner.emissions, partner.next_state, strict=True):
            may = np.flatnonzero(row)
            goes: dict[int, list[tuple[str, str]]] = {}
            apart = (following[:, may] != following[:, may[:1]]).any()
            for a, own in enumerate(labels.own):
                for b in may if apart else may[:1]:
                    when = own, labels.partner[b] if apart else ""
                    goes.setdefault(int(following[a, b]) + 1, []).append(when)
            moves = [(state, when if len(goes) > 1 else []) for state, when in goes.items()]
            chances = [(f"{row[b]:g}", labels.partner[b]) for b in may]
            states.append({"chances": chances, "moves": moves})
        values = {"states": states, "start": partner.start + 1}
        values["maximise"] = self.strategy.advice == "oracle_max"
        return Told(self.player.render("advice/program_oracle", **values))


def trial(seat: Seat, partner: Partner, count: int) -> Iterator[Joint]:
    """Yield the rounds of a trial: own actions uniform, the partner's as its table draws them."""
    state, game = partner.start, seat.game
    for own, theirs in seat.shared("trial").random((count, 2)).tolist():
        a = int(own * game.n)
        b = int((theirs >= np.cumsum(partner.emissions[state])[:-1]).sum())
        yield Joint(a, b, *game.payoffs[a, b].tolist())
        state = int(partner.next_state[state, a, b])
