from __future__ import annotations

import json

import pytest

from tomeval.games.decrypto.game import Rules, View
from tomeval.games.decrypto.seats import Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.game import Ask, Broken, Probe
from tomeval.games.llm.scene import Judged
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
    ("said", "outcome"),
    [([2, 4], "unparsable"), ([2, 4, "one"], "unparsable"), ([2, 2, 1], "illegal")],
)
def test_what_is_no_code(said, outcome) -> None:
    read = code(f"Final answer: {json.dumps({'code': said})}")
    assert (read.outcome, read.value) == (outcome, None)


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
