"""The options that language models share in every kind of game."""

import pytest

from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.llm_options import LLMOptions
from tomeval.domains.matrix.subjects.llm import LLMSubject, SubjectOptions
from tomeval.strategies.options import ModelOptions

KINDS = (ModelOptions, SubjectOptions, LLMOptions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, "temperature must be a number from 0 to 100, is -1"),
        ({"temperature": float("nan")}, "temperature must be a number"),
        ({"temperature": True}, "temperature must be a number from 0 to 100, is true"),
        ({"top_p": 0}, "top_p must be a number from 1e-09 to 1, is 0"),
        ({"top_k": 1.5}, "top_k must be a number from 0"),
        ({"max_tokens": "5"}, 'max_tokens must be a number from .*, is "5"'),
        ({"prompts": 3}, "prompts must be the name of a folder, is 3"),
    ],
)
def test_bad_values(kind, options, message):
    with pytest.raises(TomevalError, match=message):
        kind(**options)


def test_each_domain_has_its_own_defaults_and_limits():
    assert SubjectOptions(max_tokens=0).asking().sampling.temperature == 1.0
    assert LLMOptions(temperature=0).asking().sampling.max_tokens == 750
    with pytest.raises(TomevalError, match="max_tokens must be a number from 1"):
        LLMOptions(max_tokens=0)
    with pytest.raises(TomevalError, match="probe_temperature must be a number from 0"):
        LLMOptions(probe_temperature=-1)


def test_a_subject_tells_its_options():
    options = LLMSubject.options()
    assert options["strategy"] == "QA"
    assert options["decide"] == "argmax"
    assert {"model", "temperature", "top_p", "literal_order", "prompts"} < set(options)
