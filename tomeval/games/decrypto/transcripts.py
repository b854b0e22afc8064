"""A game for readers: hints, guesses and probes turn by turn, then the board."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tomeval.games.decrypto.game import Rules, Turn
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.decrypto.storing import number_code
from tomeval.games.decrypto.terminal import board, result_text, shown
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run

_TURN: tuple[str, ...] = ("step", "code", "hints", "bob", "eve", "best", "details")
_TURN += tuple(f"{role}_outcome" for role in ROLES)
_PROBE = ("step", "seat", "question", "outcome", "value")


def game_lines(run: Run, cell: DecryptoRunCell, game: int) -> Iterator[Line]:
    """Yield a game of a run: players and ending, every turn with its probes, and the board."""
    store = run.store
    [(status, outcome, keywords)] = store.read(
        "episodes", ("status", "outcome", "keywords"), cell.number, game
    )
    names = ", ".join(f"{NAMES[role]} {name}" for role, name in cell.seated.items())
    yield Line(0, f"{names}; seed {cell.seed}, game {game}: {outcome or status}")
    past: list[Turn] = []
    probes: dict[int, list[str]] = {}
    for number, *row in store.read("answers", _PROBE, cell.number, game):
        probes.setdefault(number, []).append(_probe_line(*row))
    for number, code, hints, bob, eve, best, details, *outcomes in store.read(
        "steps", _TURN, cell.number, game
    ):
        said = ", ".join(hints) if hints else "no hints"
        yield Line(number, f"code {shown(number_code(code))}, hints {said}")
        if bob is not None and eve is not None and hints:
            one, two, three = hints
            turn = Turn(number_code(code), (one, two, three), number_code(bob), number_code(eve))
            past.append(turn)
            yield Line(number, result_text(turn))
        odd = [
            f"{NAMES[role]}: {what.replace('_', ' ')}"
            for role, what in zip(ROLES, outcomes, strict=True)
            if what != "valid"
        ]
        if odd:
            yield Line(number, f"[{'; '.join(odd)}]")
        if best is not None:
            yield Line(number, f"best attainable value {best:g}")
        facts = (details or {}).get("encoder", {})
        if "belief" in facts:
            yield Line(number, _told(facts))
        given = facts.get("given")
        if given:
            yield Line(number, f"Alice's own hints, not shown to the listeners: {', '.join(given)}")
        for line in probes.get(number, ()):
            yield Line(number, line)
    page = board(past, Rules(**cell.definition["rules"]), keywords)
    for line in page.splitlines()[2:]:
        yield Line(-1, line)


def _told(facts: dict[str, Any]) -> str:
    """Return the statement to Alice about Eve's guess for her draft, in words."""
    how = {True: "rightly", False: "wrongly", None: "with Eve's answer unreadable"}
    belief = facts["belief"]
    return (
        f"Alice's draft: {', '.join(facts['draft'])}; told, {how[belief['right']]}, that Eve would "
        f"guess {'-'.join(map(str, belief['eve']))}"
    )


def _probe_line(seat: str, question: str, outcome: str, value: list[Any] | None) -> str:
    said = "-".join(map(str, value)) if value else outcome
    return f"probe of {NAMES[seat]}, {question.replace('_', ' ')}: {said}"
