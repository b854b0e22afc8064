"""Knows, uses, plays: recomputed step by step, by hand, and where they must not move."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import episodes_of

import tomeval
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.results import matrix_cells
from tomeval.games.matrix.scores import chance_regret, scores
from tomeval.runs.measures import SCORE_PARTS, SCORES

NAMES = (*SCORES, *SCORE_PARTS)
COLUMNS = ("cell", "episode", "step", "partner", "partner_state", "own_reward")
COLUMNS += ("own_action", "partner_action", "predicted_action")


def simulated(p: float, q: float) -> dict[str, Any]:
    return {"kind": "simulated", "name": f"p {p} q {q}", "p": p, "q": q}


def run_of(folder, **keys):
    return tomeval.run({"horizon": 12, "episodes": 8, "seed": 3} | keys, folder)


def values(game, partner, horizon: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """V* and V of random play, (T + 1, S), and Q*, (T, S, n, m), by plain backward induction."""
    states, n, m = len(partner.emissions), game.n, game.m
    best, chance = np.zeros((2, horizon + 1, states))
    worth = np.zeros((horizon, states, n, m))
    for t in range(horizon - 1, -1, -1):
        for s in range(states):
            earned = np.zeros((n, m))
            for a in range(n):
                for b in range(m):
                    after = int(partner.next_state[s, a, b])
                    worth[t, s, a, b] = game.own[a, b] + best[t + 1, after]
                    earned[a, b] = game.own[a, b] + chance[t + 1, after]
            best[t, s] = (worth[t, s] @ partner.emissions[s]).max()
            chance[t, s] = (earned @ partner.emissions[s]).mean()
    return best, chance, worth


def recomputed(steps, game, partners: dict[str, Any], horizon: int) -> dict[str, float]:
    """The scores of one cell from its steps, one by one."""
    tables = {name: values(game, partner, horizon) for name, partner in partners.items()}
    top: dict[str, float] = defaultdict(float)
    bottom: dict[str, float] = defaultdict(float)
    shows: dict[str, list[bool]] = {"replies": [], "plans": []}
    for _, episode in steps.groupby("episode"):
        name = episode["partner"].iloc[0]
        best, chance, worth = tables[name]
        partner = partners[name]
        for row in episode.to_dict("records"):
            t, s = int(row["step"]) - 1, int(row["partner_state"])
            a, b, p = (int(row[k]) for k in ("own_action", "partner_action", "predicted_action"))
            top["knows"] += (p == b) - 1 / game.m
            bottom["knows"] += partner.emissions[s].max() - 1 / game.m
            for kind, column in (("replies", game.own[:, p]), ("plans", worth[t, s, :, p])):
                top[kind] += column[a] - column.mean()
                bottom[kind] += column.max() - column.mean()
            for kind, table in (("replies", game.own), ("plans", worth[t, s])):
                best_in_all = (table >= table.max(axis=0) - 1e-9).all(axis=1)
                shows[kind].append(not best_in_all.any())
        value = best[0, partner.start]
        top["plays"] += float(episode["own_reward"].sum()) - chance[0, partner.start]
        bottom["plays"] += value - chance[0, partner.start]
    found = {name: 100 * top[name] / bottom[name] for name in top}
    seen = [found[kind] for kind, of in shows.items() if np.mean(of) >= 0.1]
    return found | {"uses": max(seen, default=np.nan)}


def test_scores_are_those_of_a_step_by_step_program(tmp_path) -> None:
    uneven = np.array([[7.0, -2.0, 1.0], [0.0, 3.0, 0.5], [-4.0, 2.0, 6.0]])
    rps = get_game("RPS")
    skewed = replace(rps, name="skewed", payoffs=np.stack([uneven, -uneven], axis=-1))
    keys = {
        "games": ["RPS", "IBS", "IPD", "stag_hunt", "chicken", skewed],
        "partners": ["single_action", "tit_for_tat", "noisy_tit_for_tat"],
        "subjects": ["rmax", "random", "fictitious_play", simulated(0.7, 0.6)],
    }
    with run_of(tmp_path, **keys) as run:
        steps = run.steps()[list(COLUMNS)]
        for cell in matrix_cells(run):
            mine = steps[steps["cell"] == cell.number]
            tables = {one.name: one for one in cell.partners}
            wanted = recomputed(mine, cell.game, tables, 12)
            found = cell.estimate(NAMES).mean
            for name, value in zip(NAMES, found, strict=True):
                short = name.removesuffix("_percent")
                assert value == pytest.approx(wanted[short], abs=1e-8, nan_ok=True), cell.name


def test_the_mean_over_episodes_is_the_ratio_of_sums(tmp_path) -> None:
    """Against a partner that draws in some states alone episodes have unequal bottoms."""
    with run_of(
        tmp_path, games="IBS", partners="noisy_tit_for_tat", subjects=[simulated(0.6, 0.5)]
    ) as run:
        (cell,) = matrix_cells(run)
        terms = scores(cell.played).replies
        assert np.ptp(terms.bottom) > 0
        part = cell.totals("replies_percent").parts
        assert part.mean() == pytest.approx(100 * terms.top.sum() / terms.bottom.sum())
        # The spread of these parts is that of the ratio estimator (Cochran 1977, section 6.4).
        rest = terms.top - terms.score * terms.bottom
        error = rest.std(ddof=1) / np.sqrt(len(rest)) / terms.bottom.mean()
        assert part.std(ddof=1) / np.sqrt(len(part)) == pytest.approx(100 * error)


def test_by_hand_against_a_mixture() -> None:
    """Rock half of the time: knows 1/6 a step at best; Paper earns (0.5 - 0.25) against 0."""
    game = get_game("RPS")
    partner = get_partner("mixture(0.5, 0.25, 0.25)", game)
    own, theirs, said = np.array([1, 1, 0, 2]), np.array([0, 2, 0, 1]), np.array([0, 0, 0, 1])
    played = episodes_of(game, own, theirs, said, partners=[partner])
    knows, replies, plans, uses, plays = (terms.score for terms in scores(played)[:5])
    assert knows == pytest.approx((3 - 4 / 3) / (4 / 6))  # three right
    assert replies == plans == uses == pytest.approx(3 / 4)  # lost 0, 0, 1, 0; chance 1 a step
    # rewards 1, -1, 0, 1; the optimum earns 0.25 a step, random play 0
    assert plays == pytest.approx(1.0 / 1.0)
    assert chance_regret(game, partner, 4) == pytest.approx(1.0)


def test_plans_look_ahead_and_replies_do_not() -> None:
    """Cooperating with tit for tat forgoes the step's best reply and keeps the plan."""
    game, horizon = get_game("IPD"), 10
    partner = get_partner("tit_for_tat", game)
    theirs = [0] * horizon
    found = scores(episodes_of(game, [0] * 9 + [1], theirs, theirs, partners=[partner]))
    assert found.plans.score == pytest.approx(1.0)
    assert found.replies.score == pytest.approx(-0.8)  # nine steps at the worst, one at the best
    assert found.uses is None  # defecting is best for the step, whatever is predicted
    assert found.plays.score == pytest.approx(1.0)
    best, chance, _ = values(game, partner, horizon)
    regret = best[0, partner.start] - chance[0, partner.start]
    assert chance_regret(game, partner, horizon) == pytest.approx(regret)
    assert best_response(game, partner, horizon).value == best[0, partner.start]


