"""A game for readers, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tomeval.games.decrypto.game import ENDINGS, Deal, Game, Rules
from tomeval.games.decrypto.probes import Probes
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import NAMES
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.decrypto.turns import turns_of
from tomeval.games.transcripts import transcript
from tomeval.lexicon.words import shipped_lists
from tomeval.runs.capabilities import Line
from tomeval.runs.record import Record
from tomeval.runs.results import Run


def game_lines(run: Run, cell: DecryptoRunCell, game: int) -> Iterator[Line]:
    """Yield a game of a run: every turn with its probes, and the ending."""
    record = run.store.record(cell.number, game)
    rules, states = Rules(**cell.definition["rules"]), states_of(record)
    names = ", ".join(f"{NAMES[role]} {name}" for role, name in cell.seated.items())
    title = f"{names}; seed {cell.seed}, game {game}"
    of = Decrypto(shipped_lists(), rules, Probes())
    players = list(cell.seated.values())
    return transcript(of, record, title, players, states, ENDINGS, step="round")


def states_of(record: Record) -> list[Game]:
    """Return the states of a game: of its deal, and after every stage; in replays as heard."""
    keywords, codes = record.own["keywords"], record.own["codes"]
    states = [Game(Deal(tuple(keywords), tuple(map(tuple, codes))))]
    for turn in turns_of(record):
        if turn.hints is not None:
            states.append(replace(states[-1], hints=turn.hints))
        if turn.turn is not None:
            states.append(replace(states[-1], hints=None, turns=(*states[-1].turns, turn.turn)))
    return states
