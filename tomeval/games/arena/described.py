"""What is said of games, players and line-ups before anything is played.

Lists, bounds, and what a language model would be asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.games.arena.cells import SUBJECT, ArenaCell
from tomeval.games.arena.named_games import GAMES, all_games, get_kind
from tomeval.games.arena.players import ANYWHERE, RANDOM, together
from tomeval.games.people.session import Sitting
from tomeval.games.players import table_at_terminal
from tomeval.runs.domain import Rows
from tomeval.runs.experiment import make_experiment


def listed_games() -> Rows:
    """Return the games with their presets and parameters."""
    rows = []
    for name in all_games():
        kind = get_kind(name)
        known = ", ".join(
            f"{key} = {field.get_default(call_default_factory=True)!r}"
            for key, field in kind.rules.model_fields.items()
        )
        presets = ", ".join(kind.presets)
        rows.append({"game": name, "presets": presets, "parameters": known, "about": kind.title})
    return rows


def listed_players() -> Rows:
    """Return the kinds of player with their options, by game."""
    rows = [
        {"game": "all", "player": name, "options": "", "about": about}
        for name, about in ANYWHERE.items()
    ]
    for game in all_games():
        for name, policy in get_kind(game).policies.items():
            options = ", ".join(field.name for field in fields(policy))  # type: ignore[arg-type]
            row = {"game": game, "player": name, "options": options, "about": policy.about}
            rows.append(row)
    return rows


def bounds_rows(cells: Sequence[ArenaCell]) -> Rows:
    """Return the best attainable and the random value of every game, line-up and subject's seat.

    Values are expectations of the subject's reward over deals and chance. Seats of line-ups
    without known policies have empty cells.
    """
    rows: Rows = []
    seen: set[tuple[str, ...]] = set()
    for cell in cells:
        others = [player.name for player in cell.players[1:]]
        key = (cell.table.name, *others, cell.on_invalid)
        if key in seen:
            continue
        seen.add(key)
        for episode, seats in enumerate(cell.game.rotations):
            row: dict[str, Any] = {"game": cell.table.name, "others": together(others)}
            row["seat"] = cell.game.seat_name(seats[0])
            solver = cell.solver(episode)
            row["best"] = None if solver is None else solver.value()
            row["random"] = None if solver is None else solver.chance()
            rows.append(row)
    return rows


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> ArenaCell:
    """Return the cell that ``tomeval prompt --domain arena`` shows.

    A model is the subject; if `seat` names a slot, models sit in all. `settings` may hold ``game``,
    a kind of game, also with a preset, such as ``blotto:small``, and options of `LLMOptions`.
    """
    options = dict(settings)
    options.pop("form", None)
    name, _, preset = str(options.pop("game", next(iter(GAMES)))).partition(":")
    table = {"game": name, **({"preset": preset} if preset else {})}
    data: dict[str, Any] = {
        "domain": "arena",
        "games": {name: table},
        "players": {
            "model": {"model": "scripted:arena", "strategy": strategy, **options},
            "random": {"kind": "random"},
        },
    }
    data["lineups"] = [{"game": name, "subject": "model", "others": "model" if seat else "random"}]
    cell = make_experiment(data, base=Path(), where="prompt").cells[0]
    assert isinstance(cell, ArenaCell)
    return cell


PERSON = "you"


def sit(
    game: str,
    others: Sequence[str] = (),
    seat: int = 0,
    deal: int = 0,
    *,
    seed: int = 0,
    rules: Mapping[str, Any] | None = None,
    strategy: str = "QA",
) -> Sitting:
    """Return a game with a person in a seat.

    Parameters
    ----------
    game : str
        A kind of game.
    others : sequence of str
        Kinds of scripted players, or models; one for all other seats, or one for each.
    deal : int
        Which game of the seed, from 0: it decides what is dealt.
    rules : mapping, optional
        Parameters of the game, and ``preset``.
    strategy : str
        Of language models.
    """
    names = list(others) or [next(iter(get_kind(game).policies))]
    tables = {name: table_at_terminal(name, strategy) for name in names}
    data = {
        "domain": "arena",
        "seed": seed,
        "games": {game: {"game": game, **(rules or {})}},
        "players": {**tables, PERSON: {"kind": RANDOM}},
        "lineups": [
            {"game": game, "subject": PERSON, "others": names[0] if len(names) == 1 else [names]}
        ],
        "probes": False,
        "values": False,
    }
    cell = make_experiment(data, base=Path(), where="play").cells[0]
    assert isinstance(cell, ArenaCell)
    return Sitting(cell, SUBJECT, _episode(cell, seat, deal))


def _episode(cell: ArenaCell, seat: int, deal: int) -> int:
    """Return the episode that plays a deal with the person in a seat."""
    seats = [rotation[0] for rotation in cell.game.rotations]
    if seat not in seats:
        names = ", ".join(f"{s} ({cell.game.seat_name(s)})" for s in sorted(set(seats)))
        raise TomevalError(f"--seat {seat}: no such seat; the seats are {names}")
    return deal * len(seats) + seats.index(seat)