def test_steps_without_a_prediction_are_left_out_of_knows_and_uses() -> None:
    game = get_game("RPS")
    partner = get_partner("always(0)", game)
    own, said = [1, 2, 2, 0], [0, -1, -1, 0]
    played = episodes_of(game, own, [0] * 4, said, partners=[partner], lengths=(2, 2))
    found = scores(played)
    assert found.knows.score == 1.0
    assert found.replies.score == pytest.approx(0.5)  # Paper, then Rock
    assert found.plays.score == pytest.approx((1 - 1 - 1 + 0) / 4)
    nobody = scores(replace(played, predicted=np.full(4, -1)))
    assert nobody.uses is None
    assert np.isnan(nobody.knows.score)
    silent = scores(replace(played, predicted=None))
    assert np.isnan(silent.knows.score)
    assert silent.plays.score == found.plays.score


def test_nothing_to_know_nothing_at_stake_and_unknown_partners() -> None:
    game = get_game("RPS")
    moves = np.array([0, 1, 2, 1])

    def of(which, partners) -> Any:
        return scores(episodes_of(which, moves, moves, moves, partners=partners))

    uniform = of(game, [get_partner("uniform_random", game)])
    assert np.isnan(uniform.knows.score)
    assert np.isnan(uniform.plays.score)
    assert uniform.uses is not None
    unknown = of(game, [])
    assert np.isnan([unknown.knows.score, unknown.plans.score, unknown.plays.score]).all()
    assert unknown.uses is not None  # replies need no partner
    alike = replace(game, payoffs=np.ones_like(game.payoffs))
    flat = of(alike, [get_partner("always(0)", alike)])
    assert flat.uses is None
    assert np.isnan(flat.plays.score)
    nothing = (np.zeros(0, dtype=int) for _ in range(5))
    empty = Played(game, [get_partner("always(0)", game)], *nothing, np.zeros(0))
    assert np.isnan(scores(empty).plays.score)
    assert scores(empty).plays.totals.parts.shape == (0,)
