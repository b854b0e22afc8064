"""Past turns laid out for readers."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.games.decrypto.game import Code, Rules, Turn, hint_history


def board(turns: Sequence[Turn], rules: Rules, keywords: Sequence[str] | None) -> str:
    """Return the past as a page: hints by keyword, then the turns.

    Without keywords, as for Eve, question marks stand in their place.
    """
    wrong = sum(turn.miscommunicated for turn in turns)
    caught = sum(turn.intercepted for turn in turns)
    lines = [
        f"=== Turn {len(turns) + 1} of {rules.turns} === miscommunications {wrong} of "
        f"{rules.miscommunications} === interceptions {caught} of {rules.interceptions} ===",
        "",
    ]
    words = [word.upper() for word in keywords] if keywords else ["?"] * 4
    width = max(map(len, words))
    for digit, (word, hints) in enumerate(zip(words, hint_history(turns), strict=True), start=1):
        lines.append(f"  {digit}  {word:{width}}  {', '.join(hints) or '-'}")
    if turns:
        told = [", ".join(turn.hints) for turn in turns]
        room = max(5, *map(len, told))
        lines += ["", f"  turn  {'hints':{room}}  code   Bob    Eve"]
        for number, (turn, hints_told) in enumerate(zip(turns, told, strict=True), start=1):
            bob = f"{shown(turn.bob)}{'!' if turn.miscommunicated else ' '}"
            eve = f"{shown(turn.eve)}{'!' if turn.intercepted else ''}"
            lines.append(f"  {number:>4}  {hints_told:{room}}  {shown(turn.code)}  {bob} {eve}")
        lines.append("  (!: Bob wrong, or Eve right)")
    return "\n".join(lines)


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
