"""Codes and turns as people write them."""

from __future__ import annotations

from tomeval.games.decrypto.game import Code, Turn


def shown(code: Code) -> str:
    """Return a code as people write it.

    Examples
    --------
    >>> shown((2, 4, 1))
    '2-4-1'
    """
    return "-".join(map(str, code))


def result_text(turn: Turn) -> str:
    """Return how a turn ended, as a sentence.

    Examples
    --------
    >>> result_text(Turn((2, 4, 1), ("a", "b", "c"), (2, 4, 1), (1, 2, 3)))
    'The code was 2-4-1. Bob guessed 2-4-1: right. Eve guessed 1-2-3: no interception.'
    """
    bob = "wrong, a miscommunication" if turn.miscommunicated else "right"
    eve = "an interception" if turn.intercepted else "no interception"
    return (
        f"The code was {shown(turn.code)}. Bob guessed {shown(turn.bob)}: {bob}. "
        f"Eve guessed {shown(turn.eve)}: {eve}."
    )
