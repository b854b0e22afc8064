"""A recorded game for readers: who sat where, what happened and who knew of it, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.domains.arena.game import ArenaGame, Event, Probe
from tomeval.domains.arena.replaying import actions_of, first_state, frozen, replayed
from tomeval.domains.arena.results import ArenaRunCell, struck_seats
from tomeval.domains.arena.solver import Bound
from tomeval.domains.arena.storing import calls_by_step
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run
from tomeval.runs.store import Store

_BOUNDS = ("best", "chosen", "regret", "tom_regret")
_STEP: tuple[str, ...] = ("step", "stage", "round", "seat", "kind", "verdict", "action", "tries")
_STEP += (*(f"{name}_{end}" for name in _BOUNDS for end in ("low", "high")), "reply")
_GAME: tuple[str, ...] = ("status", "deal", "ending", "seats", "roles", "rewards", "wins", "marks")
_ANSWER = ("step", "question", "outcome", "value")

_VERDICTS = {
    "default": "not its own: another action counts in place of the refused one",
    "invalid": "refused for good, so that the game could not go on",
    "fatal": "refused for good, which cost it the game or its place in it",
    "moot": "refused for good, at no cost: the game had ended with another player's error",
}
"""What verdicts other than ``valid`` mean; ``moot``: it broke the rules beside another one."""


class Happened(NamedTuple):
    """An event, and the decision after which it is known; 0: before the first.

    `text` is a line of who knows and what. `own`: it tells of that decision alone.
    """

    step: int
    event: Event
    text: str
    own: bool = False


class Decided(NamedTuple):
    """One decision, `action` in words; for what is not said here see `played.Decision`.

    `silent`: all that came of it is that the seat said nothing; `own`: an event tells of it alone.
    `notes` say what went wrong, what it was worth and what it predicted.
    """

    step: int
    stage: int
    round: int
    seat: int
    kind: str
    action: str
    silent: bool
    own: bool
    notes: list[str]


class Retold(NamedTuple):
    """A game; `measured` is the subject's seat, what follows it up to `wins` lists by seat.

    `ending`, `rewards` and `wins` are empty unless the game is complete.
    """

    status: str
    deal: int
    ending: str
    measured: int
    names: list[str]
    players: list[str]
    roles: list[str]
    rewards: list[float]
    wins: list[float]
    happened: list[Happened]
    decided: list[Decided]

    def who(self, seat: int) -> str:
        """Return a seat and its player."""
        return f"{self.names[seat]} ({self.players[seat]})"


def retell(store: Store, cell: ArenaRunCell, episode: int) -> Retold:
    """Return a recorded game, played again from its record."""
    [recorded] = store.read("episodes", _GAME, cell.number, episode)
    status, deal, ending, *lists = recorded
    seats, roles, rewards, wins, marks = map(json.loads, lists)
    steps = store.read("steps", _STEP, cell.number, episode)
    rows = [dict(zip(_STEP, row, strict=True)) for row in steps]
    struck = struck_seats(marks)
    for row in rows:
        if row["verdict"] == "fatal" and row["seat"] not in struck:
            row["verdict"] = "moot"
    game, names = cell.table.game, [player["name"] for player in cell.definition["players"]]
    players = [names[seats.index(seat)] for seat in range(game.seats)]
    try:
        happened = _happened(cell, episode, deal, marks, rows, players)
    except (ValueError, KeyError, IndexError) as error:
        raise store.damaged(f"game {episode} of cell {cell.number}: {error}") from None
    own = {one.step: one.event for one in happened if one.own}
    probes: dict[int, list[str]] = {}
    for step, *answer in store.read("answers", _ANSWER, cell.number, episode):
        probes.setdefault(step, []).append(f"[predicts {_probe(game, *answer)}]")
    decided = [_decided(game, r, own.get(r["step"]), probes.get(r["step"], [])) for r in rows]
    head = status, deal, ending, seats[0], [game.seat_name(seat) for seat in range(game.seats)]
    return Retold(*head, players, roles, rewards, wins, happened, decided)


def _happened(
    cell: ArenaRunCell,
    episode: int,
    deal: int,
    marks: Sequence[Any],
    rows: Sequence[dict[str, Any]],
    players: Sequence[str],
) -> list[Happened]:
    """Play a game again, and return its events by the decision after which they are known.

    An event that tells of one decision alone belongs to it, all others to the last one of their
    stage.
    """
    game = cell.table.game
    state = first_state(cell, episode, deal)
    events = game.events(state)
    known: list[tuple[int, Event, bool]] = [(0, event, False) for event in events]
    due: dict[int, dict[int, tuple[int, str]]] = {}
    for row in rows:
        due.setdefault(row["stage"], {})[row["seat"]] = (row["step"], row["kind"])
    actions = actions_of([(row["stage"], row["seat"], row["action"]) for row in rows])
    last = 0
    for stage, after in replayed(cell, state, marks, actions):
        told, events = len(events), game.events(after)
        decided = due.get(stage, {})
        last = max([last, *(step for step, _ in decided.values())])
        for event in events[told:]:
            step, kind = decided.get(-1 if event.seat is None else event.seat, (last, ""))
            first = len(decided) == 1 and event is events[told]
            own = event.kind == kind or (kind != "" and (first or event.to == (event.seat,)))
            known.append((step if own else last, event, own))
    known.sort(key=lambda one: (one[0], not one[2]))
    return [Happened(step, e, _line(game, e, players), own) for step, e, own in known]


def _line(game: ArenaGame[Any], event: Event, players: Sequence[str]) -> str:
    """Return an event as a line, with player behind seat and who knew of it, if not all, ahead."""
    text, names = game.line(event), [game.seat_name(seat) for seat in range(game.seats)]
    if (seat := event.seat) is not None:
        text = text.replace(names[seat], f"{names[seat]} ({players[seat]})", 1)
    known = known_to(names, event)
    return f"[{known}] {text}" if known else text


def known_to(names: Sequence[str], event: Event) -> str:
    """Say who knows of an event; empty: everybody does."""
    if event.to is None or event.to == (event.seat,):
        return "" if event.to is None else "private"
    return f"only {', '.join(names[seat] for seat in event.to)}" if event.to else "hidden"


def _decided(
    game: ArenaGame[Any], row: dict[str, Any], event: Event | None, predicted: Sequence[str]
) -> Decided:
    """Return a decision, given the event that tells of it alone."""
    acted, reply = (
        "" if row[name] is None else game.acted(row["kind"], frozen(json.loads(row[name])))
        for name in ("action", "reply")
    )
    ends = {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in _BOUNDS}
    worth = {name: Bound(*two) for name, two in ends.items() if None not in two}
    silent, tries = event is not None and game.silent(event), json.loads(row["tries"] or "[]")
    notes = [f"[refused attempt, {error} error: {why}]" for error, why in tries]
    if row["verdict"] in _VERDICTS:
        notes.append(f"[{_VERDICTS[row['verdict']]}]")
    if worth and not (silent and worth.get("regret") == (0.0, 0.0)):
        notes.append(f"[{'; '.join(_worth(worth, reply))}]")
    notes += predicted
    kind, own = row["kind"].replace("_", " "), event is not None
    where = row["step"], row["stage"], row["round"], row["seat"]
    return Decided(*where, kind, acted, silent, own, notes)


def _worth(worth: Mapping[str, Bound], reply: str) -> Iterator[str]:
    """Yield V*, Q* and regret, each as a number or with its bounds, and that of the reply."""
    shown = (("best", "V*"), ("chosen", "Q*"), ("regret", "regret"))
    yield ", ".join(f"{word} {bound_text(worth[name])}" for name, word in shown if name in worth)
    if "tom_regret" in worth:
        yield f"best reply to its predictions: {reply}, regret {bound_text(worth['tom_regret'])}"


def bound_text(value: Bound) -> str:
    """Return a value, or the two ends of what is known of it.

    Examples
    --------
    >>> bound_text(Bound(0.5, 0.5)), bound_text(Bound(-1 / 3, 1.0))
    ('0.5', '-0.3333 to 1')
    """
    low = f"{value.low:.4g}"
    return low if value.exact else f"{low} to {value.high:.4g}"


def _probe(game: ArenaGame[Any], question: str, outcome: str, value: str) -> str:
    """Return a prediction, the truth if it showed, and what the exact observer knew."""
    told = json.loads(value)
    about = question.removeprefix(told["probe"]).removeprefix("_")
    probe, hit = Probe(told["probe"], int(about) if about.isdecimal() else None), told["hit"]
    valid = outcome == "valid"
    said = game.told(probe, frozen(told["said"])) if valid else outcome.replace("_", " ")
    parts = [f"{game.asked(probe)}: {said}"]
    if (truth := told["truth"]) is not None:
        parts.append("right" if hit == 1 else f"true: {game.told(probe, frozen(truth))}")
        if hit is not None and 0 < hit < 1:
            parts.append(f"{100 * hit:.0f} % right")
    if told["probability"] is not None:
        parts.append(f"gave it {told['probability']:.3g}")
    return "; ".join(parts) + _observed(told["observer"], told["attainable"])


def _observed(given: float | None, attainable: float | None) -> str:
    """Say what an exact observer gave to the truth, and what it could attain."""
    if given == 1 or (given is None and attainable == 1):
        return " (certain to an exact observer)"
    gives = [] if given is None else [f"gives it {given:.3g}"]
    attains = [] if attainable is None else [f"attains {100 * attainable:.0f} %"]
    return f" (an exact observer {', '.join(gives + attains)})" if gives + attains else ""


def game_lines(run: Run, cell: ArenaRunCell, episode: int) -> Iterator[Line]:
    """Yield a game of a run: players, decisions with what they cost, events, and the ending.

    Seats that say nothing one after the other share a line, unless something else is to be told of
    such a decision.
    """
    store = run.store
    told = retell(store, cell, episode)
    yield Line(0, f"{cell.name}; seed {cell.seed}, game {episode}, deal {told.deal}: {told.status}")
    for seat, name in enumerate(told.names):
        role = f", {told.roles[seat]}" if len(set(told.roles)) > 1 else ""
        measured = ", measured" if seat == told.measured else ""
        yield Line(0, f"{name}: {told.players[seat]}{role}{measured}")
    called = set(calls_by_step(store, cell.number, episode))
    events: dict[int, list[Happened]] = {}
    for one in told.happened:
        events.setdefault(one.step, []).append(one)
    yield from (Line(0, one.text) for one in events.pop(0, ()))
    silent: list[Decided] = []
    now = 0
    for row in told.decided:
        if row.round != now:
            yield from _silence(told, silent)
            now = row.round
            yield Line(row.step, f"{cell.table.game.round_word.capitalize()} {now}", heading=True)
        mine = events.get(row.step, [])
        if row.silent and len(mine) == 1 and not row.notes and row.step not in called:
            silent.append(row)
            continue
        yield from _silence(told, silent)
        shared = any(events.get(other.step) for other in told.decided if other.stage == row.stage)
        texts = [one.text for one in mine if one.own]
        if not row.own and (row.notes or row.step in called or not shared):
            texts = [f"{told.who(row.seat)}, {row.kind}: {row.action or 'nothing'}", *texts]
        texts += [*row.notes, *(one.text for one in mine if not one.own)]
        yield from (Line(row.step, text) for text in texts)
    yield from _silence(told, silent)
    yield from (Line(-1, line) for line in (_ending(cell, told) if told.ending else ()))


def _silence(told: Retold, rows: list[Decided]) -> Iterator[Line]:
    """Yield one line for seats that said nothing, and forget them."""
    if rows:
        names = list(dict.fromkeys(told.names[row.seat] for row in rows))
        text = f"{', '.join(names)} say{'s' if len(names) == 1 else ''} nothing"
        text = "nobody says anything" if len(names) == len(told.names) > 1 else text
        yield Line(rows[-1].step, text)
        rows.clear()


def _ending(cell: ArenaRunCell, told: Retold) -> Iterator[str]:
    """Yield how the game ended, and what every seat got."""
    meaning = cell.table.kind.endings.get(told.ending, "")
    yield f"ending: {told.ending.replace('_', ' ')}" + (f" ({meaning})" if meaning else "")
    width = max(len(told.who(seat)) for seat in range(len(told.names)))
    for seat, (reward, won) in enumerate(zip(told.rewards, told.wins, strict=True)):
        share = "wins" if won == 1 else f"{won:.3g} of the win" if won else ""
        yield f"{told.who(seat).ljust(width)}  reward {reward:g}  {share}".rstrip()
