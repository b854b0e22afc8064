"""Turns of played games, derived from their decisions: what exports, measures and tables read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, LENIENT, NOT_ASKED
from tomeval.games import records
from tomeval.games.decrypto.game import Code, Deal, Hints, Rules, Turn, outcome_of
from tomeval.games.decrypto.replays import RecordedGame
from tomeval.games.decrypto.seats import (
    ALICE,
    BOB,
    ENCODER_QUESTIONS,
    INTERCEPTOR_QUESTIONS,
    ROLES,
)
from tomeval.games.played import PlayedGame, frozen
from tomeval.games.running import RECORDED
from tomeval.runs.record import Record, Schema
from tomeval.runs.store import Store

_SHOWN_AS = {
    "eve": "predicted_eve",
    "eve_reminded": "predicted_eve_reminded",
    "bob": "predicted_bob",
    "keywords": "believed_keywords",
}
"""Columns of exported turns whose names are not those of the questions."""

_NUMBERS: tuple[str, ...] = ("code", "bob", "eve", "miscommunication", "interception", "told")
_NUMBERS += tuple(f"{role}_attempts" for role in ROLES)
_NUMBERS += tuple(_SHOWN_AS[name] for name in ENCODER_QUESTIONS)

SCHEMA = Schema(
    {"outcome": "TEXT", "keywords": "TEXT", **records.EPISODES, "codes": "TEXT", "record": "TEXT"},
    records.STEPS,
    records.asked_of(ROLES.__getitem__, "slot"),
    {**dict.fromkeys(_NUMBERS, "INTEGER"), "best": "REAL", "random": "REAL"},
    turn="round",
)
"""Decisions, with how the game ended, what was dealt, and the game that it replays."""


class Probed(NamedTuple):
    """One probe's answer; `value` is None if it was invalid, and `outcome` says why.

    `brier` is the score of the probabilities that were given, if they were.
    """

    question: str
    outcome: str
    value: Any
    attempts: int
    brier: float | None = None


@dataclass
class PlayedTurn:
    """One turn of a game.

    Attributes
    ----------
    number : int
        From 1.
    hints, bob, eve
        The hints that were heard and the guesses; None if an answer was invalid, or not asked for
        because one before it was.
    outcomes, attempts : dict
        By role: ``valid``, an invalid reason, ``not_asked`` or, in replays, ``recorded``.
    told : bool
        Whether Alice learned in this turn what her view does not show.
    details : dict
        By role: JSON-ready facts, such as an Oracle's draft, and hints that Alice gave and nobody
        heard (``given``); in replays under ``record`` what was said then.
    best : float or None
        Best value that Alice could have reached in this turn, if it was searched for.
    random : float or None
        What random hints were worth, likewise.
    """

    number: int
    code: Code
    hints: Hints | None = None
    bob: Code | None = None
    eve: Code | None = None
    outcomes: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ROLES, NOT_ASKED))
    attempts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))
    told: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    probes: list[Probed] = field(default_factory=list)
    best: float | None = None
    random: float | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn, if it was finished."""
        if self.hints is None or self.bob is None or self.eve is None:
            return None
        return Turn(self.code, self.hints, self.bob, self.eve)


def turns_of(record: Record) -> list[PlayedTurn]:
    """Return the turns of a game, given its decisions.

    In replays, Alice is heard if both listeners are asked anew; else the recorded hints are.
    """
    replayed, answers = record.own["record"], dict[int, list[Probed]]()
    for step, _, question, outcome, attempts, value, _ in record.answers:
        said, brier = frozen(value["said"]), value.get("brier")
        answered = Probed(question, outcome, said, attempts, brier)
        answers.setdefault(step, []).append(answered)
    names = ("round", "seat", "action", "answered", "attempts", "told", "best_low", "option_mean")
    turns: list[PlayedTurn] = []
    columns = zip(*map(record.column, (*names, "details")), strict=True)
    for step, (number, seat, action, outcome, attempts, *row) in enumerate(columns, 1):
        told, best, random, details = row
        role, action = ROLES[seat], frozen(action)
        if seat == ALICE:
            turn = PlayedTurn(number, frozen(record.own["codes"][number - 1]), action)
            turn.told, turn.best, turn.random = bool(told), best, random
            turn.details = {"record": _said(replayed, number)} if replayed else {}
            turns.append(turn)
        turn = turns[-1]
        if seat != ALICE:
            setattr(turn, "bob" if seat == BOB else "eve", action)
        turn.outcomes[role], turn.attempts[role] = outcome, attempts
        turn.details |= {role: dict(details)} if details else {}
        turn.probes += answers.get(step, ())
    for turn in turns if replayed else ():
        alice, *listeners = turn.outcomes.values()
        if turn.hints and alice != RECORDED and RECORDED in listeners:
            turn.details.setdefault("encoder", {})["given"] = list(turn.hints)
            turn.hints = frozen(turn.details["record"]["hints"])
    return turns


