"""What is recorded of played steps, and how it is collected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tomeval.core.outcomes import NOT_ASKED
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.played import Decision, PlayedGame, Probed
from tomeval.games.seats import Answer
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.games.matrix.play import Setup

NONE = -1
"""Index that stands for 'no action' in the arrays; NULL on disk."""

SEAT = "subject"
"""The seat that is measured in tables of cells."""

PARTNER = "partner"
"""The other seat, where a player sits in it and no table. Its answers are among ``answers``: to
``act`` and ``predict`` an object with ``action`` and, where they are known, ``probs`` and
``details``; to other questions as for the subject. The steps hold its action too."""

SEATS = (SEAT, PARTNER)

ACT, PREDICT = "act", "predict"
"""The questions of every step."""

REACT = "react"
"""The question of the conditional probe; a number follows it, the index of an own action."""

DRAW = "draw"
"""The literal question once more, to see how often each answer comes; a number follows it."""

BELIEF = "belief"
"""The key of what was stated to a subject among the facts about its action, see `subjects.base`."""

COLUMNS = {
    "partner_state": "INTEGER",
    "own_action": "INTEGER",
    "partner_action": "INTEGER",
    "own_reward": "REAL",
    "partner_reward": "REAL",
    "predicted_action": "INTEGER",
    "own_probs": "TEXT",
    "predicted_probs": "TEXT",
    "act_outcome": "TEXT",
    "predict_outcome": "TEXT",
    "act_attempts": "INTEGER",
    "predict_attempts": "INTEGER",
    "told": "INTEGER",
    "act_details": "TEXT",
    "predict_details": "TEXT",
    "reactions": "TEXT",
}
"""The columns of steps. `own_probs` and `predicted_probs` are null where all mass lies on what was
chosen; `told` is 1 where the subject learned what the observation does not show; `reactions` has,
per own action, the partner's next action that counts, stated or, under the policy ``random``,
drawn; -1 where there is none."""


def as_record(setup: Setup, played: PlayedGame, status: str = "") -> Record:
    """Return what was played of an episode as it is stored; default: with its own status."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    episode, which, tables = played.index, played.deal, setup.partners
    record = Record(episode, status or played.status, 0, {"partner": which}, columns)
    partner = tables.partners[which] if isinstance(tables, PartnerSet) else None
    state = NONE if partner is None else partner.start
    rounds: dict[int, dict[int, Decision]] = {}
    for decision in played.decisions:
        rounds.setdefault(decision.stage, {})[decision.seat] = decision
    for step, decided in enumerate(rounds.values(), 1):
        own, theirs = (decided[seat].action if seat in decided else None for seat in (0, 1))
        row: dict[str, Any] = _columns(decided.get(0))
        row |= {"partner_state": state, "own_action": own, "partner_action": theirs}
        if own is not None and theirs is not None:
            rewards = setup.game.payoffs[own, theirs].tolist()
            row |= zip(("own_reward", "partner_reward"), rewards, strict=True)
            state = NONE if partner is None else int(partner.next_state[state, own, theirs])
        for name, values in columns.items():
            values.append(row.get(name))
        for seat, decision in decided.items():
            if seat == 0 or partner is None:
                record.answers += _answers(step, SEATS[seat], decision)
    record.steps = len(rounds)
    for number, slot, form, call in played.calls:
        step, purpose = call.get("step", (number + 1) // 2), form.partition("_")[0]
        record.calls.append((step, SEATS[slot], call.get("purpose", purpose), call))
    return record


def _asked(decision: Decision | None, name: str) -> list[Probed]:
    return [] if decision is None else [one for one in decision.probed if one.probe.name == name]


def _columns(decision: Decision | None) -> dict[str, Any]:
    """Return the columns of what the subject answered in a step; None: it was not asked."""
    row: dict[str, Any] = {"told": int(decision is not None and decision.told)}
    act = None if decision is None else decision.answer
    said, counted = None, None
    for one in _asked(decision, PREDICT):
        said, counted = one.answer, one.counted
    row["predicted_action"] = counted
    for form, of, answer in ((ACT, "own", act), (PREDICT, "predicted", said)):
        there = answer is not None and answer.attempts > 0  # else it was not asked
        row[f"{form}_outcome"] = answer.outcome if answer and there else NOT_ASKED
        row[f"{form}_attempts"] = answer.attempts if answer else 0
        row[f"{form}_details"] = answer.details if answer else None
        row[f"{of}_probs"] = answer.probs if answer else None
    if reactions := _asked(decision, REACT):
        row["reactions"] = [NONE if one.counted is None else one.counted for one in reactions]
    return row


def _answers(step: int, seat: str, decision: Decision) -> Iterator[tuple[Any, ...]]:
    """Yield the answers of a step that have no columns."""

    def row(question: str, answer: Answer, value: Any) -> tuple[Any, ...]:
        return step, seat, question, answer.outcome, answer.attempts, value, answer.raw

    if seat == PARTNER:
        told = [(ACT, decision.answer, decision.action)]
        told += [(PREDICT, one.answer, one.counted) for one in _asked(decision, PREDICT)]
        for form, answer, action in told:
            more = {"probs": answer.probs, "details": answer.details}
            said = {"action": action, **{k: v for k, v in more.items() if v is not None}}
            if answer.attempts:
                yield row(form, answer, said)
    for one in decision.probed:
        if one.probe.name == REACT:
            value = one.answer.action if seat == SEAT else one.counted
            yield row(f"{REACT} {one.probe.given}", one.answer, value)
        elif one.probe.name != PREDICT:
            yield row(one.probe.name, one.answer, one.answer.action)
