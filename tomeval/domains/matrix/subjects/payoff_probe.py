"""Ask a language model aside which of its actions earns most against each of the partner's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.matrix.aids.computing import PAYOFF
from tomeval.domains.matrix.subjects.base import Answer, Seat
from tomeval.strategies.asking import request_seed
from tomeval.strategies.player import LLMPlayer
from tomeval.strategies.questions import Question
from tomeval.strategies.readers import Labels


async def ask_payoffs(
    seat: Seat, player: LLMPlayer, close: Callable[[Said[int] | Invalid], Answer]
) -> dict[str, Answer]:
    """Return the answers by question; the strategy's aids are not shown, its context is.

    Ties of scored labels are drawn from a generator of their own, so that the subject's other draws
    are the same whether it is asked or not.
    """
    step = player.scene.step
    rng = np.random.default_rng(request_seed(seat.name, PAYOFF, step))
    answers = {}
    for action, label in enumerate(seat.labels.partner):
        question = Question(
            f"{PAYOFF} {label}",
            "functional",
            PAYOFF,
            Labels(seat.labels.own),
            step,
            {"partner_action": label},
        )
        answers[f"{PAYOFF} {action}"] = close((await player.ask(question, rng=rng)).answer)
    return answers
