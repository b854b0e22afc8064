"""A game as a reader wants it: the board, guesses, probes, and what models read and wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.game import Rules, Turn
from tomeval.domains.decrypto.replays import read_games
from tomeval.domains.decrypto.seats import ROLES
from tomeval.domains.decrypto.store import GameStore, number_code
from tomeval.domains.decrypto.terminal import ENDINGS, NAMES, board, result_text, shown
from tomeval.runs.transcripts import _call_lines


def cell_lines(folder: Path) -> Iterator[str]:
    """Yield one line per cell of a run: who plays, and how many games there are."""
    store = GameStore(folder)
    try:
        counts = dict(store.query("SELECT cell, COUNT(*) FROM games GROUP BY cell"))
        for number, data in store.cells():
            names = ", ".join(f"{NAMES[r]} {data['players'][r]['name']}" for r in ROLES)
            yield f"cell {number}: {names}; seed {data['seed']}: {counts.get(number, 0)} games"
    finally:
        store.close()


def record_lines(path: Path, index: int) -> Iterator[str]:
    """Yield the lines of a recorded game."""
    games = read_games(path)
    if not 0 <= index < len(games):
        raise TomevalError(f"{path}: no game {index}, there are {len(games)}")
    game = games[index]
    players = ", ".join(f"{NAMES[r]} {game.players[r]}" for r in ROLES if r in game.players)
    yield f"{game.name or f'game {index}'}" + (f": {players}" if players else "")
    if game.source:
        yield f"source: {game.source}"
    yield from board(game.turns, game.rules, game.keywords).splitlines()[2:]
    yield ENDINGS.get(game.outcome or "", "The game was broken off.")


def game_lines(folder: Path, cell: int, game: int, calls: bool) -> Iterator[str]:
    """Yield the lines of a game of a run; with `calls` prompts (by what is new) and replies."""
    store = GameStore(folder)
    try:
        yield from _game_lines(store, cell, game, calls)
    finally:
        store.close()


def _game_lines(store: GameStore, cell: int, game: int, calls: bool) -> Iterator[str]:
    cells = dict(store.cells())
    if cell not in cells:
        raise TomevalError(f"{store.path}: no cell {cell}, there are {len(cells)}")
    found = store.query(
        "SELECT status, outcome, keywords FROM games WHERE cell = ? AND game = ?", (cell, game)
    )
    if not found:
        raise TomevalError(f"{store.path}: cell {cell} has no game {game}")
    status, outcome, keywords = found[0]
    names = ", ".join(f"{NAMES[r]} {cells[cell]['players'][r]['name']}" for r in ROLES)
    yield f"{names}; seed {cells[cell]['seed']}, game {game}: {outcome or status}"
    by_turn: dict[int, list[dict[str, Any]]] = {}
    for number, role, record in store.calls(cell, game) if calls else ():
        named = {**record, "purpose": f"{NAMES[role]}: {record['purpose']}"}
        by_turn.setdefault(number, []).append(named)
    past: list[Turn] = []
    for row in store.query(
        "SELECT turn, code, hints, bob, eve, encoder_outcome, decoder_outcome, "
        "interceptor_outcome, best, details FROM turns WHERE cell = ? AND game = ? ORDER BY turn",
        (cell, game),
    ):
        number, code, hints, bob, eve, *outcomes, best, details = row
        said = ", ".join(json.loads(hints)) if hints else "no hints"
        yield ""
        yield f"== turn {number}: code {shown(number_code(code))}, hints {said}"
        if bob is not None and eve is not None and hints:
            one, two, three = json.loads(hints)
            turn = Turn(number_code(code), (one, two, three), number_code(bob), number_code(eve))
            past.append(turn)
            yield f"   {result_text(turn)}"
        odd = [
            f"{NAMES[role]}: {what.replace('_', ' ')}"
            for role, what in zip(ROLES, outcomes, strict=True)
            if what != "valid"
        ]
        if odd:
            yield f"   [{'; '.join(odd)}]"
        if best is not None:
            yield f"   best attainable value {best:g}"
        given = (json.loads(details) if details else {}).get("encoder", {}).get("given")
        if given:
            yield f"   Alice's own hints, not heard: {', '.join(given)}"
        yield from _probe_lines(store, cell, game, number)
        for call in by_turn.get(number, []):
            yield from _call_lines(call)
    yield ""
    yield from board(past, Rules(**cells[cell]["rules"]), json.loads(keywords)).splitlines()[2:]


def _probe_lines(store: GameStore, cell: int, game: int, turn: int) -> Iterator[str]:
    for question, outcome, value in store.query(
        "SELECT question, outcome, value FROM probes WHERE cell = ? AND game = ? AND turn = ?",
        (cell, game, turn),
    ):
        said = "-".join(map(str, json.loads(value))) if value else outcome
        yield f"   probe {question.replace('_', ' ')}: {said}"
