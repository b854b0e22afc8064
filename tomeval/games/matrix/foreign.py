"""Games of other tools as logs with the columns of docs/recorded.md: FAIRGAME, repeatedgames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.parts import part
from tomeval.core.resources import read_csv
from tomeval.core.text import excerpt
from tomeval.games.matrix.fairgame import Match, Round, json_matches, row_match
from tomeval.games.matrix.games import GAMES, Labels, MatrixGame
from tomeval.games.matrix.log_fields import Reading
from tomeval.report.facts import counted

POLICIES = {
    **{"j": "always(0)", "f": "always(1)", "jf": "alternator", "fj": "alternator(1, 0)"},
    **{"defect_once": "defect_once", "alternate": "alternator", "grim_trigger": "grim_trigger"},
    **{"tft": "tit_for_tat", "tftt": "tit_for_two_tats", "stft": "suspicious_tit_for_tat"},
    **{"rtft": "reverse_tit_for_tat", "htft": "hard_tit_for_tat(1)"},
    **{"np10": "naive_prober(0.1)", "np20": "naive_prober(0.2)", "false_defector": "unknown"},
}
"""The policies of repeatedgames, without the ``act_`` that their names may begin with."""

_REPEATED = ("round", "player1", "player2", "answer1", "answer2", "points1", "points2")
_TASK = ("game_number", "game_name", "payoff", "outcomes")
_OPTIONS = ("choice_option1", "choice_option2", "option1", "option2")
Payoffs = dict[tuple[str, str], tuple[float, float]]


@dataclass
class Log:
    """A log as it is read.

    `rows` come with their numbers; `places` say where these are, if not in lines of the file;
    `games` are those that the file tells, by name.
    """

    header: list[str]
    rows: Iterable[tuple[int, dict[str, str]]]
    games: Mapping[str, MatrixGame] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    places: Mapping[int, str] = field(default_factory=dict)

    def place(self, number: int) -> str:
        """Return where a row stands."""
        return self.places.get(number, f"line {number}")


READERS: dict[str, Callable[[Path, Reading], Log]] = {}
"""What reads other files, by their suffix; extensions add theirs."""


def read_any(path: Path, reading: Reading) -> Log:
    """Read a log in the format that it has.

    A CSV with a row per step, and always where `reading` names columns; FAIRGAME's results as CSV
    or JSON; a CSV of repeatedgames; what `READERS` read. The game is the one of `reading`; else
    what the file says; the one that ships whose labels and payoffs fit all moves and points; or
    that of the points, if each pair of actions was played.

    Raises
    ------
    TomevalError
        With file, place, field and value: what cannot be read; points that tell no game.
    """
    suffix, known = path.suffix.casefold(), reading.game is not None
    if suffix == ".eval":
        part("commands", "import inspect")  # which brings its reader
    if suffix in READERS:
        return READERS[suffix](path, reading)
    if suffix == ".json":
        return _as_log(path, list(json_matches(path)), known)
    header, rows = read_csv(path)
    if any(reading.columns.values()):
        return Log(header, rows)
    if {"agent1_strategies", "agent2_strategies"} <= {*header}:
        return _as_log(path, [row_match(path, f"line {n}", row, {}) for n, row in rows], known)
    if {*_REPEATED} <= {*header}:
        return _as_log(path, _repeated(path, rows), known)
    return Log(header, rows)


def _repeated(path: Path, rows: Iterable[tuple[int, dict[str, str]]]) -> list[Match]:
    """Return the matches of repeatedgames: a new one where rounds begin anew or players change."""
    matches: list[Match] = []
    before, first = ("", "", "", ""), 1
    for line, row in rows:
        step, one, other, a, b, x, y = (row[name].strip() for name in _REPEATED)
        of = {name: row[name] for name in _TASK if name in row}
        task = ", ".join([*of.values(), *sorted(row[n] for n in _OPTIONS if n in row)])
        if (task, one, other, step) != before:
            if step not in ("0", "1"):
                raise TomevalError(f"{path}, line {line}: round {excerpt(step)!r} follows no other")
            first, players = int(step), (one.removeprefix("act_"), other.removeprefix("act_"))
            ours = [POLICIES.get(name.casefold(), "") for name in players]
            number = str(len(matches) + 1)
            matches.append(Match(number, task, players, (ours[0], ours[1]), [], more=of))
        matches[-1].rounds.append(Round(f"line {line}", (a, b), (x, y)))
        before = (task, one, other, str(first + len(matches[-1].rounds)))
    return matches


def _as_log(path: Path, matches: Sequence[Match], known: bool) -> Log:
    """Return the steps of every player that is measured, and the games."""
    games: dict[str, MatrixGame] = {}
    notes, bases = list[str](), list[str]()
    for task in [] if known else dict.fromkeys(match.task for match in matches):
        mine = [match for match in matches if match.task == task]
        where = f"{path.name}, {task}" if task else path.name
        game = mine[0].game or _told(where, mine, notes)
        same = bases.count(game.name)
        bases.append(game.name)
        games[task] = replace(game, name=f"{game.name} ({same + 1})") if same else game
    before = set[tuple[Any, ...]]()
    for match in matches:
        told = (match.name, match.task, match.players, match.about, *match.more.values())
        if told in before:
            place = f"{path}, {match.rounds[0].place}"
            raise TomevalError(f"{place}: the game {excerpt(match.name)!r} was there before")
        before.add(told)
    steps = [step for match in matches for step in _steps(match, games)]
    if not steps:
        raise TomevalError(f"{path}: no match of a player to measure")
    if idle := sum(all(match.partners) for match in matches):
        notes.append(f"note: {counted(idle, 'match', 'matches')} of two policies left out")
    header = [*dict.fromkeys(name for _, step in steps for name in step)]
    if all(any(match.partners) for match in matches):
        header.remove("participant")
    rows = [(n, dict.fromkeys(header, "") | step) for n, (_, step) in enumerate(steps)]
    places = {n: place for n, (place, _) in enumerate(steps)}
    return Log(header, rows, {game.name: game for game in games.values()}, notes, places)


def _steps(match: Match, games: Mapping[str, MatrixGame]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield place and step of the players that are measured; two are one sampling unit."""
    for seat, other in ((0, 1), (1, 0)):
        if match.partners[seat]:
            continue
        partner, about, name = match.partners[other], match.about, ("row", "column")[seat]
        against = f"against {match.players[other]}" + f" ({about[other]})" * bool(about[other])
        condition = ", ".join(filter(None, [about[seat], "" if partner else against]))
        fixed = {"subject": match.players[seat], "condition": condition, **match.more, "seat": name}
        fixed |= {"game": games[match.task].name} if games else {}
        fixed |= {"partner": partner or "unknown"}
        fixed["participant"] = f"{match.name} ({match.rounds[0].place})"
        fixed["episode"] = match.name if partner else f"{match.name}, {name}"
        for step, (place, moves, points, said, _) in enumerate(match.rounds, 1):
            mine = {"own_action": moves[seat], "partner_action": moves[other]}
            mine |= {"own_reward": points[seat], "partner_reward": points[other]}
            mine |= {"predicted_action": said[seat], "step": step}
            yield place, fixed | {key: str(value) for key, value in mine.items()}


