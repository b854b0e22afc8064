"""Turns of played games, derived from their decisions, and as arrays: what measures read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, EMPTY, LENIENT, NOT_ASKED, VALID
from tomeval.games import records
from tomeval.games.decrypto.game import Turn, as_code, code_number, outcome_of
from tomeval.games.decrypto.replays import Replay
from tomeval.games.decrypto.seats import (
    ALICE,
    BOB,
    ENCODER_QUESTIONS,
    EVE,
    INTERCEPTOR_QUESTIONS,
    ROLES,
)
from tomeval.games.played import RECORDED, PlayedGame, frozen
from tomeval.runs.record import Record, Schema

if TYPE_CHECKING:
    from tomeval.games.decrypto.experiment import DecryptoCell

SHOWN_AS = {
    "eve": "predicted_eve",
    "eve_reminded": "predicted_eve_reminded",
    "bob": "predicted_bob",
    "keywords": "believed_keywords",
    **{question: question for question in INTERCEPTOR_QUESTIONS[1:]},
}
"""Columns of turns by question."""

_PREDICTED = tuple(SHOWN_AS[name] for name in ENCODER_QUESTIONS)
READ: dict[type, tuple[str, ...]] = {
    np.int64: ("game", "step", "code", "bob", "eve", *_PREDICTED),
    np.bool_: ("miscommunication", "interception", "own", "guessed_bob", "guessed_eve"),
    np.float64: ("best", "random", *(f"brier_{question}" for question in ENCODER_QUESTIONS)),
    np.str_: ("keywords", *(SHOWN_AS[name] for name in INTERCEPTOR_QUESTIONS)),
}
"""What measures read of turns by type. `own`: whether the hints are Alice's own: valid, and heard
(in replays they may not be); `guessed_bob`, `guessed_eve`: whether the guess is their own, not
drawn for an invalid one. What is not known is `NONE`, NaN or an empty text; keywords are
`comparable`, those of the turn's `game`, from 0."""

COLUMNS: tuple[str, ...] = ("step", "code", "hints", "bob", "eve")
COLUMNS += ("miscommunication", "interception")
COLUMNS += (*(f"{role}_outcome" for role in ROLES), *(f"{role}_attempts" for role in ROLES))
COLUMNS += ("told", "best", "random", *SHOWN_AS.values())
COLUMNS += (*(f"{role}_lenient" for role in ROLES), "details")
"""What is known of a turn. Codes are numbers of three digits; `bob` and `eve` are guesses; hints
are those that were heard; an answer that was invalid, or not asked for, is None. `told`: whether
Alice learned what her view does not show; `best` and `random`: what the best and random hints
were worth, if that was searched for. `details`, by role, are facts such as an Oracle's draft and
hints that nobody heard (``given``)."""

SCHEMA = Schema(
    ("outcome", "keywords", *records.EPISODES, "codes", "record"),
    records.STEPS,
    records.asked_of(ROLES.__getitem__, "slot"),
    unit="deal",
    turn="round",
)
"""Decisions, with how the game ended, what was dealt, and the game that it replays."""


