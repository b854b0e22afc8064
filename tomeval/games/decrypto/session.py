"""A game of a person and other players at the terminal, recorded at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import VALID
from tomeval.core.printing import Console
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import Code, Turn
from tomeval.games.decrypto.players import table_from_spec
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.seating import table_of
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.decrypto.terminal import ENDINGS, HumanSeat
from tomeval.games.play import play_game
from tomeval.games.played import COUNTED, PlayedGame
from tomeval.games.seated.session import at_the_terminal
from tomeval.models.base import Model
from tomeval.runs.experiment import make_experiment

HUMAN = "human"


def play_session(
    seat: str,
    others: Sequence[str],
    console: Console,
    out: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    strategy: str = "QA",
    deal: int = 0,
) -> RecordedGame | None:
    """Play one game with a person in a seat, and add it to a file of recorded games.

    Parameters
    ----------
    seat : str
        The person's role.
    others : sequence of str
        Who else plays, see `players.table_from_spec`: one for both seats, or one for each.
    out : Path
        Made, or added to. Checked before the game begins.
    settings : mapping, optional
        Further keys of `DecryptoExperiment`: seed, rules, word lists.
    strategy : str
        Of language models.
    deal : int
        Which game of the seed, from 0: it decides keywords and codes.

    Returns
    -------
    RecordedGame or None
        All finished turns, even if the game was broken off; None if there are none.
    """
    if seat not in ROLES:
        raise unknown("seat", seat, ROLES)
    before = read_games(out) if out.exists() else []
    specs = _specs(seat, others)
    cell = _cell(seat, specs, strategy, settings or {})
    dealt, _, rules = cell.deal(deal)
    played = PlayedGame(deal, deal, (0, 1, 2))

    async def play(models: Mapping[str, Model]) -> PlayedGame:
        table = table_of(cell, deal, models, lambda: None)
        person = HumanSeat(ROLES.index(seat), console)
        table.players = [
            person if r == seat else p for r, p in zip(ROLES, table.players, strict=True)
        ]
        return await play_game(table, deal, deal, played)

    console.say(f"You are {NAMES[seat]}.")
    over = at_the_terminal(cell, seat, play, console) is not None
    turns = _turns(played, dealt.codes)
    if over:
        ending = ENDINGS.get(played.ending, "The game cannot go on.")
        if not played.ending:
            ending += f" {_why(played)}"
        console.say(ending)
    console.say(f"The keywords were: {', '.join(dealt.keywords)}.")
    if not turns:
        console.say("No turn was finished; nothing is recorded.")
        return None
    players = {role: specs.get(role, HUMAN) for role in ROLES}
    source = f"played at the terminal, seed {cell.seed}, game {deal}"
    name = _free_name(before)
    record = RecordedGame(dealt.keywords, tuple(turns), rules, name, players, source)
    write_games(out, [*before, record])
    console.say(f"Recorded as {record.name!r} in {out}.")
    return record


def _specs(seat: str, others: Sequence[str]) -> dict[str, str]:
    """Return who takes the seats without a person."""
    rest = [role for role in ROLES if role != seat]
    names = list(others) or ["minilm"]
    if len(names) not in (1, len(rest)):
        raise TomevalError(f"--other: give one or two other players, not {len(names)}")
    return dict(zip(rest, names * (len(rest) // len(names)), strict=True))


def _cell(
    seat: str, specs: Mapping[str, str], strategy: str, settings: Mapping[str, Any]
) -> DecryptoCell:
    """Return the pairing of a person, whose seat is filled later, and other players."""
    tables = {NAMES[role]: table_from_spec(spec, strategy) for role, spec in specs.items()}
    data = {
        **settings,
        "domain": "decrypto",
        "players": {**tables, HUMAN: {"kind": "random"}},
        "pairings": [{role: HUMAN if role == seat else NAMES[role] for role in ROLES}],
    }
    [cell] = make_experiment(data, base=Path(), where="play").cells
    assert isinstance(cell, DecryptoCell)
    return cell


def _turns(played: PlayedGame, codes: Sequence[Code]) -> list[Turn]:
    """Return the turns that were finished."""
    counted = [one.action for one in played.decisions if one.verdict in COUNTED]
    turns = zip(codes, counted[::3], counted[1::3], counted[2::3], strict=False)
    return [Turn(*turn) for turn in turns]


def _why(played: PlayedGame) -> str:
    odd = [one for one in played.decisions if one.answer.outcome != VALID]
    said = (
        f"{NAMES[ROLES[d.seat]]}'s answer was {d.answer.outcome.replace('_', ' ')}." for d in odd
    )
    return next(said, "")


def _free_name(before: Sequence[RecordedGame]) -> str:
    """Return the first "game N" that no recorded game has."""
    names = {existing.name for existing in before}
    number = next(n for n in range(1, len(names) + 2) if f"game {n}" not in names)
    return f"game {number}"
