"""Probabilities given to the truth, and their Brier score: only where labels are scored."""

import numpy as np
import pytest

from tomeval.core.outcomes import run_now
from tomeval.games.arena.named_games import named_game
from tomeval.games.ipd3 import KIND
from tomeval.games.play import Table, play_game
from tomeval.games.seats import Answer, Chair, ScriptedSeat


class Scorer(ScriptedSeat):
    """Says that everybody cooperates, with a probability; `probs` None: it is written."""

    probs = None

    async def probe(self, view, ask, probe):
        labels = view.game.form(view, probe).labels
        probs = self.probs and tuple(self.probs[label] for label in labels)
        return Answer("cooperate", probs=probs)


@pytest.mark.parametrize(
    ("probs", "given", "scores"),
    [
        # 0.3^2 + 0.3^2 where the truth was given 0.7, and 0.7^2 + 0.7^2 where it was given 0.3
        (
            {"cooperate": 0.7, "defect": 0.3},
            {"tit_for_tat": 0.7, "always_defect": 0.3},
            {"tit_for_tat": 0.18, "always_defect": 0.98},
        ),
        (None, *[{"tit_for_tat": None, "always_defect": None}] * 2),  # an answer is no certainty
    ],
)
def test_probability_of_the_truth(probs, given, scores):
    game = named_game("g", {"game": "ipd3", "talk": 0, "rounds": 1}, "x").game
    names = ["always_cooperate", "tit_for_tat", "always_defect"]
    rng = np.random.default_rng(0)
    players = [
        (Scorer if not seat else ScriptedSeat)(Chair(seat, rng), KIND.policies[name]())
        for seat, name in enumerate(names)
    ]
    players[0].probs = probs
    table = Table(game, players, (0, 1, 2), rng, rng, rng)
    [decision] = [d for d in run_now(play_game(table, 0, 0)).decisions if d.slot == 0]
    moves = [p for p in decision.probed if p.probe.name == "move"]
    found = {names[p.probe.about]: p.probability for p in moves}
    assert found == pytest.approx(given)
    assert {names[p.probe.about]: p.brier for p in moves} == pytest.approx(scores)
    assert {names[p.probe.about]: p.hit for p in moves} == {"tit_for_tat": 1, "always_defect": 0}
