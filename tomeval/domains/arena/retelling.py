"""A recorded game for readers: who sat where, what happened and who knew of it, what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tomeval.domains.arena.game import ArenaGame, Event, Probe
from tomeval.domains.arena.outcomes import struck_seats
from tomeval.domains.arena.replaying import actions_of, first_state, frozen, replayed
from tomeval.domains.arena.results import ArenaRunCell
from tomeval.domains.arena.solver import Bound
from tomeval.runs.store import Store

_BOUNDS = ("best", "chosen", "regret", "tom_regret")
_STEP: tuple[str, ...] = ("step", "stage", "round", "seat", "slot", "kind", "action", "verdict")
_STEP += ("outcome", "tries", *(f"{name}_{end}" for name in _BOUNDS for end in ("low", "high")))
_STEP += ("reply", "details")
_GAME = ("status", "deal", "ending", "rounds", "seats", "roles", "rewards", "wins", "marks")


MOOT = "moot"
"""The verdict on a seat that broke the rules beside another one with which the game ended."""


class Happened(NamedTuple):
    """An event, and the decision after which it is known; 0: before the first.

    `text` is a line with the player's name beside the seat. `own`: it tells of that decision alone.
    """

    step: int
    event: Event
    text: str
    own: bool = False


class ToldProbe(NamedTuple):
    """A literal question and its answer, in words.

    Attributes
    ----------
    question, said, truth : str
        `truth` is empty if it never showed.
    valid : bool
        Whether there was a readable answer; if not, `said` tells why.
    hit, probability, attainable, observer : float or None
        See `played.Probed`.
    """

    question: str
    said: str
    truth: str
    valid: bool
    hit: float | None
    probability: float | None
    attainable: float | None
    observer: float | None


@dataclass(frozen=True)
class Decided:
    """One decision.

    Attributes
    ----------
    step, stage, round, seat, slot : int
        See `played.Decision`; `step` is its number.
    kind, verdict, outcome : str
    action : str or None
        What counted, in words; None if nothing did.
    silent : bool
        Whether all that came of it is that the seat said nothing.
    own : bool
        Whether an event tells of it alone.
    tries : list of (error, words)
        Refused attempts.
    worth : mapping of str to Bound or None
        ``best``, ``chosen``, ``regret`` and ``tom_regret``, see `played.Worth`.
    reply : str
        The best reply to what was predicted, in words; empty without.
    stated : list of (question, answer, right)
        What the seat was told of the others by a planted belief, in words.
    probes : list of ToldProbe
    """

    step: int
    stage: int
    round: int
    seat: int
    slot: int
    kind: str
    verdict: str
    outcome: str
    action: str | None
    silent: bool
    own: bool
    tries: list[tuple[str, str]]
    worth: Mapping[str, Bound | None]
    reply: str
    stated: list[tuple[str, str, bool]] = field(default_factory=list)
    probes: list[ToldProbe] = field(default_factory=list)


@dataclass(frozen=True)
class Retold:
    """A game.

    Attributes
    ----------
    status, ending : str
        `ending` is empty unless the game is complete.
    deal, rounds : int
    measured : int
        The subject's seat.
    names, players, roles : list of str
        By seat: what the seat is called, who sits there, in which role.
    rewards, wins : list of float
        By seat; empty unless the game is complete.
    happened : list of Happened
        In the order of steps.
    decided : list of Decided
    """

    status: str
    ending: str
    deal: int
    rounds: int
    measured: int
    names: list[str]
    players: list[str]
    roles: list[str]
    rewards: list[float]
    wins: list[float]
    happened: list[Happened]
    decided: list[Decided]


def retell(store: Store, cell: ArenaRunCell, episode: int) -> Retold:
    """Return a recorded game, of any status, played again from its record."""
    place = (cell.number, episode)
    [found] = store.query(
        f"SELECT {', '.join(_GAME)} FROM episodes WHERE cell = ? AND episode = ?", place
    )
    told = dict(zip(_GAME, found, strict=True))
    seats, roles, rewards, wins, marks = (
        json.loads(told[name]) for name in ("seats", "roles", "rewards", "wins", "marks")
    )
    rows = [
        dict(zip(_STEP, row, strict=True))
        for row in store.query(
            f"SELECT {', '.join(_STEP)} FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
            place,
        )
    ]
    struck = struck_seats(marks)
    for row in rows:
        if row["verdict"] == "fatal" and row["seat"] not in struck:
            row["verdict"] = MOOT
    game = cell.table.game
    names = [player["name"] for player in cell.definition["players"]]
    players = [names[seats.index(seat)] for seat in range(game.seats)]
    try:
        happened = _happened(cell, episode, told["deal"], marks, rows, players)
    except (ValueError, KeyError, IndexError) as error:
        raise store.damaged(f"game {episode} of cell {cell.number}: {error}") from None
    own = {one.step: one.event for one in happened if one.own}
    probes = _probes(store, game, place)
    return Retold(
        told["status"],
        told["ending"],
        told["deal"],
        told["rounds"],
        seats[0],
        [game.seat_name(seat) for seat in range(game.seats)],
        players,
        roles,
        rewards,
        wins,
        happened,
        [_decided(game, row, own.get(row["step"]), probes) for row in rows],
    )


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
    found: list[tuple[int, Event, bool]] = [(0, event, False) for event in events]
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
            found.append((step if own else last, event, own))
    found.sort(key=lambda one: (one[0], not one[2]))
    return [Happened(step, e, _line(game, e, players), own) for step, e, own in found]


def _line(game: ArenaGame[Any], event: Event, players: Sequence[str]) -> str:
    """Return an event as a line, with the player's name where the seat is named first."""
    text = game.line(event)
    if event.seat is None:
        return text
    name = game.seat_name(event.seat)
    return text.replace(name, f"{name} ({players[event.seat]})", 1)


