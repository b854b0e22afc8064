"""The options that language models share in every kind of game."""

import pytest
from known import Known, fixed, make_setup, play, question

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.llm import DecryptoOptions as LLMOptions
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.subjects.llm import SubjectOptions
from tomeval.strategies.asking import ALLOWANCES
from tomeval.strategies.options import ModelOptions

KINDS = (ModelOptions, SubjectOptions, LLMOptions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "temperature must be a number from 0 to 2, is -1"),
        ({"temperature": True}, "temperature must be a number from 0 to 2, is true"),
        ({"max_tokens": "5"}, 'max_tokens must be a number from .*, is "5"'),
        ({"max_tokens": {"qa": 0}}, "max_tokens.qa must be a number from 1 to .*, is 0"),
        (
            {"max_tokens": {"cto": 9}},
            r"max_tokens: unknown kind of call 'cto' \(did you mean 'cot'",
        ),
        ({"prompts": 3}, "prompts must be the name of a set or a folder, is 3"),
        ({"system": ["Be brief."]}, 'system must be text, is ."Be brief."'),
    ],
)
def test_bad_values(kind, options, message):
    with pytest.raises(TomevalError, match=message):
        kind(**options)


def test_allowances_go_by_kind_of_call():
    how = SubjectOptions().asking()
    assert {kind: how.allowance(kind) for kind in ALLOWANCES} == dict(ALLOWANCES)
    # Notes in a reply do not take the room of its answer.
    assert how.allowance("cot", notes=True) == ALLOWANCES["cot"] + ALLOWANCES["plan"]
    some = SubjectOptions(max_tokens={"qa": 7}).asking()
    assert (some.allowance("qa"), some.allowance("lesson")) == (7, ALLOWANCES["lesson"])
    every = LLMOptions().asking()
    assert {every.allowance(kind, notes=True) for kind in ALLOWANCES} == {750}


@pytest.mark.parametrize(
    ("strategy", "purpose", "most"),
    [
        ("QA", "act", 11),
        ("CoT", "predict", 12),
        ("Plans + Insights", "act", 24),
        ("Plans + Insights", "predict", 11),
        ("Plans + Insights + LM", "plan", 13),
        ("S2A", "summarise for predict", 14),
        ("Reflexion 1", "reflect", 15),
    ],
)
def test_allowances_reach_the_requests(strategy, purpose, most):
    game = get_game("IPD")
    script = Known(game, game.label_set("neutral"))
    allowances = {"qa": 11, "cot": 12, "plan": 13, "summary": 14, "lesson": 15}
    play(
        make_setup(game, fixed(game, [0, 1]), strategy, 2, "neutral", max_tokens=allowances), script
    )
    sent = {
        request.sampling.max_tokens
        for request in script.requests
        if question(request)[0] == purpose
    }
    assert sent == {most}
