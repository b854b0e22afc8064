"""Scripted models that follow a known rule, through the whole pipeline: the numbers are known.

The expectations are derived by hand from the payoffs, not by the library.
"""

import math
import re

import numpy as np
import pytest
from asking import query
from known import Known, episode_of, question
from support import setup_of

from tomeval.core.streams import Stream
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.subjects.simulated import expected
from tomeval.models.scripted import SCRIPTS
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.strategies import NAMED

NAMES = [strategy.name for strategy in NAMED]
T, EPISODES, SEED = 9, 4, 3
RULED = {"decide": "argmax"}  # scored labels follow the rule too
# Payoffs of the subject by (own, partner), as the source paper prints them.
OWN = {
    "RPS": [[0, -1, 1], [1, 0, -1], [-1, 1, 0]],
    "IBS": [[10, 0], [0, 7]],
    "IPD": [[8, 0], [10, 5]],
}
# The best reward per step against one action; with tit for tat below.
BEST = {"RPS": [1, 1, 1], "IBS": [10, 7], "IPD": [10, 5]}
# What tit for tat answers to an own action: in RPS the action that beats it.
ANSWER = {"RPS": [1, 2, 0], "IBS": [0, 1], "IPD": [0, 1]}


def best_total(game, partner, horizon):
    """Return the reward of the optimal T-step response."""
    if partner != "tit_for_tat":
        return BEST[game][int(partner[-2])] * horizon
    if game == "IPD":  # cooperate, and defect in the last round
        return 8 * (horizon - 1) + 10
    return BEST[game][0] * horizon  # RPS: always one ahead; IBS: stay with what pays 10


def run(tmp_path, script, game, partners, strategies, **options):
    """Run an experiment with a script and return its Run."""
    SCRIPTS["rule"] = script
    data = {
        "games": [game],
        "partners": [partners],
        "subjects": [{"strategy": strategies, **options.pop("subject", {})}],
        "model": "scripted:rule",
        "labels": options.pop("labels", "neutral"),
        "horizon": T,
        "episodes": EPISODES,
        "seed": SEED,
        **options,
    }
    run_experiment(make_experiment(data), tmp_path / "run")
    return Run(tmp_path / "run")


def moves_of(game, partner, own):
    """Return what a partner plays against a list of own actions."""
    if partner != "tit_for_tat":
        return [int(partner[-2])] * len(own)
    return [0] + [ANSWER[game][a] for a in own[:-1]]


def cost_of_belief(game, said, actual):
    """Return ΔToM's cost of one step, under both rules, by hand."""
    if said == actual:
        return 0, 0
    if game == "RPS":  # the best response to what is said loses or ties: 1 or 2 of regret
        # By the rule of the reports too: it is not best against what is played.
        cost = 1 - OWN[game][(said + 1) % 3][actual]
        return cost, cost
    if game == "IBS":
        return (10, 10) if actual == 0 else (7, 7)
    return 0, (2 if actual == 0 else 5)  # IPD: defecting is always best


