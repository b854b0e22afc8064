"""The payoff question: in which rounds it is asked, and how often its answer is right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.once import once_each
from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.core.resources import shipped
from tomeval.domains.matrix.groups import from_data
from tomeval.domains.matrix.played import FloatArray, Played
from tomeval.domains.matrix.storing import SEAT
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store

PAYOFF = "payoff"
"""The question asked aside; a number follows it, the index of a partner action."""

COMPUTING = ("never", "first", "ends", "always")
"""In which rounds it is asked: in none, the first, the first and the last, or all."""


def payoff_rounds(computing: str, horizon: int) -> range:
    """Return the rounds in which the payoff question is asked.

    Examples
    --------
    >>> [list(payoff_rounds(name, 4)) for name in COMPUTING]
    [[], [1], [1, 4], [1, 2, 3, 4]]
    >>> list(payoff_rounds("ends", 1))
    [1]
    """
    steps = {"never": 0, "first": horizon, "ends": max(1, horizon - 1), "always": 1}
    return range(1, horizon + 1, steps[computing]) if computing != "never" else range(0)


def computing_templates(options: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the folders of templates that a language model's option asks for besides its own."""
    asked = options.get("computing", "never") != "never"
    return (shipped("prompts") / "parts" / "computing",) if asked else ()


class Computed(NamedTuple):
    """Right answers and readable answers of each complete episode, each of shape (E,)."""

    right: FloatArray
    said: FloatArray


def _best(definition: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which own actions are best against each partner action, shape (n, m)."""
    own = np.asarray(definition["game"]["payoffs"], dtype=np.float64)[..., 0]
    best: NDArray[np.bool_] = own == own.max(axis=0)
    return best


def _read(store: Store, number: int, definition: Mapping[str, Any]) -> Computed:
    best = _best(definition)
    episodes = store.query(
        "SELECT episode FROM episodes WHERE cell = ? AND status = ? ORDER BY episode",
        (number, COMPLETE),
    )
    place = {episode: row for row, (episode,) in enumerate(episodes)}
    found = Computed(np.zeros(len(place)), np.zeros(len(place)))
    for episode, question, value in store.query(
        f"SELECT episode, question, value FROM answers WHERE cell = ? AND outcome = ? "
        f"AND question LIKE '{PAYOFF} %' AND seat = '{SEAT}'",
        (number, VALID),
    ):
        action, own = question.removeprefix(f"{PAYOFF} "), str(value)
        if not (action.isdecimal() and own.isdecimal()):
            raise store.damaged(f"cell {number}: {question!r} cannot be answered {value!r}")
        if int(own) >= best.shape[0] or int(action) >= best.shape[1]:
            raise store.damaged(f"cell {number}: the game has no {question!r} of answer {own}")
        if episode in place:
            found.said[place[episode]] += 1
            found.right[place[episode]] += best[int(own), int(action)]
    return found


@once_each
def has_computed(store: Store) -> bool:
    """Tell whether the payoff question was asked in any step of the run; looked up once."""
    sql = f"SELECT 1 FROM answers WHERE question LIKE '{PAYOFF} %' AND seat = '{SEAT}' LIMIT 1"
    return bool(store.query(sql))


def _of(played: Played, found: Computed) -> Totals:
    return Totals(found.right, found.said, share=True)


COMPUTED = Measure(
    "computing_percent",
    "computing %",
    "The share of payoff questions ('if the other plays J, which of your actions earns most?') "
    "that were answered by a best response, of those whose answer could be read, 0 to 100. Higher "
    "is better.",
    "%",
    1,
    "this project, docs/measures.md",
    from_data("computing", _of, share=True),
)

GROUP = Group("computing", (COMPUTED,), has_computed, _read)
