"""Prompts of many steps at once are those of each step alone, and cost one made-up play."""

import pytest

from tomeval.domains.matrix.subjects import LLMSubject
from tomeval.models import Ahead
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.needs import guessed, needs

CELLS = [
    ("matrix", "subject", "S2A + CoT", {"horizon": 7}),
    ("matrix", "subject", "Reflexion 2", {"horizon": 7}),
    ("matrix", "subject", "Plans + Insights", {"horizon": 7}),
    ("matrix", "subject", "Social LM", {"horizon": 7, "form": "react"}),
    ("matrix", "subject", "QA", {"horizon": 7, "form": "draw"}),
    ("matrix", "subject", "CoT", {"horizon": 7, "form": "payoff"}),
    ("matrix", "subject", "Oracle + Max", {"horizon": 7}),
    *(
        ("decrypto", seat, strategy, {})
        for seat in ("encoder", "interceptor")
        for strategy in ("QA", "S2A + CoT", "Plans + Insights")
    ),
    *(
        ("arena", "subject", strategy, {"game": game})
        for game in ("blotto", "ipd3", "mafia")
        for strategy in ("QA", "Reflexion 1")
    ),
]


@pytest.mark.parametrize(("domain", "seat", "strategy", "options"), CELLS)
@pytest.mark.parametrize("note", ["", "Plans: N{step}\nInsights: none"])
def test_many_steps_at_once_are_those_of_each_alone(domain, seat, strategy, options, note):
    domain = get_domain(domain)
    cell = domain.describe.example(strategy, "" if domain.name == "arena" else seat, options)
    wanted = {
        form: [step for step in steps if step in (1, 2, 4, steps[-1])]
        for form, steps in domain.describe.forms(cell, seat).items()
        if steps
    }
    found = domain.describe.prompts(cell, seat, wanted, note)
    assert found.keys() == {(form, step) for form, steps in wanted.items() for step in steps}
    for (form, step), prompts in found.items():
        assert prompts == domain.describe.prompt(cell, seat, form, step, note), (form, step)


def test_a_plan_plays_an_episode_once(monkeypatch):
    acted, act = [], LLMSubject.act
    monkeypatch.setattr(LLMSubject, "act", lambda *given: acted.append(given) or act(*given))
    data = {"games": ["RPS"], "partners": ["tit_for_tat"], "horizon": 100, "model": "pocket"}
    for strategy, most in (("LM", 20), ("Reflexion 2", 40), ("Plans + Insights", 200)):
        (cell,) = make_experiment({**data, "subjects": [{"strategy": strategy}]}).cells
        acted.clear()
        needs(get_domain("matrix"), cell, "subject", Ahead(False), guessed, guessed)
        assert 0 < len(acted) <= most, strategy
