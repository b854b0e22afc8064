"""Games that were played elsewhere, as JSON lines: read, and checked for gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.wordings import Wording, wording_of
from tomeval.extensions.trajectories.lines import Line, match_of, read_lines

_SEATS = {"ipd3": 3, "blotto": 2, "codenames": 4}
_MAFIA = range(6, 16)


@dataclass
class Match:
    """One game of the file.

    Attributes
    ----------
    name : str
    where : str
        The file.
    game : str
        TextArena's id without additions.
    wording : Wording
    raw : bool
        Whether TextArena's wrappers were left out.
    seats : int
    players : tuple of str
        By seat.
    rewards : tuple of float
        By seat; NaN where the file does not say.
    deal
        As the file gives it, or None.
    lines : list of Line
    """

    name: str
    where: str
    game: str
    wording: Wording
    raw: bool
    seats: int = 0
    players: tuple[str, ...] = ()
    rewards: tuple[float, ...] = ()
    deal: Any = None
    lines: list[Line] = field(default_factory=list)

    def wrong(self, line: Line, name: str, what: str) -> TomevalError:
        """Return the error for a field of a line."""
        return TomevalError(f"{self.where}, line {line.number}, {name}: {what}")


@dataclass(frozen=True)
class Left:
    """A match, or rows whose match cannot be told, that was left out, and why."""

    name: str
    rows: int
    why: str


def read_trajectories(
    path: Path, *, columns: Mapping[str, str] | None = None, skip_bad: bool = False
) -> tuple[list[Match], list[Left]]:
    """Read a file of trajectories.

    Parameters
    ----------
    columns : mapping, optional
        The file's own names of our fields.
    skip_bad : bool
        Leave out matches that cannot be read, with their first fault, instead of stopping there.

    Raises
    ------
    TomevalError
        The file cannot be read, or the first fault that it has: file, line, field, value.
    """
    left: list[Left] = []
    found: dict[tuple[str, str], list[Line]] = {}
    bad: dict[tuple[str, str], str] = {}
    for line, fault in read_lines(path, columns or {}):
        key = match_of(line.data)
        if fault is not None and not skip_bad:
            raise fault
        if fault is not None and key is None:
            left.append(Left("", 1, str(fault)))
        elif fault is not None and key is not None:
            bad.setdefault(key, str(fault))
        if key is not None:
            found.setdefault(key, []).append(line)
    matches = []
    for key, lines in found.items():
        try:
            if key in bad:
                raise TomevalError(bad[key])
            matches.append(_match(str(path), lines))
        except TomevalError as error:
            if not skip_bad:
                raise
            left.append(Left(key[1], len(lines), str(error)))
    if not matches and not left:
        raise TomevalError(f"{path}: there is no line in it")
    return matches, left


def _match(where: str, lines: list[Line]) -> Match:
    """Return the lines of one game as a match, checked as far as that goes without its rules."""
    first = lines[0]
    name = str(first.data["episode"])
    wording, game, raw = wording_of(first.data["game"], f"{where}, line {first.number}")
    match = Match(name, where, game, wording, raw, lines=lines)
    for place, line in enumerate(lines):
        expected = first.data["step"] + place
        if line.data["step"] != expected or first.data["step"] > 1:
            wanted = "0 or 1" if place == 0 else str(expected)
            raise match.wrong(
                line, "step", f"{line.data['step']} where {wanted} was to come in game {name!r}"
            )
    match.seats = _seats(match)
    for line in lines:
        if line.data["seat"] >= match.seats:
            raise match.wrong(
                line, "seat", f"{line.data['seat']} in a game with seats 0 to {match.seats - 1}"
            )
    match.players = _players(match)
    match.rewards = _rewards(match)
    deals = [line for line in lines if line.data.get("deal") is not None]
    match.deal = deals[0].data["deal"] if deals else None
    if other := [line for line in deals if line.data["deal"] != match.deal]:
        raise match.wrong(other[0], "deal", f"differs from that of line {deals[0].number}")
    return match


def _seats(match: Match) -> int:
    """Return the number of seats: the game's, or as many as a list of the file names."""
    if match.wording.kind in _SEATS:
        return _SEATS[match.wording.kind]
    for line in match.lines:
        for name in ("players", "rewards", "deal"):
            if isinstance(line.data.get(name), list):
                found = len(line.data[name])
                if found not in _MAFIA:
                    raise match.wrong(
                        line, name, f"{found} seats; {match.game} has {_MAFIA[0]} to {_MAFIA[-1]}"
                    )
                return found
    shown = [str(line.data.get("observation") or "") for line in match.lines]
    listed = [
        text.split("Players: ", 1)[1].split("\n", 1)[0] for text in shown if "Players: " in text
    ]
    if not listed:
        raise match.wrong(
            match.lines[0],
            "observation",
            "does not tell how many seats there are; give 'players'",
        )
    found = listed[0].count("Player ")
    if found not in _MAFIA:
        raise match.wrong(match.lines[0], "observation", f"lists {found} players")
    return found


def _players(match: Match) -> tuple[str, ...]:
    """Return names by seat, which must be the same on every line."""
    names: dict[int, str] = {}
    for line in match.lines:
        listed = line.data.get("players")
        if listed is not None and len(listed) != match.seats:
            what = f"{len(listed)} names in a game of {match.seats} seats"
            raise match.wrong(line, "players", what)
        said = [("players", seat, name) for seat, name in enumerate(listed or ())]
        if line.data.get("player") is not None:
            said.append(("player", line.data["seat"], line.data["player"]))
        for source, seat, name in said:
            if names.setdefault(seat, name) != name:
                raise match.wrong(line, source, f"{name!r}, but seat {seat} was {names[seat]!r}")
    return tuple(names.get(seat, f"seat {seat}") for seat in range(match.seats))


def _rewards(match: Match) -> tuple[float, ...]:
    """Return the final reward of every seat; NaN where the file does not say.

    That is its last line's `reward`; earlier ones are null, 0, or the same. `rewards` says it for
    all seats.
    """
    found = [math.nan] * match.seats
    last = {line.data["seat"]: line for line in match.lines}
    for line in match.lines:
        reward, final = line.data.get("reward"), last[line.data["seat"]].data.get("reward")
        if reward is not None and reward not in (0, final):
            raise match.wrong(
                line,
                "reward",
                f"{reward:g}, but the last line of seat {line.data['seat']} has "
                f"{'none' if final is None else format(final, 'g')}",
            )
    for seat, line in last.items():
        if line.data.get("reward") is not None:
            found[seat] = float(line.data["reward"])
    for line in match.lines:
        listed = line.data.get("rewards")
        if listed is None:
            continue
        if len(listed) != match.seats:
            raise match.wrong(
                line, "rewards", f"{len(listed)} numbers in a game of {match.seats} seats"
            )
        for seat, reward in enumerate(listed):
            if not math.isnan(found[seat]) and found[seat] != reward:
                raise match.wrong(
                    line, "rewards", f"{reward:g} for seat {seat}, but it has {found[seat]:g}"
                )
            found[seat] = float(reward)
    if all(math.isnan(reward) for reward in found):
        raise match.wrong(match.lines[-1], "reward", "no line of this game has one: did it end?")
    return tuple(found)
