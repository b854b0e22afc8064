"""The literal question asked again, so that written predictions have probabilities."""

import pytest
from known import drawn, make_setup, play
from support import questions

from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.play.plan import plan_rows
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment

IPD = GAMES["IPD"]


ASKED = {"horizon": 3, "max_attempts": 1}


@pytest.mark.parametrize("strategy", ["QA", "CoT", "Social QA", "S2A", "Reflexion 1"])
def test_draws_change_nothing_else(strategy):
    partners = get_partner_set("tit_for_tat", IPD)
    for episode in range(3):
        plain, more = (
            play(make_setup(IPD, partners, strategy, draws=draws, **ASKED), drawn, episode)
            for draws in (0, 5)
        )
        if more.status != "complete":
            assert more.status == plain.status
            continue
        assert more.columns == plain.columns
        assert [name for _, _, name, *_ in more.answers] == [f"draw {k}" for k in range(5)] * 3
        calls = [call for call in more.calls if not call[2].startswith("draw")]
        assert [c[:3] for c in calls] == [c[:3] for c in plain.calls]
        # Each draw has a seed of its own, and the prompt of the prediction.
        asked = [call for call in more.calls if call[2].startswith("draw")]
        assert len({call["seed"] for *_, call in asked}) == len(asked) == 15
        [said] = [c for c in plain.calls if c[2] == "predict" and c[0] == 1]
        [first] = [c for c in asked if c[2] == "draw 0" and c[0] == 1]
        assert first[3]["prompt_rest"] == said[3]["prompt_rest"]


@pytest.mark.parametrize("strategy", ["LM", "Social LM"])
def test_scored_predictions_need_no_draws(strategy):
    partners = get_partner_set("tit_for_tat", IPD)
    steps = play(make_setup(IPD, partners, strategy, draws=5, **ASKED), drawn)
    assert steps.answers == []


def test_plan_counts_draws():
    data = {
        "games": "IPD",
        "subjects": [{"strategy": ["QA", "LM", "Social QA", "S2A"], "draws": 5, "model": "pocket"}],
        "partners": "tit_for_tat",
        "horizon": 4,
        "episodes": 1,
    }
    rows = plan_rows(make_experiment(data))
    # Two questions a step and five draws; of S2A also two summaries.
    assert [row["calls"] for row in rows] == [28, 8, 28, 28 + 2 * 4]
    domain, [cell, *_] = get_domain("matrix"), make_experiment(data).cells
    _, predicted, *drawn = questions(domain, cell, form="draw", number=3)
    assert predicted.form == "predict"
    assert [one.prompt for one in drawn] == [predicted.prompt] * 5
