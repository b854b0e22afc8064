"""What is recorded of played steps, and how it is collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tomeval.core.outcomes import BACKEND_ERROR, NOT_ASKED, UNFINISHED, VALID, Decision, Invalid
from tomeval.games.matrix.games import MatrixGame
from tomeval.runs.record import Record

Answer = Decision | Invalid

NONE = -1
"""Index that stands for 'no action' in the arrays; NULL on disk."""

SEAT = "subject"
"""The seat that is measured in tables of cells."""

PARTNER = "partner"
"""The other seat, where a player sits in it and no table. Its answers are among ``answers``: to
``act`` and ``predict`` an object with ``action`` and, where they are known, ``probs``, ``told`` and
``details``; to other questions as for the subject. The steps hold its action too."""

ACT, PREDICT = "act", "predict"
"""The questions of every step."""

REACT = "react"
"""The question of the conditional probe; a number follows it, the index of an own action."""

DRAW = "draw"
"""The literal question once more, to see how often each answer comes; a number follows it."""

BELIEF = "belief"
"""The key of what was stated to a subject among the facts about its action, see `subjects.base`."""

COLUMNS = {
    "partner_state": "INTEGER",
    "own_action": "INTEGER",
    "partner_action": "INTEGER",
    "own_reward": "REAL",
    "partner_reward": "REAL",
    "predicted_action": "INTEGER",
    "own_probs": "TEXT",
    "predicted_probs": "TEXT",
    "act_outcome": "TEXT",
    "predict_outcome": "TEXT",
    "act_attempts": "INTEGER",
    "predict_attempts": "INTEGER",
    "told": "INTEGER",
    "act_details": "TEXT",
    "predict_details": "TEXT",
    "reactions": "TEXT",
}
"""The columns of steps. `own_probs` and `predicted_probs` are null where all mass lies on what was
chosen; `told` is 1 where the subject learned what the observation does not show; `reactions` has,
per own action, the partner's next action that counts, stated or, under the policy ``random``,
drawn; -1 where there is none."""


def unasked(answer: Answer) -> bool:
    """Tell whether an action was not asked for because the prediction before it was invalid."""
    return isinstance(answer, Invalid) and not answer.asked


@dataclass(frozen=True)
class Turn:
    """What one seat answered in one step, and the actions that count; None where there is none.

    `stated` has the actions that count for each of `reactions`.
    """

    act: Answer
    own: int | None
    prediction: Answer | None
    predicted: int | None
    reactions: tuple[Answer, ...] | None = None
    stated: Sequence[int | None] = ()
    asides: Mapping[str, Answer] = field(default_factory=dict)

    def of(self, form: str) -> tuple[Answer | None, int | None]:
        """Return the answer to `ACT` or `PREDICT`, and the action that counts."""
        return (self.act, self.own) if form == ACT else (self.prediction, self.predicted)

    @property
    def lost(self) -> bool:
        """Whether the episode ends here: not for want of a reply that no move needs."""
        asked = [(self.prediction, self.predicted)]
        asked += zip(self.reactions or (), self.stated, strict=True)
        ends = (said is not None and n is None and not _broken(said) for said, n in asked)
        return self.own is None or any(ends)

    @property
    def failed(self) -> bool:
        """Whether the backend, not the subject, is to blame for an episode that ends."""
        return self.own is None and _broken(self.act, self.prediction)

    @property
    def moved(self) -> int:
        """The action, of a turn that is not lost."""
        assert self.own is not None, "no action"
        return self.own


def _broken(*answers: Answer | None) -> bool:
    return BACKEND_ERROR in [answer.reason for answer in answers if isinstance(answer, Invalid)]


def _said(answer: Answer) -> Any:
    return answer.action if isinstance(answer, Decision) else None


class Episode:
    """Collects the steps of one episode in its record."""

    def __init__(self, game: MatrixGame, episode: int, partner: int) -> None:
        self.game = game
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self.record = Record(episode, UNFINISHED, 0, {"partner": partner}, columns)

    def add_turn(
        self, step: int, state: int, theirs: int | None, turn: Turn | None, told: bool
    ) -> None:
        """Add one step of the subject; None: it was not asked. `theirs` is what the partner did."""
        row: dict[str, Any] = {"partner_state": state, "partner_action": theirs, "told": int(told)}
        for form, of in ((ACT, "own"), (PREDICT, "predicted")):
            answer, action = (None, None) if turn is None else turn.of(form)
            row |= self._answer(step, form, answer)
            row[f"{of}_action"] = action
            row[f"{of}_probs"] = answer.probs if isinstance(answer, Decision) else None
        if turn is not None:
            if turn.own is not None and theirs is not None:
                rewards = self.game.payoffs[turn.own, theirs].tolist()
                row |= zip(("own_reward", "partner_reward"), rewards, strict=True)
            if turn.reactions is not None:
                row["reactions"] = [NONE if action is None else action for action in turn.stated]
            self._ask_beside(step, SEAT, turn, [_said(answer) for answer in turn.reactions or ()])
        for name, values in self.record.columns.items():
            values.append(row.get(name))
        self.record.steps = step

    def add_other(self, step: int, turn: Turn, told: bool) -> None:
        """Add one step of a player in the partner's seat, whose answers have no columns."""
        for form in (ACT, PREDICT):
            answer, action = turn.of(form)
            if answer is not None and not unasked(answer):
                said = {
                    "action": action,
                    "probs": answer.probs if isinstance(answer, Decision) else None,
                    "told": (told and form == ACT) or None,
                    "details": answer.details,
                }
                said = {k: v for k, v in said.items() if k == "action" or v is not None}
                self._ask(step, PARTNER, form, answer, said)
            self._log(step, PARTNER, form, answer)
        self._ask_beside(step, PARTNER, turn, turn.stated)

    def _ask(self, step: int, seat: str, question: str, answer: Answer, value: Any) -> None:
        """Add the answer to a question that has no columns."""
        said, raw = VALID, ""
        if isinstance(answer, Invalid):
            said, raw = answer.reason, answer.raw
        where = step, seat, question
        self.record.answers.append((*where, said, answer.attempts, value, raw))

    def _log(self, step: int, seat: str, form: str, answer: Answer | None) -> None:
        """Keep an answer's calls; one that names its own step and purpose is kept under those."""
        for call in () if answer is None else answer.calls:
            at, purpose = call.get("step", step), call.get("purpose", form)
            self.record.calls.append((at, seat, purpose, call))

    def _ask_beside(self, step: int, seat: str, turn: Turn, values: Sequence[Any]) -> None:
        """Add what was asked beside a move: reactions, counted as `values`, and draws."""
        for own, (answer, value) in enumerate(zip(turn.reactions or (), values, strict=True)):
            self._ask(step, seat, f"{REACT} {own}", answer, value)
            self._log(step, seat, REACT, answer)
        for question, answer in turn.asides.items():
            self._ask(step, seat, question, answer, _said(answer))
            self._log(step, seat, question.partition(" ")[0], answer)

    def _answer(self, step: int, form: str, answer: Answer | None) -> dict[str, Any]:
        """Return what became of an answer, as columns."""
        outcome, attempts = NOT_ASKED, 0
        if answer is not None and not unasked(answer):
            outcome = answer.reason if isinstance(answer, Invalid) else VALID
            attempts = answer.attempts
        self._log(step, SEAT, form, answer)
        details = None if answer is None else answer.details
        said = {"outcome": outcome, "attempts": attempts, "details": details}
        return {f"{form}_{name}": value for name, value in said.items()}
