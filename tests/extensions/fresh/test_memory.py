"""The memory effect: hand-worked pairs, players of known memory, coverage of intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.core.parts import register
from tomeval.extensions.fresh.memory import LITERAL, REGRET, effect, effects, pairs
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


def row_of(paired, measure):
    """Return the row of a measure over all pairs."""
    return effect(paired)[measure]


def block(side, number, size):
    """Return some episodes of a cell."""
    part = side.episodes // size == number
    names = ("episodes", "which", "clusters", "values")
    return replace(side, **{name: getattr(side, name)[part] for name in names})


def test_effect_by_hand(tmp_path) -> None:
    """Twins of a game are averaged by episode, games count the same, and errors are Welch's."""
    with run_of(tmp_path / "run", 14, MEMORY, disguise=["labels", "order"]) as run:
        row = row_of(pairs([run]), REGRET)
        lost = {}
        for cell in run.cells:
            disguise = cell.game.disguise
            values = cell.totals(REGRET).values / (disguise.scale[0] if disguise else 1)
            lost.setdefault(disguise.of if disguise else cell.game.name, []).append(values)
    games = [(one + two) / 2 - famous for famous, one, two in lost.values()]
    assert row["effect"] == pytest.approx(np.mean([game.mean() for game in games]))
    parts = [game.var(ddof=1) / 14 / 4 for game in games]
    freedom = sum(parts) ** 2 / sum(part**2 / 13 for part in parts)
    half = student.ppf(0.975, freedom) * np.sqrt(sum(parts))
    assert row["effect_ci95_high"] - row["effect"] == pytest.approx(half)
    assert row["p"] == pytest.approx(
        2 * student.sf(abs(row["effect"]) / np.sqrt(sum(parts)), freedom)
    )
    assert row["episodes"] == 28


def test_a_rememberer_has_the_effect_that_it_must_have(tmp_path) -> None:
    with run_of(tmp_path / "run", 120, MEMORY) as run:
        paired = pairs([run])
    for measure, true in truth(MEMORY).items():
        said = row_of(paired, measure)
        error = said["effect_ci95"] / 2  # about two errors to each side
        assert abs(said["effect"] - true) < 4 * error
        assert abs(said["effect"]) > 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_intervals_cover(tmp_path, memory) -> None:
    """250 samples of 24 episodes per game: 95 % cover, and without memory at most 5 % alarm."""
    with run_of(tmp_path / "run", 6000, memory) as run:
        paired = pairs([run])
    for measure, true in truth(memory).items():
        samples = ([[block(s, n, 24) for s in one] for one in paired] for n in range(250))
        every = [row_of(sample, measure) for sample in samples]
        covered = np.mean([abs(one["effect"] - true) <= one["effect_ci95"] for one in every])
        print("memory", memory, measure, "covered", covered)
        assert 0.92 <= covered <= 0.98


def test_rows_and_holm_over_all_rows_of_a_measure(tmp_path) -> None:
    with run_of(tmp_path / "run", 30, MEMORY, disguise=["labels", "order"]) as run:
        rows = effects(pairs([run]))
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
