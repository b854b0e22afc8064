"""A person as a subject of matrix games: told what models are told, answering a `Source`."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.observation import GOALS, OPTION_ORDERS, Joint, Observation, Words
from tomeval.domains.matrix.observation import option_order as option_order_of
from tomeval.domains.matrix.subjects.base import Answer, Seat, Subject
from tomeval.strategies.templates import load_prompts

ORDERS = ("act_first", "predict_first")
ACT, PREDICT = "act", "predict"
PERSON = "person"
"""The kind of subject."""

_TEMPLATES = {ACT: "answer/lm_act", PREDICT: "answer/lm_predict_partner_first"}
"""The questions as models read them where nothing is said of the form of the answer."""


@dataclass(frozen=True)
class Asked:
    """A question of one round: its words, and the options by action in the order shown."""

    form: str  # "act" or "predict"
    round: int
    text: str
    options: dict[int, str]


class Source(Protocol):
    """Where a person's answers come from."""

    def answer(self, asked: Asked, observation: Observation) -> Decision:
        """Return the answer to a question; an exception breaks the episode off before its step."""


class Person(Subject):
    """A person, who plays with ``tomeval play``; ``tomeval run`` asks nobody.

    Rules, past rounds and questions are the templates' own words. Both questions of a round are
    answered before anything of the round is shown.

    Options
    -------
    order : {"act_first", "predict_first"}
        Which question comes first. A person remembers the first answer at the second question, as
        no model does.
    literal : bool
        Whether the person is asked to predict.
    option_order, goal, prompts
        As for language models.
    """

    by_run: ClassVar[bool] = False
    reads_templates: ClassVar[bool] = True

    def __init__(
        self,
        seat: Seat,
        order: str = "act_first",
        literal: bool = True,
        option_order: str = "fixed",
        goal: str = "win",
        prompts: str = "",
    ) -> None:
        super().__init__(seat)
        chosen = (("order", order, ORDERS), ("option_order", option_order, OPTION_ORDERS))
        for name, value, known in (*chosen, ("goal", goal, GOALS)):
            if value not in known:
                raise unknown(name, value, known)
        if not isinstance(literal, bool):
            raise TomevalError(f"literal must be true or false, is {json.dumps(literal)}")
        both = (ACT, PREDICT) if order == "act_first" else (PREDICT, ACT)
        self.forms: tuple[str, ...] = both if literal else (ACT,)
        self.source: Source | None = None
        self._prompts = load_prompts("matrix", prompts, seat.base)
        self._order = option_order_of(option_order, seat.game.n, seat.game.m, seat.rng)
        self._words = Words(seat.game, seat.labels, seat.horizon, self._order, goal=goal)
        self._given: dict[str, Decision] = {}

    def rules(self) -> str:
        """Return the rules in words."""
        payoffs = self._words.payoff_lines()
        return self._prompts.render("context/rules", payoffs=payoffs, **self._words.common)

    def told(self, number: int, joint: Joint) -> str:
        """Return a past round in words, from 1; a heading stands above the first one."""
        values = self._words.round_values(number, joint)
        return self._prompts.render("context/history", **values)

    def asked(self, form: str, number: int) -> Asked:
        """Return a question of a round, from 1."""
        values = {**self._words.common, "round": number, "given": ""}
        labels = self.seat.labels.own if form == ACT else self.seat.labels.partner
        order = self._order.own if form == ACT else self._order.partner
        text = self._prompts.render(_TEMPLATES[form], **values)
        return Asked(form, number, text, {action: labels[action] for action in order})

    def act(self, observation: Observation) -> Answer:
        """Put the questions of the round, in their order; return the action."""
        if self.source is None:
            raise TomevalError("a person plays with tomeval play, not here")
        details = {"own_order": self._order.own, "partner_order": self._order.partner}
        for form in self.forms:
            said = self.source.answer(self.asked(form, observation.round), observation)
            self._given[form] = dataclasses.replace(said, details=details)
        return self._given[ACT]

    def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Return the prediction of the round, which `act` has asked for."""
        return self._given.get(PREDICT)
