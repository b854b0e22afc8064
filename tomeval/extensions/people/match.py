"""An episode that a person plays: left and taken up at any step, and stored as it grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tomeval.core.coroutines import run_now
from tomeval.core.outcomes import COMPLETE, UNFINISHED, Decision
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.play import play_episode_async
from tomeval.domains.matrix.record import Record
from tomeval.domains.matrix.steps import NONE
from tomeval.domains.matrix.storing import answers_of, as_block
from tomeval.domains.matrix.subjects import Subject
from tomeval.extensions.people.person import ACT, PREDICT, Asked, Person, Source
from tomeval.runs.domain import Block, Cell
from tomeval.runs.store import Store


class Given(NamedTuple):
    """What a person answered in one round, by question: the option, and after how many attempts."""

    chosen: Mapping[str, int]
    attempts: Mapping[str, int] = {}

    def decision(self, form: str) -> Decision:
        """Return the answer to a question of the round."""
        return Decision(self.chosen[form], attempts=self.attempts.get(form, 1))


class Stored(NamedTuple):
    """What is stored of an episode: its status, empty if there is none, and the answers."""

    status: str
    given: list[Given]


class NotAnsweredYet(Exception):
    """All that was answered is played."""


class Match:
    """One person's episode, played as far as there are answers.

    The step loop is that of all subjects. It is played again from the first step whenever answers
    are added, so nothing is kept but the answers.

    Attributes
    ----------
    over : bool
        Whether the last step is played.
    length : int
        How many steps there are.
    past : list of Joint
        The finished steps.
    """

    def __init__(self, cell: Cell, episode: int) -> None:
        assert isinstance(cell, MatrixCell), "people play matrix games"
        self.cell, self.episode, self.length = cell, episode, cell.length
        self._which = int(cell.setup.draw_partners(episode, 1)[0])
        self._record = Record(episode, self._which)
        self._person: Person | None = None
        self.over = False
        self.past: list[Joint] = []

    @property
    def person(self) -> Person:
        """Who was seated."""
        assert self._person is not None, "not played yet"
        return self._person

    def play(
        self,
        given: Sequence[Given],
        source: Source | None = None,
        on_step: Callable[[], None] = lambda: None,
    ) -> Match:
        """Play what was answered, then what `source` answers; `on_step` follows every new step.

        Without a source, or when it raises `NotAnsweredYet`, the match is left there.
        """
        answers = _Answers(given, source, self)

        def stepped() -> None:
            answers.finished += 1
            if answers.finished > len(given):
                on_step()

        try:
            playing = play_episode_async(
                self.cell.setup,
                self.episode,
                on_step=stepped,
                on_seated=lambda subject: self._sit(subject, answers),
                record=self._record,
            )
            run_now(playing)
            self.over = True
        except NotAnsweredYet:
            pass
        finally:  # a person may leave in the middle of a step
            self.past = self._played()
        return self

    def _sit(self, subject: Subject, answers: Source) -> None:
        assert isinstance(subject, Person), "not a cell played by people"
        self._person, subject.source = subject, answers

    def _played(self) -> list[Joint]:
        """Return the finished steps."""
        if not self._record.rows:
            return []
        steps, payoffs = self._record.steps(UNFINISHED), self.cell.setup.game.payoffs
        moves = zip(steps.own_action[0].tolist(), steps.partner_action[0].tolist(), strict=True)
        return [Joint(own, their, *payoffs[own, their].tolist()) for own, their in moves]

    @property
    def rules(self) -> str:
        """The rules in words."""
        return self.person.rules()

    @property
    def told(self) -> list[str]:
        """The finished steps in words; a heading stands above the first one."""
        return [self.person.told(number, joint) for number, joint in enumerate(self.past, 1)]

    @property
    def right(self) -> int | None:
        """How many predictions were right; None if none was made."""
        if not self._record.rows:
            return None
        steps = self._record.steps(UNFINISHED)
        if (steps.predicted_action == NONE).all():
            return None
        return int((steps.predicted_action == steps.partner_action).sum())

    @property
    def asked(self) -> list[Asked]:
        """The questions of the next round, in their order; none after the last."""
        if self.over:
            return []
        return [self.person.asked(form, len(self.past) + 1) for form in self.person.forms]

    def block(self) -> Block:
        """Return the episode as rows of the store; it is unfinished before the last step."""
        status = COMPLETE if self.over else UNFINISHED
        if self._record.rows:
            return as_block(self._record.steps(status), self.cell.setup.game)
        return Block([(self.episode, status, 0, self._which)], [])


class _Answers:
    """The answers that were given before, then those of a source."""

    def __init__(self, given: Sequence[Given], source: Source | None, match: Match) -> None:
        self._given, self._source, self._match = given, source, match
        self.finished = 0

    def answer(self, asked: Asked, observation: Observation) -> Decision:
        if asked.round <= len(self._given):
            return self._given[asked.round - 1].decision(asked.form)
        if self._source is None:
            raise NotAnsweredYet
        return self._source.answer(asked, observation)


def stored(store: Store, cell: int, episode: int) -> Stored:
    """Return what is stored of an episode."""
    given = []
    for act, predict, act_attempts, predict_attempts in answers_of(store, cell, episode):
        asked = {ACT: act} if predict is None else {ACT: act, PREDICT: predict}
        given.append(Given(asked, {ACT: act_attempts, PREDICT: predict_attempts}))
    status = store.statuses(cell).get(episode, "")
    return Stored(status, given)
