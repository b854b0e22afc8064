"""A game of a person and other players at the terminal, recorded at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.printing import Console
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import ENDINGS, Code, Turn
from tomeval.games.decrypto.llm import TableScene
from tomeval.games.decrypto.players import table_from_spec
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.seating import table_of
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.people.session import play_person, say_ending
from tomeval.games.played import COUNTED, PlayedGame
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.templates import load_prompts

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
        raise unknown("seat", seat, ROLES, "--seat")
    before = read_games(out) if out.exists() else []
    players = {**_specs(seat, others), seat: HUMAN}
    cell = _cell(players, strategy, settings or {})
    dealt, _, rules = cell.deal(deal)
    experiment, place = cell.experiment, ROLES.index(seat)
    game = Decrypto(experiment.lists, rules, experiment.probes)
    prompts = load_prompts("decrypto", experiment.prompts, experiment.base)
    scene, played = TableScene(prompts, game, place), PlayedGame(deal, deal, (0, 1, 2))
    over = play_person(
        *(cell, seat, scene, lambda models: table_of(cell, deal, models, lambda: None)),
        *(played, console),
    )
    if over:
        say_ending(game, played, [players[role] for role in ROLES], ENDINGS, console)
    console.say(f"The keywords were: {', '.join(dealt.keywords)}.")
    turns = _turns(played, dealt.codes)
    if not turns:
        console.say("No turn was finished; nothing is recorded.")
        return None
    source = f"played at the terminal, seed {cell.seed}, game {deal}"
    names = {existing.name for existing in before}
    name = next(one for n in range(1, len(names) + 2) if (one := f"game {n}") not in names)
    roles = {role: players[role] for role in ROLES}
    record = RecordedGame(dealt.keywords, turns, rules, name, roles, source)
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


def _cell(players: Mapping[str, str], strategy: str, settings: Mapping[str, Any]) -> DecryptoCell:
    """Return the pairing of a person, whose seat is filled later, and other players."""
    tables = {
        NAMES[role]: {"kind": "random"} if spec == HUMAN else table_from_spec(spec, strategy)
        for role, spec in players.items()
    }
    data = {**settings, "domain": "decrypto", "players": tables, "pairings": [dict(NAMES)]}
    [cell] = make_experiment(data, base=Path(), where="play").cells
    assert isinstance(cell, DecryptoCell)
    return cell


def _turns(played: PlayedGame, codes: Sequence[Code]) -> tuple[Turn, ...]:
    """Return the turns that were finished."""
    counted = [one.action for one in played.decisions if one.verdict in COUNTED]
    turns = zip(codes, counted[::3], counted[1::3], counted[2::3], strict=False)
    return tuple(Turn(*turn) for turn in turns)