def _told(where: str, matches: Sequence[Match], notes: list[str]) -> MatrixGame:
    """Return the game that moves and points tell; a note tells of one that does not ship."""
    seen: Payoffs = {}
    for place, moves, points, *_ in (one for match in matches for one in match.rounds):
        try:
            x, y = map(float, points)
        except ValueError:
            continue
        if not isfinite(x + y):
            raise TomevalError(f"{where}, {place}: points {x:g}, {y:g} are no numbers")
        before = seen.setdefault(moves, (x, y))
        if not (isclose(before[0], x) and isclose(before[1], y)):
            raise TomevalError(
                f"{where}, {place}: {moves[0]}, {moves[1]} earns {x:g}, {y:g}, elsewhere "
                f"{before[0]:g}, {before[1]:g}: no payoffs; {_LEAVE_OUT}"
            )
    fits = [game for game in GAMES.values() if seen and _fits(game, seen)]
    if len(fits) == 1:
        if len(seen) < fits[0].n * fits[0].m:
            had = "which alone fits what was played; if it was another, name it with --game"
            notes.append(f"note: the game of {where} is taken for {fits[0].name}, {had}")
        return fits[0]
    actions = sorted({action for moves in seen for action in moves})
    missing = ["/".join(pair) for pair in product(actions, repeat=2) if pair not in seen]
    if fits or missing or len(actions) < 2:
        why = f"may be {', '.join(game.name for game in fits)}"
        why = why if fits else f"is none that ships, and nobody played {', '.join(missing[:4])}"
        raise TomevalError(f"{where}: the game {why}: name it with --game")
    _check_regrets(where, matches, seen, actions)
    labels = {"recorded": Labels("recorded", tuple(actions), tuple(actions))}
    told = "; ".join(f"{a}/{b} earns {x:g}, {y:g}" for (a, b), (x, y) in sorted(seen.items()))
    asked = f". If they are costs, {_LEAVE_OUT}" * (max(max(x) for x in seen.values()) > 0)
    notes.append(
        f"note: the game of {where} is that of its points, the more the better: {told}{asked}"
    )
    payoffs = np.array([[seen[a, b] for b in actions] for a in actions])
    return MatrixGame(where, payoffs, labels)


_LEAVE_OUT = "name the game with --game, and add --map own_reward= --map partner_reward="


def _fits(game: MatrixGame, seen: Payoffs) -> bool:
    """Tell whether a game's payoffs are those that were seen, in any of its label sets."""
    for labels in game.labels.values():
        cells = dict(
            zip(product(labels.own, labels.partner), game.payoffs.reshape(-1, 2), strict=True)
        )
        if all(moves in cells and np.allclose(cells[moves], seen[moves]) for moves in seen):
            return True
    return False


def _check_regrets(
    where: str, matches: Sequence[Match], seen: Payoffs, actions: Sequence[str]
) -> None:
    """Raise if regrets that were recorded show that points are costs, the fewer the better."""
    for place, (a, b), _, _, regrets in (one for match in matches for one in match.rounds):
        lost = max(seen[x, b][0] for x in actions), max(seen[a, y][1] for y in actions)
        for best, earned, regret in zip(lost, seen[a, b], regrets, strict=True):
            if isinstance(regret, float | int) and abs(best - earned - regret) > 1e-6:
                raise TomevalError(
                    f"{where}, {place}: the recorded regret {regret:g} is not what the points "
                    f"lose. Are they costs? With payoffs below 0, {_LEAVE_OUT}"
                )