@pytest.mark.parametrize("partners", ["single_action", "tit_for_tat"])
@pytest.mark.parametrize("game", ["RPS", "IBS", "IPD"])
def test_every_named_strategy_measures_a_known_rule(tmp_path, game, partners):
    """Cycles through its actions; predicts rightly but in every third step."""
    found = get_game(game)
    n = found.n
    own = [t % n for t in range(T)]
    order = []  # the partner of each episode, as the run draws them

    def truth(step):
        partner = order[episode_of(script.requests[-1])] if order else partners
        return moves_of(game, partner, own)[step - 1]

    script = Known(
        found,
        found.label_set("neutral"),
        act=lambda step, text: own[step - 1],
        predict=lambda step, text: (truth(step) + (step % 3 == 0)) % n,
    )
    sets = get_partner_set(partners, found)
    if partners == "single_action":
        draws = Stream.of(SEED, "partner choice", game, partners).block(0, EPISODES, 1)[:, 0]
        order += [f"always({int(u * n)})" for u in draws]
        assert {name.name for name in sets.partners} == {f"always({k})" for k in range(n)}
    with run(tmp_path, script, game, partners, NAMES, subject=RULED) as opened:
        rows = opened.rows()
        assert [row["strategy"] for row in rows] == NAMES
        for cell in opened.cells:
            metrics = cell.metrics()
            assert [cell.partners[k].name for k in cell.which] == (order or [partners] * EPISODES)
            for episode, partner in enumerate(order or [partners] * EPISODES):
                theirs = moves_of(game, partner, own)
                said = [(b + ((t + 1) % 3 == 0)) % n for t, b in enumerate(theirs)]
                reward = sum(OWN[game][a][b] for a, b in zip(own, theirs, strict=True))
                costs = [cost_of_belief(game, s, b) for s, b in zip(said, theirs, strict=True)]
                known = {
                    "tom_percent": 100 * (T - T // 3) / T,
                    "delta_functional_per_step": (best_total(game, partner, T) - reward) / T,
                    "delta_tom_best_response_per_step": sum(c[0] for c in costs) / T,
                    "delta_tom_misprediction_per_step": sum(c[1] for c in costs) / T,
                }
                for name, value in known.items():
                    assert metrics[name][episode] == pytest.approx(value, abs=1e-12), name
        assert all(row["invalid_rate"] == 0 for row in rows)
        told = query(opened, "SELECT cell, MIN(told), MAX(told) FROM steps GROUP BY cell")
        oracles = [int(name.startswith("Oracle")) for name in NAMES]
        assert told == [(k, oracle, oracle) for k, oracle in enumerate(oracles)]


ORACLES = [name for name in NAMES if name.startswith("Oracle")]


@pytest.mark.parametrize("game", ["RPS", "IBS", "IPD"])
def test_heeding_the_oracle_leaves_no_regret(tmp_path, game):
    found = get_game(game)
    labels = found.label_set("neutral")

    def best(step, text):
        told = re.search(r"You know for certain that the other player will choose (\w+) in", text)[
            1
        ]
        theirs = labels.partner.index(told)
        return max(range(found.n), key=lambda a: OWN[game][a][theirs])

    heeds = Known(found, labels, act=best, predict=lambda step, text: 0)
    with run(tmp_path / "a", heeds, game, "single_action", ORACLES, episodes=6) as opened:
        for row in opened.rows():
            assert row["delta_functional_per_step"] == 0
            assert row["delta_functional_per_step_ci95_low"] == 0
            assert row["tom_percent"] < 100  # the literal probe was not told
    ignores = Known(found, labels, act=lambda step, text: 0, predict=lambda step, text: 0)
    with run(tmp_path / "b", ignores, game, "single_action", ORACLES, episodes=6) as opened:
        assert all(row["delta_functional_per_step"] > 0.1 for row in opened.rows())


@pytest.mark.parametrize("partners", ["single_action", "tit_for_tat"])
@pytest.mark.parametrize("game", ["RPS", "IBS", "IPD"])
def test_the_dissociation(tmp_path, game, partners):
    """Predicts all, acts at random: written with fresh draws, and sampled from scored labels."""
    found = get_game(game)
    labels = found.label_set("neutral")
    last = re.compile(r"^Round \d+: you chose (\w+), the other player chose (\w+)[;.]", re.M)
    episodes, sets = 30, get_partner_set(partners, found)

    def truth(request, step, text):
        seen = last.findall(text)
        if partners == "tit_for_tat":
            return ANSWER[game][labels.own.index(seen[-1][0])] if seen else 0
        episode = episode_of(request)
        return int(which[episode])

    def script(request):
        purpose, step, _ = question(request)
        text = request.prompt.messages[0].content
        scored = hasattr(request, "labels")
        if purpose == "act":
            if scored:
                return [math.log(1 / found.n)] * found.n
            action = np.random.default_rng(request.seed).integers(found.n)
            return f"Final answer: {labels.own[action]}"
        said = truth(request, step, text)
        if scored:
            return [0.0 if b == said else -math.inf for b in range(found.m)]
        return f"Final answer: {labels.partner[said]}"

    which = setup_of("random", {}, found, partners, T, SEED).draw_partners(0, episodes)
    with run(tmp_path, script, game, partners, ["QA", "LM"], episodes=episodes) as opened:
        for row in opened.rows("normal"):
            assert row["tom_percent"] == 100
            assert row["delta_tom_best_response_per_step"] == 0
            assert row["delta_tom_misprediction_per_step"] == 0
            # The closed form, over the partners that were drawn.
            known = np.mean(
                [
                    expected(found, PartnerSet("one", (sets.partners[k],)), p=1, q=0, horizon=T)[
                        "delta_functional_per_step"
                    ]
                    for k in which
                ]
            )
            error = row["delta_functional_per_step_ci95"] / 1.96
            assert abs(row["delta_functional_per_step"] - known) < 4 * error


def planned_run(tmp_path, script, game, partners, name="QA", **options):
    options["subject"] = {**RULED, **options.get("subject", {}), "conditional": True}
    with run(tmp_path, script, game, partners, [name], **options) as opened:
        row = opened.rows()[0]
        reactions = query(opened, "SELECT step, reactions FROM steps WHERE episode = 0")
    return row, reactions


@pytest.mark.parametrize("name", ["QA", "LM", "CoT", "Social LM", "S2A", "Oracle + Max -History"])
@pytest.mark.parametrize("game", ["RPS", "IBS", "IPD"])
def test_right_reactions_cost_nothing(tmp_path, game, name):
    found = get_game(game)
    own = [t % found.n for t in range(T)]
    script = Known(
        found,
        found.label_set("neutral"),
        act=lambda step, text: own[step - 1],
        predict=lambda step, text: moves_of(game, "tit_for_tat", own)[step - 1],
        react=lambda step, a, text: ANSWER[game][a],
    )
    row, reactions = planned_run(tmp_path, script, game, "tit_for_tat", name)
    assert row["delta_tom_planned_per_step"] == pytest.approx(0, abs=1e-12)
    assert row["delta_functional_per_step"] > 0.1
    stated = "[" + ", ".join(str(b) for b in ANSWER[game]) + "]"
    assert reactions == [(t, stated) for t in range(1, T)] + [(T, None)]
