from __future__ import annotations

import pytest

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import CODES, hint_fault
from tomeval.lexicon.words import (
    read_lists,
    read_words,
    shipped_lists,
)


def test_shipped_lists() -> None:
    lists = shipped_lists()
    assert len(lists.keywords) == 680
    assert len(lists.hints) > 5000
    assert set(lists.keywords) <= set(lists.hints)
    assert list(lists.keywords) == sorted(lists.keywords)
    assert all(word.isascii() and word.islower() and word.isalpha() for word in lists.hints)
    assert all(3 <= len(word) <= 10 for word in lists.keywords)


def test_every_shipped_hint_is_legal_by_itself() -> None:
    keywords = ("qqqa", "qqqb", "qqqc", "qqqd")
    for hint in shipped_lists().hints:
        assert hint_fault((hint, hint, hint), keywords, CODES[0]) is None


def test_lists_of_your_own(tmp_path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("River\n\n  violin \nice-cream\nwinter\n")
    lists = read_lists(keywords=path)
    assert lists.keywords == ("River", "violin", "ice-cream", "winter")
    assert lists.hints == shipped_lists().hints
    assert read_lists(hints=path).hints == lists.keywords


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("river\nice cream\n", r"own.txt:2: not a single word of letters: 'ice cream'"),
        ("river\na-b-c\n", r"own.txt:2: not a single word"),
        ("x" * 61, r"own.txt:1: not a single word"),
        ("river\nviolin\nRIVER\n", r"own.txt:3: 'RIVER' is already in line 1"),
        ("cafe\ncafé\n", r"own.txt:2: 'café' is already in line 1"),
        ("\n \n", r"own.txt: no words"),
        (b"\xff\xfe", r"own.txt: not UTF-8"),
    ],
)
def test_faulty_lists_are_named(tmp_path, text, message) -> None:
    path = tmp_path / "own.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TomevalError, match=message):
        read_words(path)
