"""A recorded game for readers: who sat where, what happened and who knew of it, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tomeval.games.game import COUNTED, ArenaGame, Event, Probe
from tomeval.games.played import frozen
from tomeval.games.records import STEPS, struck_seats
from tomeval.runs.domain import Line
from tomeval.runs.record import Record

_VERDICTS = {
    "default": "replaced: another action counts instead of the refused one",
    "invalid": "refused for good, so the game could not continue",
    "fatal": "refused for good, which cost it the game or its place in it",
    "moot": "refused for good, at no cost: the game had ended with another player's error",
}
"""What verdicts other than ``valid`` mean; ``moot``: it broke the rules beside another one."""


def transcript(
    game: ArenaGame[Any],
    record: Record,
    title: str,
    players: Sequence[str],
    states: Sequence[Any],
    step: str = "step",
) -> Iterator[Line]:
    """Yield a game: players, decisions with what they cost, events, and the ending.

    Parameters
    ----------
    players : sequence of str
        By slot.
    states : sequence
        After the deal, and after every entry of the record's marks.
    step : str
        What lines are numbered by: decisions, or a column of them.
    """
    own, roles = record.own, record.own["roles"]
    names = [game.seat_name(seat) for seat in range(game.seats)]
    who = [f"{name} ({players[own['seats'].index(seat)]})" for seat, name in enumerate(names)]

    def line(event: Event) -> str:
        text, known = game.line(event), ""  # who knows of it; empty: everybody does
        if event.to is not None:
            known = f"only {', '.join(map(names.__getitem__, event.to))}" if event.to else "hidden"
            known = "private" if event.to == (event.seat,) else known
        if event.seat is not None:
            text = text.replace(names[event.seat], who[event.seat], 1)
        return f"[{known}] {text}" if known else text

    yield Line(0, f"{title}: {record.status}")
    for seat, text in enumerate(who):
        role = f", {roles[seat]}" if len(set(roles)) > 1 else ""
        yield Line(0, text + role + ", measured" * (seat == own["seats"][0]))
    stages = _stages(record)
    at = now = 0
    for entry, events in enumerate(happened(game, states), -1):
        for row in stages.get(entry, ()):
            at = row[step]
            if row["round"] != now and step != "round":
                yield Line(at, f"{game.round_word.capitalize()} {row['round']}", heading=True)
            now = row["round"]
            mine = [e for e in events if (e.seat, e.kind) == (row["seat"], row["kind"])]
            events = [event for event in events if event not in mine]
            kind, acted = row["kind"].replace("_", " "), _acted(game, row, "action")
            texts = [line(event) for event in mine]
            texts = texts or [f"{who[row['seat']]}, {kind}: {acted or 'nothing'}"]
            yield from (Line(at, text) for text in (*texts, *_notes(game, row)))
        yield from (Line(at, line(event)) for event in events)
    if own["ending"]:
        meaning = game.endings.get(own["ending"], "")
        ending = f"ending: {own['ending'].replace('_', ' ')}"
        yield Line(-1, ending + (f" ({meaning})" if meaning else ""))
        width = max(map(len, who))
        for text, reward, won in zip(who, own["rewards"], own["wins"], strict=True):
            share = "wins" if won == 1 else f"{won:.3g} of the win" if won else ""
            yield Line(-1, f"{text.ljust(width)}  reward {reward:g}  {share}".rstrip())


def happened(game: ArenaGame[Any], states: Sequence[Any]) -> Iterator[list[Event]]:
    """Yield the events of the deal, then those of each entry of a record, and once more none."""
    told = 0
    for state in states:
        events = game.events(state)
        yield list(events[told:])
        told = len(events)
    yield []  # of a stage that was begun and came to nothing


def _stages(record: Record) -> dict[int, list[dict[str, Any]]]:
    """Return decisions by entry of the record, each with the answers to its probes."""
    struck = struck_seats(record.own["marks"])
    stages: dict[int, list[dict[str, Any]]] = {}
    columns = zip(*map(record.column, STEPS), strict=True)
    for number, values in enumerate(columns, 1):
        row = dict(zip(STEPS, values, strict=True)) | {"step": number}
        row["probes"] = [answer for answer in record.answers if answer[0] == number]
        if row["verdict"] == "fatal" and row["seat"] not in struck:
            row["verdict"] = "moot"
        stages.setdefault(row["stage"], []).append(row)
    return stages


def _notes(game: ArenaGame[Any], row: dict[str, Any]) -> Iterator[str]:
    """Describe what went wrong with a decision, its value and its prediction."""
    for error, why in row["tries"] or ():
        yield f"[refused attempt, {error} error: {why}]"
    if row["verdict"] in _VERDICTS:
        yield f"[{_VERDICTS[row['verdict']]}]"
    shown = (("best", "V*"), ("chosen", "Q*"), ("regret", "regret"))
    parts = [f"{word} {row[name]:.4g}" for name, word in shown if row[name] is not None]
    worth = [", ".join(parts)] if parts else []
    if row["tom_regret"] is not None:
        worth.append(f"best reply to its predictions: {_acted(game, row, 'reply')}")
        worth[-1] += f", regret {row['tom_regret']:.4g}"
    if worth:
        yield f"[{'; '.join(worth)}]"
    for name, value in (row["details"] or {}).items():
        yield f"[{name.replace('_', ' ')}: {json.dumps(value, ensure_ascii=False)}]"
    for _, _, question, outcome, _, told, _ in row["probes"]:
        yield f"[predicts {_probe(game, question, outcome, told)}]"


def _acted(game: ArenaGame[Any], row: dict[str, Any], name: str) -> str:
    """Return the action or the best reply of a decision in words, or ''."""
    there = row["verdict"] in COUNTED if name == "action" else row["tom_regret"] is not None
    return game.told(row["kind"], frozen(row[name])) if there else ""


def _probe(game: ArenaGame[Any], question: str, outcome: str, told: Mapping[str, Any]) -> str:
    """Return a prediction, and the truth if it showed."""
    about = question.removeprefix(told["probe"]).removeprefix("_")
    probe, hit = Probe(told["probe"], int(about) if about.isdecimal() else None), told["hit"]
    valid = outcome == "valid"
    said = game.told(probe.name, frozen(told["said"])) if valid else outcome.replace("_", " ")
    parts = [f"{game.asked(probe)}: {said}"]
    if (truth := told["truth"]) is not None:
        parts.append("right" if hit == 1 else f"true: {game.told(probe.name, frozen(truth))}")
    return "; ".join(parts)
