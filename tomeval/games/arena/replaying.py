"""Recorded games of the arena, played again from their records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tomeval.core.streams import Stream
from tomeval.games.arena.wording import Wording
from tomeval.games.game import COUNTED, Action, ArenaGame, Ask
from tomeval.games.played import Mark, frozen
from tomeval.games.transcripts import transcript
from tomeval.runs.domain import Line
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.games.arena.results import ArenaRunCell

Actions = Mapping[int, Mapping[int, Action]]
"""What was done, by entry of a record, by seat."""


def game_lines(cell: ArenaRunCell, episode: int) -> Iterator[Line]:
    """Yield a game of a run for readers."""
    record, table = cell.store.record(cell.number, episode), cell.table
    try:
        states = states_of(cell, record)
    except (ValueError, KeyError, IndexError) as error:
        raise cell.store.damaged(f"game {episode} of cell {cell.number}: {error}") from None
    title = f"{cell.name}; seed {cell.seed}, game {episode}, deal {record.own['deal']}"
    names = [player["name"] for player in cell.definition["players"]]
    return transcript(table.game, record, title, names, states)


def states_of(cell: ArenaRunCell, record: Record) -> list[Any]:
    """Return the states of a game of a run: after the deal, and after every entry of its record."""
    game, wording = cell.table.game, None
    columns = map(record.column, ("stage", "seat", "verdict", "action"))
    actions = actions_of(zip(*columns, strict=True))
    if "deals" in cell.definition:  # it was played elsewhere
        wording = cell.table.kind.wording
        assert wording is not None
        first = wording.dealt(game, {}, cell.definition["deals"][record.episode])
    else:
        stream = Stream.of(cell.seed, "arena", "deal", cell.table.stream)
        first = game.deal(stream.episode(record.own["deal"]))
    played = replay(game, first, record.own["marks"], actions, wording)
    return [first, *(state for _, state in played)]


def replay(
    game: ArenaGame[Any],
    first: Any,
    record: Sequence[Mark | Sequence[Any]],
    actions: Actions,
    wording: Wording | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield every state after the first with the entry of the record that led to it.

    Parameters
    ----------
    first
        The state after the deal.
    record
        See `played.PlayedGame.record`; as JSON has it, too.
    actions : mapping
        By entry of the record, by seat.
    wording : Wording, optional
        Of a game that TextArena played: it says who speaks when, and how stages end.

    Raises
    ------
    ValueError
        The actions are not those of a game with this record.
    """
    state, decided = first, None
    for stage, mark in enumerate(record):
        said = actions.get(stage, {})
        if wording is not None and len(said) == 1:
            state = wording.speaking(state, *said)
        due = game.due(state)
        if isinstance(mark, int):
            if not due or {ask.seat for ask in due} != set(said):
                raise ValueError(f"stage {stage}: {sorted(said)} decided, {due} were due")
            if wording is None:
                outcomes = [after for _, after in game.outcomes(state, said)]
            else:
                outcomes = wording.outcomes(game, state, said, decided)
            if not 0 <= mark < len(outcomes):
                raise ValueError(f"stage {stage}: chance has {len(outcomes)} outcomes, not {mark}")
            state = outcomes[mark]
        else:
            seat, kind, how = mark
            if wording is None:
                state = game.struck(state, Ask(seat, kind), how)
            else:
                later = actions.get(stage + 1, {})  # decided already, and kept
                state, decided = wording.struck(game, state, Ask(seat, kind), later)
        yield stage, state


def actions_of(rows: Iterable[tuple[Any, ...]]) -> dict[int, dict[int, Action]]:
    """Return actions that counted by stage and seat; rows: stage, seat, verdict, action."""
    by_stage: dict[int, dict[int, Action]] = {}
    for stage, seat, verdict, action in rows:
        if verdict in COUNTED:
            by_stage.setdefault(stage, {})[seat] = frozen(action)
    return by_stage
