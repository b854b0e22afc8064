"""A recorded game for readers: who sat where, what happened and who knew of it, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tomeval.games.arena.replaying import actions_of, first_state, replayed
from tomeval.games.arena.results import ArenaRunCell, struck_seats
from tomeval.games.game import ArenaGame, Event, Probe
from tomeval.games.played import COUNTED, frozen
from tomeval.games.solver import Bound
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run
from tomeval.runs.store import Store

_BOUNDS = ("best", "chosen", "regret", "tom_regret")
_STEP: tuple[str, ...] = ("step", "stage", "round", "seat", "kind", "verdict", "action", "tries")
_STEP += (*(f"{name}_{end}" for name in _BOUNDS for end in ("low", "high")), "reply")
_GAME: tuple[str, ...] = ("status", "deal", "ending", "seats", "roles", "rewards", "wins", "marks")
_DECIDED = ("stage", "seat", "verdict", "action")
_ANSWER = ("step", "question", "outcome", "value")

_VERDICTS = {
    "default": "replaced: another action counts instead of the refused one",
    "invalid": "refused for good, so the game could not continue",
    "fatal": "refused for good, which cost it the game or its place in it",
    "moot": "refused for good, at no cost: the game had ended with another player's error",
}
"""What verdicts other than ``valid`` mean; ``moot``: it broke the rules beside another one."""


class Happened(NamedTuple):
    """An event, and the decision after which it is known; 0: before the first.

    `own`: it tells of that decision alone.
    """

    step: int
    event: Event
    own: bool = False


@dataclass(frozen=True)
class Retold:
    """A recorded game, played again.

    `decided` are the rows of its decisions, with the answers to their probes under ``probes``;
    `measured` is the subject's seat, what follows it up to `wins` are lists by seat. `ending`,
    `rewards` and `wins` are empty unless the game is complete.
    """

    cell: ArenaRunCell
    status: str
    deal: int
    ending: str
    measured: int
    players: list[str]
    roles: list[str]
    rewards: list[float]
    wins: list[float]
    happened: list[Happened]
    decided: list[dict[str, Any]]

    @property
    def game(self) -> ArenaGame[Any]:
        """The game with its parameters."""
        return self.cell.table.game

    @property
    def names(self) -> list[str]:
        """What the seats are called at the table."""
        return [self.game.seat_name(seat) for seat in range(self.game.seats)]

    def who(self, seat: int) -> str:
        """Return a seat and its player."""
        return f"{self.names[seat]} ({self.players[seat]})"

    def line(self, event: Event) -> str:
        """Return an event, with player behind seat and who knew of it, if not all, ahead."""
        text, seat = self.game.line(event), event.seat
        if seat is not None:
            text = text.replace(self.names[seat], self.who(seat), 1)
        known = known_to(self.names, event)
        return f"[{known}] {text}" if known else text


def retell(store: Store, cell: ArenaRunCell, episode: int) -> Retold:
    """Return a recorded game, played again from its record."""
    [recorded] = store.read("episodes", _GAME, cell.number, episode)
    status, deal, ending, *lists = recorded
    seats, roles, rewards, wins, marks = lists
    steps = store.read("steps", _STEP, cell.number, episode)
    rows = [{**dict(zip(_STEP, row, strict=True)), "probes": []} for row in steps]
    struck, by_step = struck_seats(marks), {row["step"]: row for row in rows}
    for row in rows:
        if row["verdict"] == "fatal" and row["seat"] not in struck:
            row["verdict"] = "moot"
    for step, *answer in store.read("answers", _ANSWER, cell.number, episode):
        by_step[step]["probes"].append(answer)
    names = [player["name"] for player in cell.definition["players"]]
    players = [names[seats.index(seat)] for seat in range(len(seats))]
    try:
        happened = _happened(cell, episode, deal, marks, rows)
    except (ValueError, KeyError, IndexError) as error:
        raise store.damaged(f"game {episode} of cell {cell.number}: {error}") from None
    head = status, deal, ending, seats[0], players, roles, rewards, wins
    return Retold(cell, *head, happened, rows)


def _happened(
    cell: ArenaRunCell, episode: int, deal: int, marks: Sequence[Any], rows: Sequence[Any]
) -> list[Happened]:
    """Play a game again, and return its events by the decision after which they are known.

    An event that tells of one decision alone belongs to it, all others to the last one of their
    stage.
    """
    game = cell.table.game
    state = first_state(cell, episode, deal)
    events = game.events(state)
    known = [Happened(0, event) for event in events]
    due: dict[int, dict[int, tuple[int, str]]] = {}
    for row in rows:
        due.setdefault(row["stage"], {})[row["seat"]] = (row["step"], row["kind"])
    actions = actions_of([tuple(map(row.get, _DECIDED)) for row in rows])
    last = 0
    for stage, after in replayed(cell, state, marks, actions):
        told, events = len(events), game.events(after)
        decided = due.get(stage, {})
        last = max([last, *(step for step, _ in decided.values())])
        for event in events[told:]:
            step, kind = decided.get(-1 if event.seat is None else event.seat, (last, ""))
            first = len(decided) == 1 and event is events[told]
            own = event.kind == kind or (kind != "" and (first or event.to == (event.seat,)))
            known.append(Happened(step if own else last, event, own))
    return sorted(known, key=lambda one: (one.step, not one.own))


def known_to(names: Sequence[str], event: Event) -> str:
    """Say who knows of an event; empty: everybody does."""
    if event.to is None or event.to == (event.seat,):
        return "" if event.to is None else "private"
    return f"only {', '.join(names[seat] for seat in event.to)}" if event.to else "hidden"


def _notes(game: ArenaGame[Any], row: dict[str, Any], silent: bool) -> list[str]:
    """Say what went wrong with a decision, what it was worth and what it predicted."""
    tries = row["tries"] or ()
    notes = [f"[refused attempt, {error} error: {why}]" for error, why in tries]
    if row["verdict"] in _VERDICTS:
        notes.append(f"[{_VERDICTS[row['verdict']]}]")
    ends = {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in _BOUNDS}
    worth = {name: Bound(*two) for name, two in ends.items() if None not in two}
    if worth and not (silent and worth.get("regret") == (0.0, 0.0)):
        notes.append(f"[{'; '.join(_worth(worth, _acted(game, row, 'reply')))}]")
    return notes + [f"[predicts {_probe(game, *answer)}]" for answer in row["probes"]]


def _acted(game: ArenaGame[Any], row: dict[str, Any], name: str) -> str:
    """Return the action or the best reply of a decision in words, or ''."""
    there = row["verdict"] in COUNTED if name == "action" else row["tom_regret_low"] is not None
    return game.acted(row["kind"], frozen(row[name])) if there else ""


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


def _probe(game: ArenaGame[Any], question: str, outcome: str, told: Mapping[str, Any]) -> str:
    """Return a prediction, the truth if it showed, and what the exact observer knew."""
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
    """Yield a game of a run: players, decisions with what they cost, events, and the ending."""
    told = retell(run.store, cell, episode)
    game = told.game
    yield Line(0, f"{cell.name}; seed {cell.seed}, game {episode}, deal {told.deal}: {told.status}")
    for seat, name in enumerate(told.names):
        role = f", {told.roles[seat]}" if len(set(told.roles)) > 1 else ""
        measured = ", measured" if seat == told.measured else ""
        yield Line(0, f"{name}: {told.players[seat]}{role}{measured}")
    called = {step for step, *_ in run.store.calls(cell.number, episode)}
    events: dict[int, list[Happened]] = {}
    for one in told.happened:
        events.setdefault(one.step, []).append(one)
    shared = {row["stage"] for row in told.decided if row["step"] in events}
    yield from (Line(0, told.line(one.event)) for one in events.pop(0, ()))
    now = 0
    for row in told.decided:
        step, mine = row["step"], events.get(row["step"], [])
        own = [one.event for one in mine if one.own]
        notes = _notes(game, row, bool(own) and game.silent(own[-1]))
        if row["round"] != now:
            now = row["round"]
            yield Line(step, f"{game.round_word.capitalize()} {now}", heading=True)
        texts = [told.line(event) for event in own]
        if not own and (notes or step in called or row["stage"] not in shared):
            kind, acted = row["kind"].replace("_", " "), _acted(game, row, "action")
            texts = [f"{told.who(row['seat'])}, {kind}: {acted or 'nothing'}"]
        texts += [*notes, *(told.line(one.event) for one in mine if not one.own)]
        yield from (Line(step, text) for text in texts)
    yield from (Line(-1, line) for line in (_ending(told) if told.ending else ()))


def _ending(told: Retold) -> Iterator[str]:
    """Yield how the game ended, and what every seat got."""
    meaning = told.cell.table.kind.endings.get(told.ending, "")
    yield f"ending: {told.ending.replace('_', ' ')}" + (f" ({meaning})" if meaning else "")
    width = max(len(told.who(seat)) for seat in range(len(told.names)))
    for seat, (reward, won) in enumerate(zip(told.rewards, told.wins, strict=True)):
        share = "wins" if won == 1 else f"{won:.3g} of the win" if won else ""
        yield f"{told.who(seat).ljust(width)}  reward {reward:g}  {share}".rstrip()
