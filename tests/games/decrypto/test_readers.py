"""What the items of an answer stand for, or how they break the rules."""

from __future__ import annotations

import pytest

from tomeval.games.decrypto.game import Rules, View
from tomeval.games.decrypto.seats import Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.game import Ask, Broken, Probe
from tomeval.lexicon.words import WordLists

GAME = Decrypto(WordLists(("a", "b", "c", "d"), ("x", "y", "z")), Rules(), Probes())
VIEW = View(("money", "violin", "bread", "winter"), (1, 2, 3))
CODE, HINTS, NAMES = Ask(1, "decode"), Ask(0, "encode"), Probe("keywords")


@pytest.mark.parametrize(
    ("what", "items", "said"),
    [
        (CODE, [2, 4, 1], (2, 4, 1)),
        (HINTS, [" river  boat ", "b", "c"], ("river boat", "b", "c")),
        (NAMES, [" a", "b ", "c d", "e"], ("a", "b", "c d", "e")),
        *((CODE, code, Broken) for code in ([2, 4], [2, 4, "one"], [2, 2, 1])),
        (HINTS, ["a", "b"], Broken),
        (HINTS, ["breads", "b", "c"], "hint 1, 'breads': is a keyword or a form of one ('bread')"),
        *((NAMES, [spoiled, "b", "c", "d"], Broken) for spoiled in ("", "\x1b[2J", "x" * 61)),
    ],
)
def test_what_is_read(what, items, said) -> None:
    read = GAME.read(VIEW, what, items)
    assert isinstance(read, Broken) if said is Broken else said in (read, getattr(read, "text", 0))
