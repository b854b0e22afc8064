from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tomeval.games.decrypto.game import CODES, Rules, View
from tomeval.games.decrypto.probes import Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.game import Ask, Broken, Probe
from tomeval.games.llm.reading import Judged
from tomeval.lexicon.words import WordLists

GAME = Decrypto(WordLists(("a", "b", "c", "d"), ("x", "y", "z")), Rules(), Probes())


def read(text: str, what, view=None):
    found = Judged(GAME.form(view, what), lambda items: GAME.read(view, what, items)).read(
        text, "stop"
    )
    return found._replace(value=found.value and found.value.action)


def code(text: str):
    return read(text, Ask(1, "decode"))


@pytest.mark.parametrize(
    "text",
    [
        'Final answer: {"code": [2, 4, 1]}',
        'Final answer: `{"code": [2, 4, 1]}`',
        'Final answer:\n```json\n{"code": [2, 4, 1]}\n```',
        'Final answer: {"code":\n [2,\n 4, 1]}',
        'Final answer: {"code": ["2", "4", "1"]}',
        'Final answer: {"Code": [2, 4, 1]}',
        "Final answer: {'code': [2, 4, 1]}",
        "Final answer: {“code”: [2, 4, 1]}",
        "Final answer: {code: [2, 4, 1,]}",
        'Final answer：{"code"：[2，4，1]}',
        r'Final answer: $\boxed{\{"code": [2, 4, 1]\}}$',
        '### Final Answer\n```json\n{"code": [2, 4, 1]}\n```\n',
        'As asked:\nFinal answer: {"code": [..., ..., ...]}\nFinal answer: {"code": [2, 4, 1]}',
        '## Final answer:\nBob must know.\n\nFinal answer: {"code": [2, 4, 1]}',
        '{"code": [2, 4, 1]}',
    ],
)
def test_readable(text) -> None:
    assert code(text).value == (2, 4, 1), code(text)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('Final answer: {"code": "241"}', "unparsable"),
        ('Final answer: {"code": [2, 4]}', "unparsable"),
        ('Final answer: {"code": [2, 4, 1, 3]}', "unparsable"),
        ('Final answer: {"code": [2.0, 4, 1]}', "unparsable"),
        ('Final answer: {"code": [true, 2, 3]}', "unparsable"),
        ('Final answer: {"code": [1, 2, 3], "code": [2, 4, 1]}', "unparsable"),
        ('Final answer: {"code": [2, 4, "one"]}', "unparsable"),
        ('Final answer: {"code": [2, 4, 1]', "unparsable"),
        ('Final answer: {"not_code": [2, 4, 1]}', "unparsable"),
        ('Final answer: not {"code": [2, 4, 1]}', "unparsable"),
        ('Final answer: {"code": [2, 4, 1]}\n{"code": [1, 2, 3]}', "unparsable"),
        ("Final answer: " + "{" * 100_000, "unparsable"),
        ("Final answer: {" + '"code": [' * 100_000, "unparsable"),
        ("Final answer: " + "." * 100_000 + "{", "unparsable"),
        ("Final answer: " + "[" * 100_000, "unparsable"),
        ('Final answer: {"code": [2, 2, 1]}', "illegal"),
        ('Final answer: {"code": [2, 5, 1]}', "illegal"),
    ],
)
def test_not_readable(text, outcome) -> None:
    read = code(text)
    assert (read.outcome, read.value) == (outcome, None)


@given(st.text().filter(lambda text: "<think>" not in text.lower()), st.sampled_from(CODES))
def test_whatever_stands_before_the_answer(before, expected) -> None:
    assert code(f"{before}\nFinal answer: {json.dumps({'code': expected})}").value == expected


@given(st.text(), st.sampled_from(CODES))
def test_no_object_is_searched_for_within_a_line(text, said) -> None:
    read = code(f"{text}\nI would say {json.dumps({'code': said})}")
    assert read.value is None


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: 2-4-1",
        "Final answer: [2, 4, 1].",
        'Final answer: {"code": "2, 4, 1"}',
        'Final answer: {"code": [2, 4, 1], "why": "x"}',
        '{"reasoning": "1 is worn out", "code": [2, 4, 1]}',
        '{"code": [1, 2, 3]}\n{"code": [2, 4, 1]}',
        '{"code": [2, 4, 1]}\nBut Eve may know it.',
    ],
)
def test_the_last_object_is_read_whatever_stands_beside_it(text) -> None:
    assert code(text) == ("valid", (2, 4, 1), "", True)


@pytest.mark.parametrize(
    "text",
    [
        'Final answer: {"code": [2, 4, 1]}\nNo, 1-2-3 is better.',
        'Final answer: {"code": [2, 4, 1]}\nOr [1, 2, 3].',
    ],
)
def test_another_code_below_it_makes_it_none(text) -> None:
    assert code(text).fault == "text after it gives another answer: [1, 2, 3]"


def test_hints_are_cleaned_then_checked() -> None:
    view = View(("money", "violin", "bread", "winter"), (1, 2, 3))

    def hints(given):
        text = f"Final answer: {json.dumps({'hints': given})}"
        return read(text, Ask(0, "encode"), view)

    assert hints([" river  boat ", "b", "c"]).value == ("river boat", "b", "c")
    fault = "hint 1, 'breads': is a keyword or a form of one ('bread')"
    assert hints(["breads", "b", "c"])[:3] == ("illegal", None, fault)
    assert hints(["a", "b"]).outcome == "unparsable"


def test_keywords() -> None:
    def named(*words):
        return GAME.read(None, Probe("keywords"), words)

    assert named(" a", "b ", "c d", "e") == ("a", "b", "c d", "e")
    for spoiled in ("", "\x1b[2J", "x" * 61):
        assert isinstance(named(spoiled, "b", "c", "d"), Broken)
