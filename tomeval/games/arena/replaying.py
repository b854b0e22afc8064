"""Recorded games of the arena, played again from their records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tomeval.core.streams import Stream
from tomeval.games.arena.wording import Wording
from tomeval.games.game import Action, ArenaGame, Ask
from tomeval.games.played import COUNTED, Mark, frozen

if TYPE_CHECKING:
    from tomeval.games.arena.results import ArenaRunCell

Actions = Mapping[int, Mapping[int, Action]]
"""What was done, by entry of a record, by seat."""


def first_state(cell: ArenaRunCell, episode: int, deal: int) -> Any:
    """Return the state after the deal of a game of a run."""
    game = cell.table.game
    if "deals" in cell.definition:  # it was played elsewhere
        wording = cell.table.kind.wording
        assert wording is not None
        return wording.dealt(game, {}, cell.definition["deals"][episode])
    return game.deal(Stream.of(cell.seed, "arena", "deal", cell.table.stream).episode(deal))


def replayed(
    cell: ArenaRunCell, first: Any, record: Sequence[Any], actions: Actions
) -> Iterator[tuple[int, Any]]:
    """Yield the states of a game of a run, see `replay`."""
    wording = cell.table.kind.wording if "deals" in cell.definition else None
    return replay(cell.table.game, first, record, actions, wording)


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
