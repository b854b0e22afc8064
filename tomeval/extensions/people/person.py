"""A person as a subject of matrix games: told what models are told, answering a source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.games.matrix.rules import Joint, Observation
from tomeval.games.matrix.scene import Words, option_order
from tomeval.games.matrix.subjects.base import Answer, Seat, Subject
from tomeval.strategies.templates import load_prompts

ACT, PREDICT = "act", "predict"

_TEMPLATES = {ACT: "answer/lm_act", PREDICT: "answer/lm_predict_partner_first"}
"""The questions as models read them where nothing is said of the form of the answer."""


class Asked(NamedTuple):
    """A question of one round: its words, and the options by action in the order shown."""

    form: str  # "act" or "predict"
    round: int
    text: str
    options: dict[int, str]


class Person(Subject):
    """A person, who plays with ``tomeval play``; ``tomeval run`` asks nobody.

    Rules, past rounds and questions are the templates' own words. Both questions of a round are
    answered before anything of the round is shown.
    """

    by_run: ClassVar[bool] = False
    reads_templates: ClassVar[bool] = True

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self.source: Callable[[Asked], Decision] | None = None
        self.past: list[Joint] = []
        self.right = 0
        self._prompts = load_prompts("matrix", "", seat.base)
        self._order = option_order("fixed", seat.game.n, seat.game.m, seat.rng)
        self._words = Words(seat.game, seat.labels, seat.horizon, self._order, goal="win")
        self._predicted: Decision | None = None

    def rules(self) -> str:
        """Return the rules in words."""
        payoffs = self._words.payoff_lines()
        return self._prompts.render("context/rules", payoffs=payoffs, **self._words.common)

    def history(self) -> list[str]:
        """Return the past rounds in words; a heading stands above the first one."""
        values = (self._words.round_values(n, joint) for n, joint in enumerate(self.past, 1))
        return [self._prompts.render("context/history", **one) for one in values]

    def asked(self, form: str, number: int) -> Asked:
        """Return a question of a round, from 1."""
        values = {**self._words.common, "round": number, "given": ""}
        labels = self.seat.labels.own if form == ACT else self.seat.labels.partner
        order = self._order.own if form == ACT else self._order.partner
        text = self._prompts.render(_TEMPLATES[form], **values)
        return Asked(form, number, text, {action: labels[action] for action in order})

    def act(self, observation: Observation) -> Answer:
        """Put both questions of the round; return the action."""
        if self.source is None:
            raise TomevalError("a person plays with tomeval play, not here")
        details = {"own_order": self._order.own, "partner_order": self._order.partner}
        chosen, self._predicted = (
            dataclasses.replace(self.source(self.asked(form, observation.round)), details=details)
            for form in (ACT, PREDICT)
        )
        return chosen

    def predict(self, observation: Observation, own_action: int | None) -> Answer | None:
        """Return the prediction of the round, which `act` has asked for."""
        return self._predicted

    def observe(self, joint: Joint) -> None:
        """Remember the round, and whether the prediction was right."""
        self.past.append(joint)
        assert self._predicted is not None
        self.right += self._predicted.action == joint.partner
