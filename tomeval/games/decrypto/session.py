"""A game of a person and other players at the terminal, which is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.printing import Console
from tomeval.games.decrypto.cells import DecryptoCell
from tomeval.games.decrypto.game import ENDINGS, Turn
from tomeval.games.decrypto.llm import TableScene
from tomeval.games.decrypto.players import table_from_spec
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.game import COUNTED
from tomeval.games.people.session import Sitting
from tomeval.runs.experiment import make_experiment


def sit(
    seat: str,
    others: Sequence[str] = (),
    deal: int = 0,
    *,
    settings: Mapping[str, Any] | None = None,
    strategy: str = "QA",
) -> Sitting:
    """Return a game with a person in a seat.

    Parameters
    ----------
    seat : str
        The person's role.
    others : sequence of str
        Who else plays, see `players.table_from_spec`: one for both seats, or one for each.
    deal : int
        Which game of the seed, from 0: it decides keywords and codes.
    settings : mapping, optional
        Further keys of `DecryptoExperiment`: seed, rules, word lists.
    strategy : str
        Of language models.
    """
    if seat not in ROLES:
        raise unknown("seat", seat, ROLES, "--seat")
    names = list(others) or ["minilm"]
    if len(names) not in (1, 2):
        raise TomevalError(f"--other: give one or two other players, not {len(names)}")
    rest = [role for role in ROLES if role != seat]
    specs = dict(zip(rest, names * (2 // len(names)), strict=True))
    tables = {NAMES[role]: table_from_spec(spec, strategy) for role, spec in specs.items()}
    tables[NAMES[seat]] = {"kind": "random"}
    data = {"domain": "decrypto", "players": tables, "pairings": [dict(NAMES)]}
    [cell] = make_experiment({**(settings or {}), **data}, base=Path(), where="play").cells
    assert isinstance(cell, DecryptoCell)
    names = [specs.get(role, "human") for role in ROLES]
    return Sitting(cell, seat, deal, names, ENDINGS, TableScene)


def keep(sitting: Sitting, out: Path, console: Console) -> None:
    """Add the finished turns of a game to a file of recorded games, and tell the keywords."""
    played, cell = sitting.played, sitting.cell
    assert isinstance(cell, DecryptoCell)
    dealt, _, rules = cell.deal(played.deal)
    console.say(f"The keywords were: {', '.join(dealt.keywords)}.")
    counted = [one.action for one in played.decisions if one.verdict in COUNTED]
    moves = zip(dealt.codes, counted[::3], counted[1::3], counted[2::3], strict=False)
    turns = tuple(Turn(*move) for move in moves)
    if not turns:
        console.say("No turn was finished; nothing is recorded.")
        return
    before = read_games(out) if out.exists() else []
    names = {existing.name for existing in before}
    name = next(one for n in range(1, len(names) + 2) if (one := f"game {n}") not in names)
    source = f"played at the terminal, seed {cell.seed}, game {played.deal}"
    players = dict(zip(ROLES, sitting.names, strict=True))
    record = RecordedGame(dealt.keywords, turns, rules, name, players, source)
    write_games(out, [*before, record])
    console.say(f"Recorded as {name!r} in {out}.")
