"""Played games as records of the store: a row a decision, whatever the game."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tomeval.games.game import COUNTED
from tomeval.games.played import RECORDED, Decision, PlayedGame, Probed
from tomeval.runs.record import Asked, Column, Record

VALUES = ("best", "chosen", "regret", "tom_regret")
PAYOFFS = ("step_payoff", "step_best", "step_reply")
WEIGHED = ("best", "chosen", "mean")
HELD = ("option_mean", *(f"said_{name}" for name in WEIGHED))
HELD += (*(f"step_said_{name}" for name in WEIGHED), "other_lost", "other_chance", "depends")
"""What the scores are made of: what options are worth on average (Q*); what the best, the chosen
and the mean option are worth if what was stated is true, in the end and in this stage; what the
decision and a random option lose if random statements are; whether they change the best option."""

EPISODES: tuple[str, ...] = ("deal", "role", "reward", "won", "rounds", "ending", "seats")
EPISODES += ("roles", "teams", "rewards", "wins", "marks", "best_value", "random_value")
"""`deal` groups games that share a deal; `role`, `reward` and `won` are the subject's; `seats` is
the seat of every player, the subject first; the lists after it are by seat. `best_value` is V* of
the subject's seat before the deal, `random_value` what random play is worth there."""

STEPS: tuple[str, ...] = ("stage", "round", "seat", "slot", "kind", "action", "verdict")
STEPS += ("answered", "attempts", "error", "tries", *VALUES, "reply", *PAYOFFS, *HELD)
STEPS += ("told", "details")
"""One value per decision of any seat. `action` is null too if nothing counted, see `COUNTED`;
`answered` is what became of the answer, `tries` are the refused attempts as [error, words]; `error`
is the type of the last one if there was no other; `told` is 1 where the subject learned what its
view does not show."""


def asked_of(name_of: Callable[[int], str], question: str = "kind") -> Asked:
    """Return what was asked for each decision, given the names of slots and a column of steps."""

    def asked(record: Record) -> list[tuple[Column, ...]]:
        seats = [name_of(slot) for slot in record.column("slot")]
        kinds = seats if question == "slot" else record.columns.get(question)
        return [(seats, kinds, record.columns.get("answered"), record.columns.get("attempts"))]

    return asked


def as_record(game: PlayedGame, name_of: Callable[[int], str], **more: Any) -> Record:
    """Return a played game as it is stored; `name_of` names slots, `more` are its own columns."""
    seat = game.seats[0]
    own = {
        "deal": game.deal,
        "role": game.roles[seat],
        "reward": game.rewards[seat] if game.rewards else None,
        "won": game.wins[seat] if game.wins else None,
        "rounds": game.rounds,
        "ending": game.ending,
        "seats": game.seats,
        "roles": game.roles,
        "teams": game.teams,
        "rewards": game.rewards,
        "wins": game.wins,
        "marks": game.record,
        "best_value": game.best_value,
        "random_value": game.random_value,
    }
    rows = [_step(decision) for decision in game.decisions]
    columns = {name: [row[name] for row in rows] for name in STEPS}
    calls = [(number, name_of(slot), form, call) for number, slot, form, call in game.calls]
    answers = [answer for row in game.decisions for answer in _answers(row, name_of(row.slot))]
    return Record(game.index, game.status, len(rows), own | more, columns, answers, calls)


def _step(row: Decision) -> dict[str, Any]:
    answer, worth = row.answer, row.worth
    counted, details = row.verdict in COUNTED, dict(answer.details or {})
    recorded = details.pop(RECORDED, False)
    values = {name: _number(getattr(worth, name, None)) for name in VALUES}
    step = None if worth is None else worth.step
    payoffs = (None,) * 3 if step is None else tuple(map(_number, step))
    held: list[float | None] = [None] * len(HELD)
    if worth is not None:
        options, said, now = worth.options, worth.said, worth.step_said
        held = [None if options is None else _number(options.mean)]
        held += [*(said or (None,) * 3), *(now or (None,) * 3), *(worth.other or (None,) * 2)]
        held.append(None if worth.depends is None else float(worth.depends))
    replied = worth is not None and worth.tom_regret is not None
    return {
        **{"stage": row.stage, "round": row.round, "seat": row.seat, "slot": row.slot},
        "kind": row.kind,
        "action": row.action if counted else None,
        "verdict": row.verdict,
        "answered": RECORDED if recorded else answer.outcome,
        "attempts": answer.attempts,
        "error": row.error.error or None if not counted or row.verdict == "default" else None,
        "tries": answer.tries or None,
        **values,
        "reply": worth.reply if replied and worth is not None else None,
        **dict(zip((*PAYOFFS, *HELD), (*payoffs, *held), strict=True)),
        "told": int(row.told) or None,
        "details": details or None,
    }


def _answers(row: Decision, name: str) -> Iterator[tuple[Any, ...]]:
    for probed in row.probed:
        answer, question = probed.answer, probed.probe.question
        about = (row.number, name, question, answer.outcome, answer.attempts)
        yield (*about, _scored(probed), answer.raw)


def _scored(probed: Probed) -> dict[str, Any]:
    """Return what is known of a probe, JSON-ready."""
    names = ("truth", "hit", "probability", "brier", "attainable", "observer", "observer_brier")
    known = {name: getattr(probed, name) for name in (*names, "chance")}
    said = {"said": probed.answer.action, "probe": probed.probe.name}
    tries = probed.answer.tries
    return {**said, **known, **({"tries": tries} if tries else {})}


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def struck_seats(marks: Sequence[Any]) -> set[int]:
    """Return the seats that a broken rule cost the game or their place, from a game's record.

    Of several that break the rules in one stage the first is struck; if that ends the game, it cost
    the others nothing.

    Examples
    --------
    >>> struck_seats([0, 1, (2, "vote", "eliminate"), 0])
    {2}
    """
    return {mark[0] for mark in marks if not isinstance(mark, int)}
