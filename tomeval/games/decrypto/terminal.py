"""A person in any seat, at a terminal: history laid out legibly, mistakes forgiven."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.core.printing import Console
from tomeval.games.decrypto.game import (
    Code,
    EncoderView,
    Hints,
    Rules,
    Turn,
    View,
    clean_hint,
    hint_fault,
    hint_history,
    read_code,
)
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.game import Ask
from tomeval.games.seats import Answer, Seat

_HELP = """  Alice: three hints separated by commas, in the order of the code: snow, river bank, pet
  Bob and Eve: the code, three different digits from 1 to 4, such as: 241 or 2-4-1
  history: show the past again; quit: stop (finished turns are recorded)"""


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


def _code_in(line: str) -> Code | str:
    return read_code(line) or "A code is three different digits from 1 to 4, such as 2-4-1"


class HumanSeat(Seat):
    """A person in a seat."""

    def __init__(self, seat: int, console: Console) -> None:
        self.role, self.console, self._turns = ROLES[seat], console, 0

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Ask for three hints, or for the code."""
        page = board(view.turns, view.rules, getattr(view, "keywords", None))
        pages = {"?": _HELP, "help": _HELP, "history": page}
        if not isinstance(view, EncoderView):
            self.console.say(
                f"\n{page}\n\n{NAMES[self.role]}, the hints are: {', '.join(view.hints)}"
            )
            return Answer(self.console.question("Your guess: ", _code_in, pages))
        words = ", ".join(view.keywords[digit - 1].upper() for digit in view.code)
        self.console.say(f"\n{page}\n\nAlice, the code is {shown(view.code)}: {words}")

        def parse(line: str) -> Hints | str:
            hints = [clean_hint(part) for part in line.split(",")]
            fault = hint_fault(hints, view.keywords, view.code, view.turns, view.rules)
            if fault is not None:
                return fault[0].upper() + fault[1:]
            one, two, three = hints
            return one, two, three

        return Answer(self.console.question("Your hints: ", parse, pages))

    async def observe(self, view: View) -> tuple[()]:
        """Tell how a turn ended."""
        if len(view.turns) > self._turns:
            self._turns = len(view.turns)
            self.console.say(f"\n{result_text(view.turns[-1])}")
        return ()


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


ENDINGS = {
    "miscommunication": "Eve wins: too many miscommunications.",
    "interception": "Eve wins: too many interceptions.",
    "both": "Eve wins: by miscommunication and interception at once.",
    "survived": "Alice and Bob win: they got through all turns.",
}
