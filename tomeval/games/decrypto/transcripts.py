"""A game for readers: hints, guesses and probes turn by turn, then the board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tomeval.games.decrypto.board import board, result_text, shown
from tomeval.games.decrypto.game import Rules, Turn
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import ENCODER_QUESTIONS, NAMES
from tomeval.games.decrypto.turns import PlayedTurn, turns_of
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run


def game_lines(run: Run, cell: DecryptoRunCell, game: int) -> Iterator[Line]:
    """Yield a game of a run: players and ending, every turn with its probes, and the board."""
    record = run.store.record(cell.number, game)
    names = ", ".join(f"{NAMES[role]} {name}" for role, name in cell.seated.items())
    ended = record.own["outcome"] or record.status
    yield Line(0, f"{names}; seed {cell.seed}, game {game}: {ended}")
    past: list[Turn] = []
    for turn in turns_of(record):
        past += [turn.turn] if turn.turn else []
        yield from (Line(turn.number, text) for text in _turn_lines(turn))
    page = board(past, Rules(**cell.definition["rules"]), record.own["keywords"])
    for line in page.splitlines()[2:]:
        yield Line(-1, line)


def _turn_lines(turn: PlayedTurn) -> Iterator[str]:
    """Yield hints, guesses, what went wrong, what Alice was told, and answers to probes."""
    yield f"code {shown(turn.code)}, hints {', '.join(turn.hints) if turn.hints else 'no hints'}"
    if turn.turn is not None:
        yield result_text(turn.turn)
    odd = [
        f"{NAMES[role]}: {what.replace('_', ' ')}"
        for role, what in turn.outcomes.items()
        if what != "valid"
    ]
    if odd:
        yield f"[{'; '.join(odd)}]"
    if turn.best is not None:
        yield f"best attainable value {turn.best:g}"
    facts = turn.details.get("encoder", {})
    if "belief" in facts:
        yield _told(facts)
    if "given" in facts:
        yield f"Alice's own hints, not shown to the listeners: {', '.join(facts['given'])}"
    for question, outcome, value, _ in turn.probes:
        whose = "Alice" if question in ENCODER_QUESTIONS else "Eve"
        said = "-".join(map(str, value)) if value else outcome
        yield f"probe of {whose}, {question.replace('_', ' ')}: {said}"


def _told(facts: dict[str, Any]) -> str:
    """Return the statement to Alice about Eve's guess for her draft, in words."""
    how = {True: "rightly", False: "wrongly", None: "with Eve's answer unreadable"}
    belief = facts["belief"]
    return (
        f"Alice's draft: {', '.join(facts['draft'])}; told, {how[belief['right']]}, that Eve would "
        f"guess {'-'.join(map(str, belief['eve']))}"
    )
