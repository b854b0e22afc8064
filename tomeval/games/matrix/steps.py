"""What is recorded of played steps: as arrays over episodes, and collected step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.outcomes import BACKEND_ERROR, NOT_ASKED, OUTCOMES, VALID, Decision, Invalid
from tomeval.games.matrix.games import MatrixGame

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

IntArray = NDArray[np.integer[Any]]


@dataclass(eq=False)
class Steps:
    """E episodes of one cell with T recorded steps each. Arrays have shape (E, T)."""

    episodes: IntArray  # shape (E,): episode numbers, from 0
    partners: IntArray  # shape (E,): index of each episode's partner in the cell's partner set
    # ``complete``; ``void`` for an episode that an invalid answer ended early; ``failed`` for one
    # that a backend error did.
    status: str
    # Indices; -1 where there is none.
    partner_state: IntArray
    own_action: IntArray
    partner_action: IntArray
    predicted_action: IntArray
    # Index into `book`; -1 where all mass lies on the recorded action.
    own_probs: IntArray
    predicted_probs: IntArray
    book: list[tuple[float, ...]]  # the distinct distributions
    # Index into `OUTCOMES`.
    act_outcome: IntArray
    predict_outcome: IntArray
    # How often the subject was asked.
    act_attempts: IntArray
    predict_attempts: IntArray
    # Whether the subject learned in this step what the observation does not show.
    told: NDArray[np.bool_]
    # For some (row of the arrays, step index): a dict with any of ``act``, ``predict`` (facts about
    # that answer) and ``reactions`` (per own action the partner's next action that counts, stated
    # or, under the policy ``random``, drawn; -1 where there is none).
    details: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    # (episode, step, seat, question, outcome, attempts, value, raw) of what has no column: of
    # reactions, questions asked aside (`REACT`, `Subject.aside`), and all that a player in the
    # partner's seat was asked.
    answers: list[tuple[int, int, str, str, str, int, Any, str]] = field(default_factory=list)
    # (episode, step, seat, form, call) of every model call; `form` is what it was for.
    calls: list[tuple[int, int, str, str, dict[str, Any]]] = field(default_factory=list)

    def rewards(self, game: MatrixGame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return own and partner's rewards, shape (E, T); NaN if no action was taken."""
        pair = game.payoffs[self.own_action, self.partner_action]
        played = ((self.own_action != NONE) & (self.partner_action != NONE))[..., None]
        pair = np.where(played, pair, np.nan)
        return pair[..., 0], pair[..., 1]


_NOT_ASKED = OUTCOMES.index(NOT_ASKED)


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


class Record:
    """Collects the rows of one episode."""

    def __init__(self, episode: int, partner: int) -> None:
        self.episode, self.partner = episode, partner
        self.rows: list[tuple[int, ...]] = []
        self.book: dict[tuple[float, ...], int] = {}
        self.details: dict[tuple[int, int], dict[str, Any]] = {}
        self.answers: list[tuple[int, int, str, str, str, int, Any, str]] = []
        self.calls: list[tuple[int, int, str, str, dict[str, Any]]] = []

    def add_turn(self, step: int, state: int, theirs: int, turn: Turn | None, told: bool) -> None:
        """Add one step of the subject; None: it was not asked. `theirs` is -1 without a move."""
        row = [state, theirs]
        for form in (ACT, PREDICT):
            answer, action = (None, None) if turn is None else turn.of(form)
            row += self._answer(step, form, answer, action)
        self.rows.append((*row, int(told)))
        if turn is None:
            return
        if turn.reactions is not None:
            counted = [NONE if action is None else action for action in turn.stated]
            self.details.setdefault((0, step - 1), {})["reactions"] = counted
        self._ask_beside(step, SEAT, turn, [_said(answer) for answer in turn.reactions or ()])

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
        """Add the answer to a question as one of a record."""
        said, raw = VALID, ""
        if isinstance(answer, Invalid):
            said, raw = answer.reason, answer.raw
        where = self.episode, step, seat, question
        self.answers.append((*where, said, answer.attempts, value, raw))

    def _log(self, step: int, seat: str, form: str, answer: Answer | None) -> None:
        """Keep an answer's calls; one that names its own step and purpose is kept under those."""
        for call in () if answer is None else answer.calls:
            at, purpose = call.get("step", step), call.get("purpose", form)
            self.calls.append((self.episode, at, seat, purpose, call))

    def _ask_beside(self, step: int, seat: str, turn: Turn, values: Sequence[Any]) -> None:
        """Add what was asked beside a move: reactions, counted as `values`, and draws."""
        for own, (answer, value) in enumerate(zip(turn.reactions or (), values, strict=True)):
            self._ask(step, seat, f"{REACT} {own}", answer, value)
            self._log(step, seat, REACT, answer)
        for question, answer in turn.asides.items():
            self._ask(step, seat, question, answer, _said(answer))
            self._log(step, seat, question.partition(" ")[0], answer)

    def _answer(
        self, step: int, form: str, answer: Answer | None, action: int | None
    ) -> tuple[int, int, int, int]:
        """Return the columns of an answer: action that counts, distribution, outcome, attempts."""
        probs = answer.probs if isinstance(answer, Decision) else None
        code = NONE if probs is None else self.book.setdefault(probs, len(self.book))
        outcome, attempts = _NOT_ASKED, 0
        if answer is not None and not unasked(answer):
            reason = answer.reason if isinstance(answer, Invalid) else VALID
            outcome, attempts = OUTCOMES.index(reason), answer.attempts
        if answer is not None and answer.details is not None:
            self.details.setdefault((0, step - 1), {})[form] = answer.details
        self._log(step, SEAT, form, answer)
        return NONE if action is None else action, code, outcome, attempts

    def steps(self, status: str) -> Steps:
        """Return the episode as arrays."""
        columns = np.array(self.rows, dtype=np.int64).T[:, None, :]
        state, theirs, own, own_probs, act, act_n, pred, pred_probs, predict, pred_n, told = columns
        return Steps(
            episodes=np.array([self.episode]),
            partners=np.array([self.partner]),
            status=status,
            partner_state=state,
            own_action=own,
            partner_action=theirs,
            predicted_action=pred,
            own_probs=own_probs,
            predicted_probs=pred_probs,
            book=list(self.book),
            act_outcome=act,
            predict_outcome=predict,
            act_attempts=act_n,
            predict_attempts=pred_n,
            told=told.astype(bool),
            details=self.details,
            answers=self.answers,
            calls=self.calls,
        )
