"""Adaptation to a change: by hand, against regret, under other payoffs, of known subjects."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from support import episodes_of, play_against

import tomeval
from tomeval.core.outcomes import Decision
from tomeval.extensions.adaptation import MEASURES, around, lags, last_split
from tomeval.extensions.adaptation.partners import switching
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.subjects import SUBJECTS, Subject

RPS, IPD = get_game("RPS"), get_game("IPD")


def played(game, partner, own, predicted=None):
    """Return one episode per row of own actions against a partner, or several."""
    partners = [partner] if isinstance(partner, Partner) else list(partner)
    which = np.arange(len(own)) % len(partners)
    theirs = [play_against(partners[k], moves) for k, moves in zip(which, own, strict=True)]
    theirs = np.reshape(theirs, np.shape(own)).astype(int)
    return episodes_of(game, own, theirs, predicted, partners=partners, which=which)


def values(cell, name):
    of = next(measure.of for measure in MEASURES if measure.name == name)
    return of(cell, "").values.tolist()


def turns(cell, side):
    laid = around(cell)
    return lags(laid.change, getattr(laid, side)).tolist()


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
    assert around(HAND).most == 5
    assert values(HAND, "detection_steps") == [2]  # predicted from step 7 on, and the change at 5
    # Scissors in step 8 are followed by Paper in step 9: the later split is the turn, at step 10
    assert values(HAND, "adaptation_steps") == [5]
    assert values(HAND, "knowing_lead_steps") == [3]


def test_a_step_tells_by_what_the_partner_would_do_after_the_same_past():
    """Against tit for tat that turns into a defector, only a step after a cooperation tells."""
    forgiving = get_partner("tit_for_tat", IPD)
    pair = switching(forgiving, get_partner("always(1)", IPD), 3)
    laid = around(played(IPD, pair, [[0, 0, 1, 1, 1, 1]], [[0] * 6]))
    assert laid.predicted.tells[0].tolist() == [False, False, True, False, False, False]
    # Rock, then Paper or Scissors by a coin: both are right, and Rock is for neither policy.
    coin = get_partner("mixture(0, 0.5, 0.5)", RPS)
    pair = switching(get_partner("always(0)", RPS), coin, 2)
    for said, right in ((1, True), (2, True), (0, False)):
        laid = around(played(RPS, pair, [[0] * 4], [[0] + [said] * 3]))
        assert laid.predicted.tells[0].tolist() == [False, True, True, True]
        assert laid.predicted.right[0].tolist() == [True] + [right] * 3


def test_against_a_partner_that_reacts_right_is_what_is_optimal_for_the_rest():
    """Tit for tat, and defection from step 6 on; cooperating was optimal before, up to step 4.

    In step 5 tit for tat can no longer answer, so defecting is best although it would cost a point
    later against one that goes on. The partner's own move shows the change at once to a
    cooperator, who predicted cooperation. Once the subject defects, tit for tat would defect too:
    steps 6 to 9 tell, and what was said after them must not contradict.
    """
    partner = switching(get_partner("tit_for_tat", IPD), get_partner("always(1)", IPD), 6)
    cell = played(IPD, partner, [[0] * 8 + [1] * 7], [[0] * 7 + [1] * 8])
    laid = around(cell)
    assert laid.acted.right[0].tolist() == [True] * 4 + [False] * 4 + [True] * 7
    assert np.flatnonzero(laid.predicted.tells[0]).tolist() == [5, 6, 7, 8]
    assert values(cell, "detection_steps") == [2]
    assert values(cell, "adaptation_steps") == [3]
    blind = played(IPD, partner, [[0] * 8 + [1] * 7], [[0] * 9 + [1] * 6])
    assert turns(blind, "predicted") == [math.inf]
    assert values(blind, "detection_steps") == [7]


def test_a_game_that_goes_on_has_no_last_step_to_know_of():
    """In the last step defection is best against both policies, unless it might not be the last."""
    partner = switching(get_partner("tit_for_tat", IPD), get_partner("always(1)", IPD), 6)
    cell = played(IPD, partner, [[0] * 9])
    assert np.flatnonzero(around(cell).acted.tells[0]).tolist() == [5, 6, 7]
    going = replace(cell, continuation=0.9)
    assert np.flatnonzero(around(going).acted.tells[0]).tolist() == [5, 6, 7, 8]


def test_steps_on_which_both_play_alike_tell_nothing():
    """Always 0, then 0, 1, 0, 1, ... from step 5: only every second step can show it."""
    alternator = Partner("0101", np.eye(3)[[0, 1]], np.array([[[1] * 3] * 3, [[0] * 3] * 3]))
    partner = switching(get_partner("always(0)", RPS), alternator, 5)
    theirs = [0] * 4 + [0, 1] * 6
    seen = played(RPS, partner, np.zeros((1, 16), int), [theirs])
    assert turns(seen, "predicted") == [1]  # right from the first step that tells anything
    # A subject that predicts 0 for ever is right on half of the steps, and has noticed nothing.
    blind = played(RPS, partner, np.zeros((1, 16), int), [[0] * 16])
    assert turns(blind, "predicted") == [math.inf]


@pytest.mark.parametrize(("step", "changed"), [(10, True), (40, False)])
def test_a_change_too_late_to_be_noticed_has_no_number(step, changed):
    partner = switching(get_partner("always(0)", RPS), get_partner("always(1)", RPS), step)
    cell = played(RPS, partner, [[0] * 12] * 2, [[0] * 6 + [1] * 6] * 2)
    assert (around(cell).change > 0).tolist() == [changed] * 2
    assert np.isnan(values(cell, "detection_steps")).all()


def test_a_partner_that_draws_its_moves_is_predicted_by_its_most_probable_one():
    pair = [get_partner(text, RPS) for text in ("mixture(0.8, 0.2, 0)", "mixture(0, 0.3, 0.7)")]
    partner = switching(*pair, 4)
    said = np.array([[0] * 5 + [2] * 5])
    cell = played(RPS, partner, np.zeros((1, 10), int), said)
    assert turns(cell, "predicted") == [2]
    assert around(cell).predicted.right[0].tolist() == [True] * 3 + [False] * 2 + [True] * 5


class Detector(Subject):
    """Predicts and plays the first of two single actions until a random lag after the change."""

    needs_table = True

    def __init__(self, seat):
        super().__init__(seat)
        knows, does = (seat.rng.geometric(p) for p in (0.4, 0.5))
        self.knows_after, self.acts_after = knows, knows + does

    def _believed(self, observation, lag):
        change = self.seat.door.partner()[0].change
        machine = change.second if observation.round - change.step >= lag else change.first
        return int(machine.emissions[0].argmax())

    def act(self, observation):
        return Decision((self._believed(observation, self.acts_after) + 1) % 3)

    def predict(self, observation, own_action):
        return Decision(self._believed(observation, self.knows_after))


def limited(total, most):
    """Return the mean of a lag that counts at most `most`, given its probabilities by length."""
    return sum(p * min(k, most) for k, p in enumerate(total)) + most * (1 - sum(total))


def test_known_lags_are_recovered(tmp_path, monkeypatch):
    """Known lags, in closed form, within the intervals of one run with a fixed seed."""
    monkeypatch.setitem(SUBJECTS, "detector", Detector)
    experiment = {
        "games": "RPS",
        "partners": {"switch": "single_action", "at": {"from": 6, "to": 10}},
        "subjects": ["detector", "rmax"],
        "horizon": 24,
        "episodes": 150,
        "seed": 2,
    }
    known, further = np.zeros((2, 60))  # chance of each number of steps to detection, and on
    known[1:] = 0.4 * 0.6 ** np.arange(59)
    further[1:] = 0.5 * 0.5 ** np.arange(59)
    with tomeval.run(experiment, tmp_path / "run") as run:
        first, _ = run.rows()
        assert around(run.cells[0].played).most == 24 - 2 - 10
        both = np.convolve(known, further)[:60]
        truth = {"detection_steps": limited(known, 12), "adaptation_steps": limited(both, 12)}
        truth["knowing_lead_steps"] = truth["adaptation_steps"] - truth["detection_steps"]
        for name, value in truth.items():
            assert abs(first[name] - value) <= first[f"{name}_ci95"], name
        rows = run.tables["adaptation"].rows(run, ())
        assert [row["switched"] for row in rows] == [150] * 2
        assert rows[0]["detection_steps"] == pytest.approx(first["detection_steps"])


def by_trying(row, margin):
    """Return the last split with fewest exceptions, or infinity; also if it has no margin."""
    size = len(row)
    exceptions = [sum(row[:k]) + (size - k) - sum(row[k:]) for k in range(size + 1)]
    least = min(exceptions)
    if exceptions[size] == least:  # never right is as good: no turn of any margin above 0
        return math.inf
    last = max(k for k in range(size) if exceptions[k] == least)
    right = sum(row[last:])
    return last if right - (size - last - right) >= margin else math.inf


@pytest.mark.parametrize("margin", [1, 2, 3])
def test_every_row_of_up_to_nine_answers(margin):
    for size in range(10):
        rows = list(itertools.product([0, 1], repeat=size))
        asked = np.ones((len(rows), size))
        found = last_split(np.array(rows).reshape(len(rows), size), asked, asked, margin)
        assert found.tolist() == [by_trying(row, margin) for row in rows]


def test_answers_that_do_not_tell_move_no_turn_but_must_agree_with_it():
    right = np.array([[1, 0, 1, 0, 1, 0, 1, 1]] * 3)
    tells = np.array([[0, 1, 0, 1, 1, 0, 1, 1]] * 2 + [[0, 1, 0, 1, 0, 0, 0, 1]])
    asked = np.array([[1] * 8, [1] * 6 + [0, 0], [1] * 8])
    tells = tells * asked
    # 0 0 1 1 1 tell: the turn is at place 4, with three right ones and a wrong one from there on;
    # without the last two it has no margin; of 0 0 1 the turn is at 7, with one answer
    found = last_split(right, tells, asked, margin=2)
    assert found.tolist() == [4.0, math.inf, math.inf]
    assert last_split(right, tells, asked, margin=1).tolist() == [4.0, math.inf, 7.0]
