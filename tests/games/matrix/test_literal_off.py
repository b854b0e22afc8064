"""``literal = false``: the probe is left out, and everything functional stays exactly as it was."""

import math

import numpy as np
import pytest
from known import PAIRS, Known, make_setup, play, question
from support import edit, scripts, with_step

from tomeval.comparing import compare
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import NOT_ASKED
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.measures import SCORE_PARTS, SCORES
from tomeval.runs.results import Run

RPS = get_game("RPS")
LITERAL = {
    *SCORES[:2],
    *SCORE_PARTS,
    "tom_percent",
    "delta_tom_best_response_per_step",
    "delta_tom_misprediction_per_step",
    "response_gap_per_step",
    "self_consistency_percent",
}


def chance(request):
    """Answer every question by its seed alone; scored labels by the length of their prompt."""
    purpose = question(request)[0]
    if not hasattr(request, "seed"):
        draw = np.random.default_rng(len(request.prompt.messages[0].content)).random(3)
        return np.log(draw / draw.sum()).tolist()
    rng = np.random.default_rng(request.seed)
    if purpose in ("summarise", "reflect", "plan"):
        return f"note {rng.integers(10)}"
    return f"Final answer: {rng.choice(RPS.label_set('neutral').own)}"


PROBE = ("predict", "summarise for predict")


@pytest.mark.parametrize("strategy", PAIRS, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("decide", ["argmax", "sample"])
def test_what_is_played_does_not_depend_on_the_probe(strategy, decide):
    """Act by act, with probabilities, details, and every call that is not the probe's."""
    partners = get_partner_set("tit_for_tat", RPS)
    shared = {"labels": "neutral", "decide": decide, "option_order": "shuffled", "horizon": 6}
    asked, unasked = (
        play(make_setup(RPS, partners, strategy, literal=literal, **shared), chance, 3)
        for literal in (True, False)
    )
    assert asked.status == unasked.status == "complete"
    for name in ("partner_state", "own_action", "partner_action", "own_probs", "act_outcome"):
        assert asked.column(name) == unasked.column(name), name
    calls = [
        [call for call in record.calls if strategy.part.predicts_first or call[2] not in PROBE]
        for record in (asked, unasked)
    ]
    assert calls[0] == calls[1]
    # The prediction is made to act on it, so it is there to measure.
    if strategy.part.predicts_first:
        assert asked.column("predicted_action") == unasked.column("predicted_action")
        return
    assert set(unasked.column("predicted_action")) == {None}
    assert set(unasked.column("predict_outcome")) == {NOT_ASKED}
    assert set(unasked.column("predict_attempts")) == {0}
    assert not any(call[2] == "predict" for call in unasked.calls)


def experiment(*subjects):
    data = {"games": ["RPS"], "partners": ["single_action"], "labels": "neutral", "horizon": 5}
    return make_experiment(
        data | {"model": "scripted:rule", "episodes": 4, "subjects": list(subjects)}
    )


@pytest.fixture
def known():
    found = Known(RPS, RPS.label_set("neutral"), act=lambda step, _: step % 3)
    with scripts(rule=found):
        yield found


OFF = {"name": "off", "strategy": "QA", "literal": False}
ON = {"name": "on", "strategy": "QA"}
SOCIAL = {"name": "social", "strategy": "Social QA", "literal": False}


def test_a_table_has_no_value_never_zero(known, tmp_path):
    run_experiment(experiment(ON, OFF, SOCIAL), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        on, off, social = run.rows()
        for name, measure in run.measures.items():
            if name in LITERAL:
                assert math.isnan(off[name]), name
                assert not math.isnan(on[name]), name
                assert not math.isnan(social[name]), name
            else:
                assert off[name] == on[name], (name, measure)
                assert not math.isnan(off[name])
        assert off["invalid_rate"] == 0
        assert run.status()[1]["calls"] == 4 * 5
        found = compare(run, by="subject", baseline="on")
        place = found.metrics.index("tom_percent")
        assert np.isnan(found.difference[:, found.levels.index("off"), place]).all()
        regret = found.metrics.index("delta_functional_per_step")
        assert (found.difference[:, found.levels.index("off"), regret] == 0).all()


def test_a_prediction_that_was_lost_is_damage_not_absence(known, tmp_path):
    run_experiment(experiment(ON), tmp_path / "run")
    edit(tmp_path / "run", lambda line: with_step(line, 2, predicted_action=None))
    with Run(tmp_path / "run") as run, pytest.raises(TomevalError, match="lacks steps"):
        run.rows()
