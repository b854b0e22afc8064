"""Names, grammar and config of strategies."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import outcome

from tomeval.core.errors import TomevalError
from tomeval.strategies import Strategy, all_strategies, parse_strategy

# The reports' own words for what is no single strategy: RMax, a model that thinks by itself, and
# the best of three sizes of memory.
PRINTED = {
    "LM": ("full", "none", "lm"),
    "QA": ("full", "none", "qa"),
    "CoT": ("full", "none", "cot"),
    "CoT + 3-Shot": ("full", "none", "cot_3_shot"),
    "Plans + Insights": ("full", "plans_insights", "qa"),
    "Plans/Insights*": ("full", "plans_insights", "qa"),
    "Reflexion 1": ("full", "reflexion_1", "qa"),
    "Reflexion 2": ("full", "reflexion_2", "qa"),
    "Reflexion 3": ("full", "reflexion_3", "qa"),
    "Social QA": ("full", "social_qa", "qa"),
    "Social LM": ("full", "social_lm", "qa"),
    "S2A": ("s2a", "none", "qa"),
    "S2A + CoT": ("s2a", "none", "cot"),
    "Oracle": ("full", "oracle", "qa"),
    "Oracle + Max": ("full", "oracle_max", "qa"),
    "Oracle +Max -History": ("-history", "oracle_max", "qa"),
    "Oracle +Max -Payoffs": ("-payoffs", "oracle_max", "qa"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_names(name):
    assert parse_strategy(name) == Strategy(*PRINTED[name])


def test_names_are_unique_and_read_back():
    names = [strategy.name for strategy in all_strategies()]
    assert len(set(names)) == 180
    for strategy in all_strategies():
        config = {
            "context": strategy.context,
            "advice": strategy.advice,
            "answer": strategy.answer,
        }
        assert parse_strategy(strategy.name) == strategy
        assert parse_strategy(config) == strategy
        assert parse_strategy(strategy) is strategy


@given(st.sampled_from(all_strategies()), st.data())
def test_case_and_spacing_are_free(strategy, data):
    text = ""
    for char in strategy.name:
        if char == " ":
            char = data.draw(st.sampled_from(["", " ", "  ", "\t"]))
        elif char == "-":
            char = data.draw(st.sampled_from(["-", " - ", "−", "–"]))
        elif char == "+":
            char = data.draw(st.sampled_from(["+", " + "]))
        text += data.draw(st.sampled_from([char.upper(), char.lower()]))
    if "3 - shot" in text.lower() or "3−" in text or "3–" in text:
        text = text.replace(" - ", "-")
    assert parse_strategy(text) == strategy


@pytest.mark.parametrize(
    ("spec", "point"),
    [
        ("s2a+cot", ("s2a", "none", "cot")),
        ("CoT + S2A", ("s2a", "none", "cot")),
        ("-History", ("-history", "none", "qa")),
        ("Social LM + LM", ("full", "social_lm", "lm")),
        ("qa -rewards", ("-rewards", "none", "qa")),
        ("CoT – 3–Shot".replace("– ", ""), ("full", "none", "cot_3_shot")),
        ("reflexion_2 + cot + s2a", ("s2a", "reflexion_2", "cot")),
        ("plans_insights", ("full", "plans_insights", "qa")),
        ({}, ("full", "none", "qa")),
        ({"advice": "social_lm"}, ("full", "social_lm", "qa")),
        ({"answer": "cot_3_shot", "context": "-payoffs"}, ("-payoffs", "none", "cot_3_shot")),
    ],
)
def test_other_spellings(spec, point):
    assert parse_strategy(spec) == Strategy(*point)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "empty"),
        ("QAA", "cannot be read"),
        ("Reflexion", "cannot be read.*Reflexion 1, Reflexion 2, Reflexion 3"),
        ("Reflexion 4", "cannot be read"),
        ("Social", "cannot be read"),
        ("Oracel", "did you mean 'Oracle'"),
        ("S2A + LN", "did you mean 'LM'"),
        ("QA + CoT", "two parts of the same kind: QA and CoT"),
        ("S2A -History", "two parts of the same kind: S2A and -History"),
        ("QA +", "cannot be read"),
        ("S2A ++ CoT", "cannot be read"),
        (3, "must be text or a table"),
        ({"contxt": "s2a"}, "unknown key 'contxt' \\(did you mean 'context'"),
        ({"context": "S2A"}, "unknown strategy context 'S2A' \\(did you mean 's2a'"),
        ({"answer": ["lm"]}, "unknown strategy answer"),
    ],
)
def test_errors(spec, message):
    with pytest.raises(TomevalError, match=message):
        parse_strategy(spec)


PIECES = ["LM", "qa", "CoT", "3-Shot", "S2A", "Oracle", "Max", "Social", "1", "+", " + ", " ", "-"]


@given(st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=5).map("".join))
@example("QA")
@example("QA\n+")
def test_any_text_is_read_or_refused(text):
    strategy, message = outcome(lambda: parse_strategy(text))
    if strategy is None:
        assert len(message.splitlines()) == 1
    else:
        assert parse_strategy(strategy.name) == strategy
