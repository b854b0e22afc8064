"""The options that language models share in every kind of game."""

import pytest

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.llm import DecryptoOptions as LLMOptions
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