def _probes(
    store: Store, game: ArenaGame[Any], place: tuple[int, int]
) -> dict[int, list[ToldProbe]]:
    """Return the literal questions by decision."""
    found: dict[int, list[ToldProbe]] = {}
    for step, question, outcome, value in store.query(
        "SELECT step, question, outcome, value FROM answers WHERE cell = ? AND episode = ? "
        "ORDER BY step, question",
        place,
    ):
        told = json.loads(value)
        about = question.removeprefix(told["probe"]).removeprefix("_")
        probe = Probe(told["probe"], int(about) if about.isdecimal() else None)
        valid = outcome == "valid"
        said = game.told(probe, frozen(told["said"])) if valid else outcome.replace("_", " ")
        truth = "" if told["truth"] is None else game.told(probe, frozen(told["truth"]))
        numbers = (told[name] for name in ("hit", "probability", "attainable", "observer"))
        asked = game.asked(probe)
        found.setdefault(step, []).append(ToldProbe(asked, said, truth, valid, *numbers))
    return found


def _decided(
    game: ArenaGame[Any],
    row: dict[str, Any],
    event: Event | None,
    probes: dict[int, list[ToldProbe]],
) -> Decided:
    """Return a decision, given the event that tells of it alone."""
    return Decided(
        row["step"],
        row["stage"],
        row["round"],
        row["seat"],
        row["slot"],
        row["kind"],
        row["verdict"],
        row["outcome"],
        _acted(game, row["kind"], row["action"]) if row["action"] is not None else None,
        event is not None and game.silent(event),
        event is not None,
        [(error, why) for error, why in json.loads(row["tries"] or "[]")],
        {name: _bound(row, name) for name in _BOUNDS},
        "" if row["reply"] is None else _acted(game, row["kind"], row["reply"]),
        _stated(game, row["details"]),
        probes.get(row["step"], []),
    )


def _stated(game: ArenaGame[Any], details: str | None) -> list[tuple[str, str, bool]]:
    """Return what a planted belief said, from a decision's details as JSON."""
    belief = (json.loads(details) if details else {}).get("belief")
    if belief is None:
        return []
    found = []
    for question, said in belief["said"].items():
        name, _, about = question.rpartition("_")
        probe = Probe(name, int(about)) if name and about.isdecimal() else Probe(question)
        right = said == belief["true"][question]
        found.append((game.asked(probe), game.told(probe, frozen(said)), right))
    return found


def _acted(game: ArenaGame[Any], kind: str, text: str) -> str:
    return game.acted(kind, frozen(json.loads(text)))


def _bound(row: dict[str, Any], name: str) -> Bound | None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else Bound(low, high)
