"""Adaptation to a change: by hand, against regret, under other payoffs, of known subjects."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from layout import check
from support import episodes_of, random_partner

import tomeval
from tomeval.domains.matrix.games import Labels, MatrixGame, get_game
from tomeval.domains.matrix.measures import episode_metrics
from tomeval.domains.matrix.partner_specs import get_partner
from tomeval.domains.matrix.partners import Partner
from tomeval.extensions.adaptation.around_change import around
from tomeval.extensions.adaptation.measures import adaptation, window_of
from tomeval.extensions.adaptation.partners import switching
from tomeval.plots import Options, draw
from tomeval.plots.style import WIDTHS

RPS, IPD = get_game("RPS"), get_game("IPD")
DETECTOR = {"kind": "detector", "lag": 1, "rate": 0.4, "act_lag": 1, "act_rate": 0.5}


def played(game, partner, own, predicted=None):
    """Return one episode per row of own actions against a partner, or several."""
    partners = [partner] if isinstance(partner, Partner) else list(partner)
    own = np.asarray(own)
    count, length = own.shape
    which = np.arange(count) % len(partners)
    theirs = np.zeros_like(own)
    for row in range(count):
        machine = partners[which[row]]
        state = machine.start
        for t in range(length):
            theirs[row, t] = machine.emissions[state].argmax()
            state = machine.next_state[state, own[row, t], theirs[row, t]]
    return episodes_of(game, own, theirs, predicted, partners=partners, which=which)


def values(cell, name):
    return adaptation(cell).totals[name].values.tolist()


ROCK_PAPER = switching(get_partner("always(0)", RPS), get_partner("always(1)", RPS), 5)
HAND = played(
    RPS,
    ROCK_PAPER,
    #  Rock x 4, then Paper x 8: Paper beats Rock, Scissors beat Paper
    [[0, 1, 1, 1, 1, 1, 1, 2, 1, 2, 2, 2]],
    [[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]],
)


def test_by_hand():
    """A case worked by hand."""
    found = adaptation(HAND)
    assert (found.window.after, found.window.before) == (5, 4)
    assert values(HAND, "detection_steps") == [2]  # predicted from step 7 on, and the change at 5
    # Scissors in step 8 are followed by Paper in step 9: the later split is the turn, at step 10
    assert values(HAND, "adaptation_steps") == [5]
    assert values(HAND, "knowing_lead_steps") == [3]
    assert found.steps.loss[0].tolist() == [1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0]
    assert values(HAND, "regret_before_change_per_step") == [0.25]
    assert values(HAND, "regret_until_adapted_per_step") == [0.8]
    assert values(HAND, "regret_once_adapted_per_step") == [0.0]
    assert values(HAND, "change_cost") == [4 - 5 * 0.25]


def test_the_cost_of_a_change_ends_with_the_window():
    """Paper against Paper loses a point in each of eight steps, of which five are in the window."""
    cell = played(RPS, ROCK_PAPER, [[0] + [1] * 11], [[0] * 12])
    assert adaptation(cell).steps.loss[0].tolist() == [1, 0, 0, 0] + [1] * 8
    assert values(cell, "change_cost") == [5 - 5 * 0.25]


def test_a_step_tells_by_what_the_partner_would_do_after_the_same_past():
    """Against tit for tat that turns into a defector, only a step after a cooperation tells."""
    forgiving = get_partner("tit_for_tat", IPD)
    pair = switching(forgiving, get_partner("always(1)", IPD), 3)
    found = adaptation(played(IPD, pair, [[0, 0, 1, 1, 1, 1]], [[0] * 6]))
    assert found.steps.predicted.tells[0].tolist() == [False, False, True, False, False, False]
    # Rock, then Paper or Scissors by a coin: both are right, and Rock is for neither policy.
    coin = get_partner("mixture(0, 0.5, 0.5)", RPS)
    pair = switching(get_partner("always(0)", RPS), coin, 2)
    for said, right in ((1, True), (2, True), (0, False)):
        found = adaptation(played(RPS, pair, [[0] * 4], [[0] + [said] * 3]))
        assert found.steps.predicted.tells[0].tolist() == [False, True, True, True]
        assert found.steps.predicted.right[0].tolist() == [True] + [right] * 3


def test_a_change_too_late_for_the_window_has_no_cost():
    """Else a window that the episode cuts off would be held against whole ones before it."""
    pair = [get_partner(f"always({k})", RPS) for k in (0, 1)]
    partners = [switching(*pair, step) for step in (4, 11)]
    own = [[1, 1, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2], [0] * 10 + [1, 1]]
    found = adaptation(played(RPS, partners, own))
    assert (found.window.after, found.window.before) == (6, 3)
    cost = found.totals["change_cost"]
    assert cost.bottom.tolist() == [1, 0]
    assert cost.values[0] == 2 - 6 / 3  # steps 4 and 5; a third of a point per step before


def test_losses_add_up_to_regret_against_deterministic_partners():
    rng = np.random.default_rng(2)
    for game in (RPS, IPD):
        for step in (2, 6, 15):
            pair = [random_partner(game, rng, 3, "deterministic") for _ in range(2)]
            cell = played(game, switching(*pair, step), rng.integers(game.n, size=(7, 12)))
            regret = episode_metrics(cell)["delta_functional_per_step"]
            loss = around(cell).loss
            assert (loss >= 0).all()
            np.testing.assert_allclose(loss.mean(axis=1), regret, atol=1e-9)
            found = adaptation(cell)
            parts = [found.totals[f"regret_{name}_per_step"] for name in _PARTS]
            sums = sum(part.top for part in parts if part.bottom is not None)
            there = ~np.isnan(found.acts)
            np.testing.assert_allclose(np.broadcast_to(sums, 7)[there] / 12, regret[there])


_PARTS = ("before_change", "until_adapted", "once_adapted")


def test_other_payoffs_and_other_names_change_nothing_that_they_should_not():
    own = np.random.default_rng(3).integers(3, size=(9, 20))
    said = np.random.default_rng(4).integers(3, size=(9, 20))
    base = played(RPS, _single(RPS), own, said)
    scaled = MatrixGame("scaled", RPS.payoffs * 4 + 1000, {"plain": RPS.label_set()})
    other = played(scaled, _single(scaled), own, said)
    turn = np.array([2, 0, 1])  # each action gets another number
    order = np.argsort(turn)
    payoffs = RPS.payoffs[order][:, order]
    turned = MatrixGame("turned", payoffs, {"plain": Labels("plain", tuple("abc"), tuple("abc"))})
    renamed = played(turned, _single(turned, turn), turn[own], turn[said])
    for name in ("detection_steps", "adaptation_steps", "knowing_lead_steps"):
        assert values(base, name) == values(other, name) == values(renamed, name)
    for name in ("change_cost", *(f"regret_{part}_per_step" for part in _PARTS)):
        np.testing.assert_allclose(4 * np.array(values(base, name)), values(other, name))
        np.testing.assert_allclose(values(base, name), values(renamed, name))


def _single(game, turn=(0, 1, 2)):
    always = [get_partner(f"always({k})", game) for k in turn]
    return [switching(always[0], always[1], 6), switching(always[2], always[0], 9)]


def test_where_both_policies_want_the_same_action_adaptation_is_not_identified():
    partner = switching(get_partner("always(0)", IPD), get_partner("always(1)", IPD), 6)
    cell = played(IPD, partner, np.ones((3, 15), int), [[0] * 8 + [1] * 7] * 3)
    assert values(cell, "detection_steps") == [3, 3, 3]
    assert np.isnan(values(cell, "adaptation_steps")).all()
    assert np.isnan(values(cell, "regret_until_adapted_per_step")).all()
    assert values(cell, "change_cost") == [0, 0, 0]


def test_against_a_partner_that_reacts_right_is_what_is_optimal_for_the_rest():
    """Tit for tat, and defection from step 6 on; cooperating was optimal before, up to step 4.

    In step 5 tit for tat can no longer answer, so defecting is best although it would cost a point
    later against one that goes on. The partner's own move shows the change at once to a
    cooperator, who predicted cooperation. Once the subject defects, tit for tat would defect too:
    steps 6 to 9 tell, and what was said after them must not contradict.
    """
    partner = switching(get_partner("tit_for_tat", IPD), get_partner("always(1)", IPD), 6)
    cell = played(IPD, partner, [[0] * 8 + [1] * 7], [[0] * 7 + [1] * 8])
    found = adaptation(cell)
    assert found.steps.acted.right[0].tolist() == [True] * 4 + [False] * 4 + [True] * 7
    assert np.flatnonzero(found.steps.predicted.tells[0]).tolist() == [5, 6, 7, 8]
    assert values(cell, "detection_steps") == [2]
    assert values(cell, "adaptation_steps") == [3]
    assert found.steps.loss[0].tolist() == [0.0] * 4 + [2.0] + [5.0] * 3 + [0.0] * 7
    blind = played(IPD, partner, [[0] * 8 + [1] * 7], [[0] * 9 + [1] * 6])
    assert adaptation(blind).knows.tolist() == [math.inf]
    assert values(blind, "detection_steps") == [7]


def test_steps_on_which_both_play_alike_tell_nothing():
    """Always 0, then 0, 1, 0, 1, ... from step 5: only every second step can show it."""
    alternator = Partner("0101", np.eye(3)[[0, 1]], np.array([[[1] * 3] * 3, [[0] * 3] * 3]))
    partner = switching(get_partner("always(0)", RPS), alternator, 5)
    theirs = [0] * 4 + [0, 1] * 6
    seen = played(RPS, partner, np.zeros((1, 16), int), [theirs])
    found = adaptation(seen)
    assert found.knows.tolist() == [1]  # right from the first step that tells anything
    # A subject that predicts 0 for ever is right on half of the steps, and has noticed nothing.
    blind = played(RPS, partner, np.zeros((1, 16), int), [[0] * 16])
    assert adaptation(blind).knows.tolist() == [math.inf]
    assert (
        window_of(RPS, (partner,), 16).after == 14 - 1 - 4
    )  # step 14 is the last with two after it


def test_a_change_after_the_end_is_none():
    late = switching(get_partner("always(0)", RPS), get_partner("always(1)", RPS), 40)
    cell = played(
        RPS,
        [ROCK_PAPER, late],
        np.zeros((2, 12), int),
        [[0] * 12, [0] * 6 + [1] * 6],
    )
    found = adaptation(cell)
    assert found.steps.switched.tolist() == [True, False]
    assert np.isnan(values(cell, "detection_steps")).tolist() == [False, True]


def test_a_change_too_late_to_be_noticed_has_no_number():
    partner = switching(get_partner("always(0)", RPS), get_partner("always(1)", RPS), 10)
    cell = played(RPS, partner, np.zeros((2, 12), int), np.zeros((2, 12), int))
    assert math.isnan(window_of(RPS, (partner,), 12).after)
    assert np.isnan(values(cell, "detection_steps")).all()


def test_without_predictions_there_is_adaptation_only():
    cell = played(RPS, ROCK_PAPER, [[1] * 4 + [1] * 3 + [2] * 5])
    assert np.isnan(values(cell, "detection_steps")).all()
    assert values(cell, "adaptation_steps") == [3]


def test_a_partner_that_draws_its_moves_is_predicted_by_its_most_probable_one():
    pair = [get_partner(text, RPS) for text in ("mixture(0.8, 0.2, 0)", "mixture(0, 0.3, 0.7)")]
    partner = switching(*pair, 4)
    said = np.array([[0] * 5 + [2] * 5])
    cell = played(RPS, partner, np.zeros((1, 10), int), said)
    assert adaptation(cell).knows.tolist() == [2]
    assert (
        adaptation(cell).steps.predicted.right[0].tolist() == [True] * 3 + [False] * 2 + [True] * 5
    )


def limited(total, most):
    """Return the mean of a lag that counts at most `most`, given its probabilities by length."""
    return sum(p * min(k, most) for k, p in enumerate(total)) + most * (1 - sum(total))


def test_a_detector_is_recovered(tmp_path):
    """Known lags, in closed form, within the intervals of one run with a fixed seed."""
    experiment = {
        "games": "RPS",
        "partners": {"switch": "single_action", "at": {"from": 6, "to": 10}},
        "subjects": [
            DETECTOR,
            {"kind": "detector", "name": "late", "lag": 3, "act_lag": 2},
            "rmax",
        ],
        "horizon": 24,
        "episodes": 150,
        "seed": 2,
    }
    known = np.zeros(60)  # chance of each number of steps to detection, and to adaptation
    known[1:] = 0.4 * 0.6 ** np.arange(59)
    further = np.zeros(60)
    further[1:] = 0.5 * 0.5 ** np.arange(59)
    both = np.convolve(known, further)[:60]
    with tomeval.run(experiment, tmp_path / "run") as run:
        first, second, _ = run.rows()
        assert adaptation(run.cells[0].played).window.after == 24 - 2 - 10
        truth = {"detection_steps": limited(known, 12), "adaptation_steps": limited(both, 12)}
        truth["knowing_lead_steps"] = truth["adaptation_steps"] - truth["detection_steps"]
        # The six pairs cost 1 or 2 a step, half of them each.
        truth["change_cost"] = 1.5 * truth["adaptation_steps"]
        for name, value in truth.items():
            assert abs(first[name] - value) <= first[f"{name}_ci95"], name
        assert (second["detection_steps"], second["adaptation_steps"]) == (3, 5)
        assert second["regret_before_change_per_step"] == 0
        rows = run.tables["adaptation"].rows(run, ())
        assert [row["switched"] for row in rows] == [150] * 3
        assert rows[0]["detection_steps"] == pytest.approx(first["detection_steps"])
        assert rows[1]["undetected_percent"] == 0
        drawing = draw(run, ["adaptation"])[0]
        assert "late: detection after 3.00" in drawing.description
        assert len(drawing.figure.axes) == 6
        for axes in drawing.figure.axes:  # steps are whole
            assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_nothing_overlaps_in_the_figure(tmp_path):
    experiment = {
        "games": "RPS",
        "partners": {"switch": "single_action", "at": [4, 5]},
        "subjects": [
            "rmax",
            *(
                {"kind": "detector", "name": f"Oracle + Max -Payoffs {k}, a longer name", "lag": k}
                for k in range(7)
            ),
        ],
        "horizon": 12,
        "episodes": 4,
    }
    with tomeval.run(experiment, tmp_path / "run") as run:
        drawings = draw(run, ["adaptation"], Options("single"))
        assert [drawing.stem for drawing in drawings] == ["adaptation_1", "adaptation_2"]
        for drawing in drawings:
            assert drawing.figure.get_figwidth() == pytest.approx(WIDTHS["single"])
            assert drawing.figure.get_figheight() < 9.6
            check(drawing.figure)


def test_a_shipped_partner_that_switches_is_one_that_changes(tmp_path):
    switcher = {"games": "RPS", "subjects": "random", "episodes": 3, "horizon": 9}
    switcher["partners"] = "switcher(0, 1, k=3)"
    with tomeval.run(switcher, tmp_path / "switcher") as run:
        assert "detection_steps" in run.measures
        [told] = json.loads(json.dumps(run.cells[0].definition["partners"]["tables"]))
        assert "change" not in told  # its table shows it: earlier runs are resumed as they are


def test_a_detector_against_a_partner_without_change_plays_its_best(tmp_path):
    experiment = {"games": "IPD", "partners": "tit_for_tat", "subjects": "detector"}
    with tomeval.run({**experiment, "episodes": 2, "horizon": 6}, tmp_path / "run") as run:
        [row] = run.rows()
        assert row["delta_functional_per_step"] == 0
        assert row["tom_percent"] == 100


def test_a_cell_of_void_episodes_alone_has_no_adaptation(tmp_path) -> None:
    refuse = tmp_path / "refuse.json"
    refuse.write_text(json.dumps(["I will not say."] * 50))
    experiment = tomeval.make_experiment(
        {
            "games": "RPS",
            "partners": {"switch": "single_action", "at": 4},
            "subjects": [{"strategy": "QA", "model": f"scripted:{refuse}", "max_attempts": 1}],
            "horizon": 8,
            "episodes": 2,
        }
    )
    with tomeval.run(experiment, tmp_path / "run") as run:
        (row,) = run.rows()
        assert all(cell.played.own.shape[0] == 0 for cell in run.cells)
        assert math.isnan(row["adaptation_steps"])
