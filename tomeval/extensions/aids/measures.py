"""How often the payoff question is answered rightly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.domains.matrix.groups import from_data
from tomeval.domains.matrix.played import FloatArray, Played
from tomeval.domains.matrix.storing import has_asides, read_asides, read_predict_outcomes
from tomeval.extensions.aids.payoffs import FORM
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store


class Computed(NamedTuple):
    """Right answers and readable answers of each complete episode, each of shape (E,)."""

    right: FloatArray
    said: FloatArray


def read_computed(store: Store, number: int, definition: Mapping[str, Any]) -> Computed:
    """Return how a cell's subject answered the payoff question."""
    own = np.asarray(definition["game"]["payoffs"], dtype=np.float64)[..., 0]
    best = own == own.max(axis=0)  # [own action, partner action]
    complete = dict.fromkeys(episode for episode, *_ in read_predict_outcomes(store, number))
    row = {episode: index for index, episode in enumerate(complete)}
    right, said = np.zeros(len(row)), np.zeros(len(row))
    for episode, _, question, outcome, value in read_asides(store, number):
        form, _, action = question.partition(" ")
        if form != FORM or outcome != VALID:
            continue
        answer = str(value)
        if not (action.isdecimal() and answer.isdecimal()):
            raise store.damaged(f"cell {number}: {question!r} cannot be answered {answer!r}")
        if int(answer) >= best.shape[0] or int(action) >= best.shape[1]:
            raise store.damaged(f"cell {number}: the game has no {question!r} of answer {answer}")
        if episode in row:
            said[row[episode]] += 1
            right[row[episode]] += best[int(answer), int(action)]
    return Computed(right, said)


def _computed(played: Played, data: Computed) -> Totals:
    return Totals(data.right, data.said, share=True)


MEASURE = Measure(
    "computing_percent",
    "computing %",
    "The share of payoff questions ('if the other plays J, which of your actions earns most?') "
    "that were answered by a best response, of those whose answer could be read, 0 to 100. Higher "
    "is better.",
    "%",
    1,
    "this project, docs/measures.md",
    from_data("computing", _computed, share=True),
)

GROUPS = (Group("computing", (MEASURE,), lambda store: has_asides(store, FORM), read_computed),)
