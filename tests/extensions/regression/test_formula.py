"""The formula's grammar: what it reads, and that it refuses the rest in one line."""

from __future__ import annotations

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import outcome

from tomeval.core.errors import TomevalError
from tomeval.extensions.regression.formula import Factor, read_formula

WRITTEN_OUT = {
    "regret ~ 1": "regret ~ 1 + (1|episode)",
    "regret~subject": "regret ~ subject + (1|episode)",
    " correct ~ (1|subject) + step ": "correct ~ step + (1|subject)",
    "y ~ a * b": "y ~ a + b + a:b + (1|episode)",
    "y ~ a:b + b + a": "y ~ b + a + a:b + (1|episode)",
    "y ~ a * b + b:a + a": "y ~ a + b + a:b + (1|episode)",
    "y ~ a*b*c": "y ~ a + b + c + a:b + a:c + b:c + a:b:c + (1|episode)",
    "y ~ a + b + c + a*b:c + a:b + a:c": "y ~ a + b + c + b:c + a:b + a:c + a:b:c + (1|episode)",
    "y ~ a:a + log ( step ) + factor(step)": "y ~ a + log(step) + factor(step) + (1|episode)",
    "y ~ log + factor": "y ~ log + factor + (1|episode)",
}


@pytest.mark.parametrize("text", WRITTEN_OUT)
def test_a_formula_written_out(text) -> None:
    found = read_formula(text)
    assert str(found) == WRITTEN_OUT[text]
    assert read_formula(str(found)) == found


REFUSED = {
    "": "the end at character 1",
    "regret": "the end at character 7",
    "regret ~": "the end at character 9",
    "regret ~ subject -1": "'-' at character 18",
    "regret ~ a + ": "the end",
    "regret ~ a b": "'b' at character 12",
    "regret ~ 2": "'2' at character 10",
    "regret ~ a + 10": "'1' at character 14",
    "log(regret) ~ a": "'(' at character 4",
    "regret ~ a ~ b": "'~' at character 12",
    "regret ~ log(step + 1)": "'+' at character 19",
    "regret ~ log(log(step))": "'(' at character 17",
    "regret ~ exp(step)": "unknown function exp(); known: log, factor",
    "regret ~ a + (a|b)": "'a' at character 15",
    "regret ~ a + (1|log(b))": "'(' at character 20",
    "regret ~ (1|a) + (1|b)": "one group only",
    "regret ~ regret": "regret is on both sides",
    "y ~ a:b + a": "a:b needs the term b too; write a * b",
    "__import__('os').system('true') ~ a": '"\'" at character 12',
    "__import__(os)": "'(' at character 11",
    "regret ~ a.b": "'.' at character 11",
    "regret ~ ä": "'ä' at character 10",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_formula_is_refused_with_its_place(text) -> None:
    with pytest.raises(TomevalError) as refused:
        read_formula(text)
    assert REFUSED[text] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("sign", "*:+(")
def test_a_huge_formula_is_refused_in_a_line_at_once(sign) -> None:
    """A product of thirty columns alone would have a billion terms."""
    text = f"y ~ {sign.join(f'c{n}' for n in range(30))} + {'y + ' * 5000}"
    with pytest.raises(TomevalError) as refused:
        read_formula(text)
    assert len(str(refused.value)) < 600


@given(st.text("aby_1~+:*()| log" + string.punctuation, max_size=25))
def test_any_text_is_a_formula_or_one_line(text) -> None:
    found, said = outcome(lambda: read_formula(text))
    assert "\n" not in said
    assert said or read_formula(str(found)) == found


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True))
def test_a_crossing_has_every_product(names) -> None:
    found = read_formula(f"y ~ {' * '.join(names)}")
    every = [
        set(some) for n in range(1, len(names) + 1) for some in itertools.combinations(names, n)
    ]
    assert [{factor.column for factor in term} for term in found.terms] == every
    assert found.columns == ["y", *names]
    assert found.terms[0] == (Factor(names[0]),)
