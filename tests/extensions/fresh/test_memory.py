"""The memory effect: hand-worked pairs, players of known memory, coverage of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.core.parts import register
from tomeval.extensions.fresh.memory import LITERAL, REGRET, effect, effects, pairs, shown
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.responses import best_responses, stepwise_regret
from tomeval.games.matrix.subjects.simulated import SimulatedSubject, equilibrium

P, Q, MEMORY = 0.8, 0.9, 0.6
GAMES = ("RPS", "stag_hunt")


def draw(probs, u):
    return Decision(int((u >= np.cumsum(probs)[:-1]).sum()), tuple(map(float, probs)))


class Rememberer(SimulatedSubject):
    """Plays its side of the equilibrium in some episodes of games that `by` does not disguise."""

    draws_per_step = None

    def __init__(self, seat, memory=1.0, by="labels"):
        super().__init__(seat, P, Q)
        hidden = seat.game.disguise and by in seat.game.disguise.kinds
        self.remembers = bool(seat.rng.random() < memory) and not hidden
        self.own, self.partner = equilibrium(seat.game)

    def act(self, observation):
        here = self.remembers
        return draw(self.own, self.seat.rng.random()) if here else super().act(observation)

    def predict(self, observation, own_action):
        if self.remembers:
            return draw(self.partner, self.seat.rng.random())
        return super().predict(observation, own_action)


@pytest.fixture(autouse=True)
def _known_memory():
    register("subjects", "rememberer", Rememberer)


def run_of(folder, episodes, memory, by="labels", disguise="all"):
    """Play rememberers in two famous games and twins of them."""
    keys = {
        "games": [{"twins": {"of": list(GAMES), "seed": 1, "disguise": disguise}}],
        "partners": "single_action",
        "subjects": [{"kind": "rememberer", "memory": memory, "by": by}],
        "horizon": 6,
        "episodes": episodes,
    }
    return tomeval.run(keys, folder)


def truth(memory: float) -> dict[str, float]:
    """Return the true effects on regret and ToM %, by summing over all that can happen."""
    regret, right = [], []
    for name in GAMES:
        game = get_game(name)
        lost, best = stepwise_regret(game), best_responses(game)
        own, partner = equilibrium(game)
        for b in range(game.m):
            expects = np.full(game.m, (1 - P) / (game.m - 1))
            expects[b] = P
            rational = (best / best.sum(axis=0)) @ expects
            responds = Q * rational + (1 - Q) / game.n
            regret.append(float((responds - own) @ lost[:, b]) / game.m)
            right.append(100 * float(P - partner[b]) / game.m)
    return {
        REGRET: memory * sum(regret) / len(GAMES),
        LITERAL: memory * sum(right) / len(GAMES),
    }


def blocks(paired, size):
    """Return the pairs of every block of episodes."""
    return [block for _, block in paired.groupby(paired["episode"] // size)]


def made(*twins, exact=False):
    """Return pairs of twins: (game, disguised, differences in regret by episode)."""
    frames = []
    for game, disguised, values in twins:
        frame = pd.DataFrame({"episode": range(len(values)), REGRET: values, LITERAL: np.nan})
        frame[f"{REGRET} famous"], frame[f"{REGRET} twin"] = 0.0, frame[REGRET]
        frame["game"], frame["disguised"], frame["exact"] = game, disguised, exact
        frames.append(frame)
    known = {"subject": "s", "model": "", "strategy": "", "partners": "p", "horizon": 5, "seed": 1}
    return pd.concat(frames, ignore_index=True).assign(**known)


def test_effect_by_hand() -> None:
    """Two games of two and three episodes; the first has two twins, averaged by episode."""
    twins = [("A", "labels", [1.0, 3.0]), ("A", "story", [3.0, 5.0]), ("B", "labels", [0.0, 0, 6])]
    said = effect(made(*twins), REGRET)
    assert said.value == pytest.approx((3.0 + 2.0) / 2)  # games count the same
    # variances of the means: A: 2 / 2 = 1; B: 12 / 3 = 4; of their mean: (1 + 4) / 4
    error, freedom = np.sqrt(5 / 4), 5**2 / (1**2 / 1 + 4**2 / 2)
    assert said.high - said.value == pytest.approx(student.ppf(0.975, freedom) * error)
    assert said.p == pytest.approx(2 * student.sf(2.5 / error, freedom))
    assert said.units == 5
    assert np.isnan(effect(made(*twins, exact=True), REGRET).low)


def test_means_are_over_the_episodes_of_the_difference() -> None:
    """An episode without a prediction has no difference, and moves neither mean."""
    paired = made(("A", "labels", [1.0, np.nan, 3.0]))
    paired[f"{REGRET} famous"] = [1.0, np.nan, 3.0]
    paired[f"{REGRET} twin"] = [2.0, 9.0, 6.0]
    [row] = effects(paired)
    assert (row["famous"], row["twin"]) == (2.0, 4.0)


def test_a_rememberer_has_the_effect_that_it_must_have(tmp_path) -> None:
    with run_of(tmp_path / "run", 120, MEMORY) as run:
        paired = pairs([run])
    for measure, true in truth(MEMORY).items():
        said = effect(paired, measure)
        error = (said.high - said.low) / 4  # about two errors to each side
        assert abs(said.value - true) < 4 * error
        assert abs(said.value) > 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_intervals_cover(tmp_path, memory) -> None:
    """250 samples of 24 episodes per game: 95 % cover, and without memory at most 5 % alarm."""
    with run_of(tmp_path / "run", 6000, memory) as run:
        paired = pairs([run])
    for measure, true in truth(memory).items():
        every = [effect(block, measure) for block in blocks(paired, 24)]
        covered = np.mean([one.low <= true <= one.high for one in every])
        print("memory", memory, measure, "covered", covered)
        assert 0.92 <= covered <= 0.98


def test_rows_and_holm_over_all_rows_of_a_measure(tmp_path) -> None:
    with run_of(tmp_path / "run", 30, MEMORY, disguise=["labels", "order"]) as run:
        rows = shown(effects(pairs([run])), read=False)
    parts = [("all", "any"), ("all", "labels"), ("all", "order"), ("RPS", "any")]
    parts += [("stag_hunt", "any")]
    mine = [row for row in rows if row["measure"] == LITERAL]
    assert [(row["game"], row["disguised"]) for row in mine] == parts
    # a disguise that hides nothing from it changes nothing, and has no p
    p = sorted(row["p"] for row in mine if not np.isnan(row["p"]))
    assert len(p) == 4
    assert np.nanmin([row["p_holm"] for row in mine]) == pytest.approx(4 * p[0])


def test_no_twin_is_one_line(tmp_path) -> None:
    keys = {"games": ["IPD"], "subjects": ["random"], "horizon": 2}
    with (
        tomeval.run(keys, tmp_path / "r") as run,
        pytest.raises(TomevalError, match="no twin was played together with its game"),
    ):
        pairs([run])