def _said(game: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return what was said in a turn of a record; the first one keeps the whole game."""
    told = {name: game["turns"][number - 1][name] for name in ("hints", "bob", "eve")}
    return told | ({"game": game} if number == 1 else {})


def as_record(
    game: PlayedGame, deal: Deal, rules: Rules, recorded: RecordedGame | None = None
) -> Record:
    """Return a played game as it is stored.

    A replay has the outcome that its own guesses led to first. Calls are told by turn.
    """
    own: dict[str, Any] = {"keywords": deal.keywords, "codes": deal.codes}
    own["record"] = None if recorded is None else recorded.as_json()
    record = records.as_record(game, ROLES.__getitem__, outcome=None, **own)
    if game.status == COMPLETE:
        turns = [turn for one in turns_of(record) if (turn := one.turn) is not None]
        ended = (outcome_of(turns[:count], rules) for count in range(1, len(turns) + 1))
        record.own["outcome"] = next(filter(None, ended), None)
    turn_of = {decision.number: decision.round for decision in game.decisions}
    coming = max(turn_of.values(), default=0) + 1
    record.calls = [
        (turn_of.get(number, coming), ROLES[slot], str(call["purpose"]), call)
        for number, slot, _, call in game.calls
    ]
    return record


def step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all of every turn of some cells, by column."""
    for number, definition in store.cells():
        if number not in cells:
            continue
        told, players = store.domain.columns(definition), definition["players"]
        about = {role: told[role] for role in ROLES} | {"records": definition.get("records")}
        about |= {name: definition[name] for name in ("seed", "on_invalid")}
        about |= {f"{role}_model": players[role].get("model") for role in ROLES}
        about["templates_sha256"] = definition.get("templates")
        for record in store.records(number):
            own = {"cell": number, "episode": record.episode, "status": record.status}
            own |= {name: record.own[name] for name in ("outcome", "keywords")}
            for turn in turns_of(record):
                yield about | own | _columns(turn)


def _columns(turn: PlayedTurn) -> dict[str, Any]:
    """Return a turn as exports show it: codes as numbers."""
    said = {one.question: one.value for one in turn.probes}
    lenient = {role: turn.details.get(role, {}).get(LENIENT) for role in ROLES}
    return {
        "step": turn.number,
        "code": code_number(turn.code),
        "hints": None if turn.hints is None else list(turn.hints),
        "bob": code_number(turn.bob),
        "eve": code_number(turn.eve),
        "miscommunication": None if turn.bob is None else turn.bob != turn.code,
        "interception": None if turn.eve is None else turn.eve == turn.code,
        **{f"{role}_outcome": turn.outcomes[role] for role in ROLES},
        **{f"{role}_attempts": turn.attempts[role] for role in ROLES},
        "told": turn.told,
        "best": turn.best,
        "random": turn.random,
        **{_SHOWN_AS[name]: code_number(said.get(name)) for name in ENCODER_QUESTIONS},
        **{_SHOWN_AS.get(q, q): said.get(q) and list(said[q]) for q in INTERCEPTOR_QUESTIONS},
        **{f"{role}_lenient": lenient[role] for role in ROLES},
        "details": turn.details or None,
    }


def code_number(code: Code | None) -> int | None:
    """Return a code as a number of three digits.

    Examples
    --------
    >>> code_number((2, 4, 1))
    241
    """
    return None if code is None else 100 * code[0] + 10 * code[1] + code[2]
