"""Questions about what the partner is: which of several, and what it does if one does so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.rules import AHEAD, ASKED, WHICH
from tomeval.games.matrix.sentences import describe
from tomeval.runs.experiment import read_table
from tomeval.strategies.asking import request_seed
from tomeval.strategies.labels import Labels
from tomeval.strategies.questions import Question

if TYPE_CHECKING:
    from tomeval.games.matrix.play import Setup
    from tomeval.games.matrix.subjects.base import Seat

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""What candidates are called; not as an action is, and never I, which is a word."""


class Questions(BaseModel):
    """What a language model is asked of what its partner is.

    Attributes
    ----------
    at : list of int
        The rounds in which it is asked, beside its prediction, from 1.
    ask : list of {"which", "ahead"}
        Which of several policies the partner follows; what it does in the next rounds if the player
        takes actions that are drawn.
    ahead : int
        How many rounds ahead, the coming one included; not beyond the horizon.
    candidates : list of str
        The policies of ``which``, as `tomeval.get_partner` reads them. Default: all partners that
        the experiment has in the game.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    at: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    ask: list[Literal["which", "ahead"]] = Field(default=["which", "ahead"], min_length=1)
    ahead: int = Field(default=3, ge=1, le=20)
    candidates: list[str] = []

    @field_validator("at", "ask", "candidates", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]


def read_questions(told: Any) -> Questions | None:
    """Return the option ``questions`` of a subject, checked; None: nothing is asked."""
    if told is None:
        return None
    if not isinstance(told, Mapping):
        raise TomevalError(f"questions must be a table such as {{ at = [5, 10] }}, is {told!r}")
    return read_table(Questions, told, "questions")


def candidates_of(setup: Setup, sets: Sequence[Any]) -> tuple[Partner, ...]:
    """Return among which policies a cell's subject is asked to find its partner.

    Those that it names, else all of the partner sets of the experiment, `sets`; of those that do
    the same the first. Empty where it is not asked, or a player sits in the partner's seat.

    Raises
    ------
    TomevalError
        They lack a partner that is met, or one that no sentence describes; or they are too few.
    """
    asked = read_questions(setup.options.get("questions"))
    if asked is None or WHICH not in asked.ask or not isinstance(setup.partners, PartnerSet):
        return ()
    every = [get_partner(spec, setup.game, setup.base) for spec in asked.candidates]
    every = every or [p for one in sets if isinstance(one, PartnerSet) for p in one.partners]
    found: dict[str, Partner] = {}
    for one in every:
        found.setdefault(describe(one, setup.labels), one)
    for one in setup.partners.partners:
        if describe(one, setup.labels) not in found:
            near = did_you_mean(one.name, asked.candidates)
            raise TomevalError(f"questions.candidates lacks {one.name!r}, which is met{near}")
    most = len(_letters(setup.labels))
    if not 2 <= len(found) <= most:
        raise TomevalError(
            f"questions: {WHICH!r} needs 2 to {most} candidates that differ, has {len(found)}: "
            f"name them under candidates, or ask {AHEAD!r} alone"
        )
    return tuple(found.values())


def _letters(labels: Any) -> list[str]:
    names = {label.split()[-1].upper() for label in (*labels.own, *labels.partner)}
    return [letter for letter in LETTERS if letter not in names]


class Aside(NamedTuple):
    """A question, what is kept of it with its answer, and what draws between equal labels."""

    question: Question[int]
    kept: Mapping[str, Any]
    rng: np.random.Generator


class Identity:
    """What one player is asked of what its partner is.

    All that is drawn for it depends on the episode, the step and the question, and draws nothing of
    what the player draws.
    """

    def __init__(self, asked: Questions, seat: Seat) -> None:
        if not seat.candidates:
            raise TomevalError("questions are of partners with a table: a player sits there")
        if seat.horizon is not None and (last := max(asked.at)) > seat.horizon:
            raise TomevalError(f"questions.at has {last}, but an episode has {seat.horizon} rounds")
        self.asked, self.seat = asked, seat
        ahead = asked.ahead if AHEAD in asked.ask else 0
        self.names = (WHICH,) * (WHICH in asked.ask)
        self.names += tuple(f"{AHEAD} {number}" for number in range(1, ahead + 1))

    def due(self, step: int) -> Iterator[Aside]:
        """Yield what is asked in a step: of rounds up to the horizon."""
        for name in self.names if step in self.asked.at else ():
            _, _, number = name.partition(" ")
            if not number:
                yield self._which(step)
            elif self.seat.horizon is None or step + int(number) - 1 <= self.seat.horizon:
                yield self._ahead(name, step, int(number) - 1)

    def _rng(self, *what: Any) -> np.random.Generator:
        return np.random.default_rng(request_seed(self.seat.name, "identity", *what))

    def _which(self, step: int) -> Aside:
        """Ask for the candidate, in an order that is drawn."""
        candidates, labels = self.seat.candidates, self.seat.labels
        order = self._rng(WHICH, step).permutation(len(candidates)).tolist()
        letters = tuple(_letters(labels)[: len(order)])
        said = (describe(candidates[i], labels) for i in order)
        values = {"candidates": list(zip(letters, said, strict=True))}
        question = Question(WHICH, "literal", WHICH, Labels(letters), step, values)
        return Aside(question, {ASKED: {"order": order}}, self._rng(WHICH, step, "tie"))

    def _ahead(self, name: str, step: int, after: int) -> Aside:
        """Ask for an action of the partner, after own ones that are drawn once for the step."""
        labels = self.seat.labels
        drawn = self._rng(AHEAD, step).integers(self.seat.game.n, size=self.asked.ahead)
        own = drawn[:after].tolist()
        values = {"own_actions": [labels.own[a] for a in own]}
        question = Question(name, "literal", AHEAD, Labels(labels.partner), step, values)
        return Aside(question, {ASKED: {"own": own}}, self._rng(name, step, "tie"))