def turns_of(record: Record) -> list[dict[str, Any]]:
    """Return the turns of a game by `COLUMNS`, and what else `READ` has.

    In replays, Alice is heard if both listeners are asked anew; else the recorded hints are.
    """
    replayed, answers = record.own["record"], dict[int, list[tuple[Any, ...]]]()
    for answer in record.answers:
        answers.setdefault(answer[0], []).append(answer)
    turns: list[dict[str, Any]] = []
    names = ("round", "seat", "action", "answered", "attempts", "told", "best", "option_mean")
    columns = zip(*map(record.column, (*names, "details")), strict=True)
    for step, (number, seat, action, outcome, attempts, told, *worth, facts) in enumerate(
        columns, 1
    ):
        if seat == ALICE:
            turns.append(_begun(record, number))
            turns[-1] |= {"hints": action and [*action], "told": bool(told)}
            turns[-1] |= zip(("best", "random"), worth, strict=True)
        turn, role = turns[-1], ROLES[seat]
        if seat != ALICE and action is not None:
            right = code_number(action) == turn["code"]
            named = ("bob", "miscommunication") if seat == BOB else ("eve", "interception")
            turn |= zip(named, (code_number(action), right != (seat == BOB)), strict=True)
        turn[f"{role}_outcome"], turn[f"{role}_attempts"] = outcome, attempts
        turn[f"{role}_lenient"] = (facts or {}).get(LENIENT)
        turn["details"] |= {role: dict(facts)} if facts else {}
        for _, _, question, _, _, value, _ in answers.get(step, ()):
            said = value["said"]
            is_code = question in ENCODER_QUESTIONS
            turn[SHOWN_AS[question]] = code_number(said) if is_code else said and [*said]
            turn[f"brier_{question}"] = value.get("brier")
    for turn in turns:
        alice, bob, eve = (turn[f"{role}_outcome"] for role in ROLES)
        heard = not replayed or alice == RECORDED or RECORDED not in (bob, eve)
        if turn["hints"] and not heard:
            turn["details"].setdefault("encoder", {})["given"] = turn["hints"]
            turn["hints"] = replayed["turns"][turn["step"] - 1]["hints"]
        turn |= {"own": alice == VALID and heard, "keywords": record.own["keywords"]}
        for seat, outcome in ((BOB, bob), (EVE, eve)):
            name, role = ("bob", "eve")[seat == EVE], ROLES[seat]
            if outcome == RECORDED and as_code(_code(turn[name])) is None:
                outcome = turn[f"{role}_outcome"] = "illegal" if turn[name] else EMPTY
            turn[f"guessed_{name}"] = outcome in (VALID, RECORDED)
    return turns


def _begun(record: Record, number: int) -> dict[str, Any]:
    """Return a turn of which nothing is known but its code."""
    turn = dict.fromkeys((*COLUMNS, *READ[np.float64]))
    turn |= {f"{role}_outcome": NOT_ASKED for role in ROLES}
    turn |= dict.fromkeys((f"{role}_attempts" for role in ROLES), 0)
    code = code_number(record.own["codes"][number - 1])
    return turn | {"step": number, "code": code, "details": {}}


def finished(turns: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Return those of a game's turns that were finished."""
    whole = (turn for turn in turns if None not in (turn["hints"], turn["bob"], turn["eve"]))
    return [
        Turn(_code(turn["code"]), frozen(turn["hints"]), _code(turn["bob"]), _code(turn["eve"]))
        for turn in whole
    ]


def as_record(cell: DecryptoCell, game: PlayedGame) -> Record:
    """Return a played game as it is stored.

    A replay has the outcome that its own guesses led to first. Calls are told by turn.
    """
    first, of = cell.first(game.index), cell.game_of(game.index)
    own: dict[str, Any] = {"keywords": first.deal.keywords, "codes": first.deal.codes}
    own["record"] = of.record.as_json() if isinstance(of, Replay) else None
    record = records.as_record(game, ROLES.__getitem__, outcome=None, **own)
    if game.status == COMPLETE:
        turns = finished(turns_of(record))
        ended = (outcome_of(turns[:count], first.rules) for count in range(1, len(turns) + 1))
        record.own["outcome"] = next(filter(None, ended), None)
    turn_of = {decision.number: decision.round for decision in game.decisions}
    coming = max(turn_of.values(), default=0) + 1
    record.calls = [
        (turn_of.get(number, coming), ROLES[slot], str(call["purpose"]), call)
        for number, slot, _, call in game.calls
    ]
    return record


def _code(number: int) -> Any:
    return tuple(map(int, str(number or "")))


NONE = 0
"""Stands for no guess or prediction in arrays of codes."""
