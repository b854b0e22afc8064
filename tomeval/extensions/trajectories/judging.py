"""Recorded games under our rules: every text read and judged, and the outcome compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import VALID
from tomeval.games.game import ArenaGame, Ask
from tomeval.games.played import Decision, Mark, PlayedGame
from tomeval.games.seats import Answer

if TYPE_CHECKING:
    from tomeval.extensions.trajectories import Line, Match


@dataclass
class _Way:
    """A way through the game so far: chance moves that nobody recorded are tried one by one."""

    state: Any
    at: int = 0  # lines that are used up
    decisions: list[Decision] = field(default_factory=list)  # their `slot` is the seat
    record: list[Mark] = field(default_factory=list)
    first: int = 0  # the index of the first decision of the stage that is being read
    actions: dict[int, Any] = field(default_factory=dict)  # done in this stage, by seat
    decided: Any = None  # the game was over in it, though TextArena went on to the stage's end

    def then(self, state: Any, *marks: Mark) -> _Way:
        """Return the way on, to the next stage."""
        decisions, record = [*self.decisions], [*self.record, *marks]
        return _Way(state, self.at, decisions, record, len(decisions))


def judged(match: Match, game: ArenaGame[Any]) -> tuple[PlayedGame, Any]:
    """Return a match as our game, played again from its texts, and its deal.

    A text that our judge refuses is an attempt that broke the rules, whatever TextArena made of it;
    the verdict says what became of the decision. The players are in the order of seats.

    Raises
    ------
    TomevalError
        The lines are no game by these rules, or rewards do not fit: file, line, field, value.
    """
    seen = {line.seat: line.observation or "" for line in reversed(match.lines)}
    wording = match.wording
    state = wording.dealt(game, seen, match.deal)
    if isinstance(state, str):
        name = "deal" if match.deal is not None else "observation"
        raise match.lines[0].wrong(name, state)
    waiting = [_Way(state)]
    misfits: list[tuple[int, TomevalError]] = []
    while waiting:
        way = waiting.pop()
        try:
            if not game.due(way.state):
                return _finished(match, game, way), wording.deal_of(state)
            waiting += reversed(_after(match, game, way))
        except TomevalError as error:  # the lines contradict this way
            misfits.append((way.at, error))
    raise max(misfits, key=itemgetter(0))[1]


def _after(match: Match, game: ArenaGame[Any], stage: _Way) -> list[_Way]:
    """Return what may follow a stage."""
    while True:
        if not (due := game.due(stage.state)):  # a broken rule ended the game
            return [stage.then(stage.state)]
        if all(ask.seat in stage.actions for ask in due):
            break
        if match.lines[stage.at :] and match.lines[stage.at].seat not in [ask.seat for ask in due]:
            stage.state = match.wording.speaking(stage.state, match.lines[stage.at].seat)
        pending = [ask for ask in game.due(stage.state) if ask.seat not in stage.actions]
        seat = _line(match, stage.at, pending).seat
        _decide(match, game, stage, next(ask for ask in pending if ask.seat == seat))
    outcomes = match.wording.outcomes(game, stage.state, stage.actions, stage.decided)
    return [stage.then(after, mark) for mark, after in enumerate(outcomes)]


def _line(match: Match, at: int, pending: list[Ask]) -> Line:
    """Return the next line, which must be of one of the seats that are still to decide."""
    due = ", ".join(f"{ask.kind} of seat {ask.seat}" for ask in pending)
    if at == len(match.lines):
        text = f"game {match.name!r} breaks off before {due}"
        raise match.lines[-1].wrong("step", text)
    line = match.lines[at]
    if line.seat not in [ask.seat for ask in pending]:
        raise line.wrong("seat", f"{line.seat} acts where {due} is due")
    return line


def _decide(match: Match, game: ArenaGame[Any], stage: _Way, ask: Ask) -> None:
    """Take the lines of one decision: refused texts, and the one that counts, if there is one."""
    wording, tries = match.wording, []
    view = game.view(stage.state, ask.seat)
    decision = Decision(
        len(stage.decisions) + 1, len(stage.record), game.rounds(stage.state), ask.seat, ask.seat,
        ask.kind, Answer(None),
    )  # fmt: skip
    stage.decisions.append(decision)
    while True:
        text = _line(match, stage.at, [ask]).action
        reading = wording.read(view, ask, text if match.raw else wording.wrapped(text))
        stage.at += 1
        if reading.broken is not None:
            tries.append(reading.broken)
        if reading.taken:
            valid = reading.broken is None
            decision.verdict = "valid" if valid else "default"
            decision.action = stage.actions[ask.seat] = reading.action
            break
        if len(tries) == wording.attempts:
            decision.verdict = "fatal"
            break
    refused = "unparsable" if tries and tries[-1].error == "format" else "illegal"
    outcome, said = (VALID, decision.action) if decision.verdict == "valid" else (refused, None)
    attempts = len(tries) + (outcome == VALID)
    decision.answer = Answer(said, tuple(tries), attempts, outcome, text, details={"text": text})
    if decision.verdict == "fatal":
        stage.state, stage.decided = wording.struck(game, stage.state, ask, stage.actions)
        stage.record.append((ask.seat, ask.kind, wording.cost))
        due = {other.seat for other in game.due(stage.state)}
        stage.actions = {seat: done for seat, done in stage.actions.items() if seat in due}
        for earlier in stage.decisions[stage.first :]:
            if earlier.seat in stage.actions:
                earlier.stage = len(stage.record)


def _finished(match: Match, game: ArenaGame[Any], way: _Way) -> PlayedGame:
    """Return a game that is over, if the file says the same of how it ended."""
    if way.at < len(match.lines):
        line = match.lines[way.at]
        text = f"{line.step}, but game {match.name!r} had already ended"
        raise line.wrong("step", text)
    rewards = game.rewards(way.state)
    for line in match.lines:
        for seat, theirs in enumerate(line.rewards or ()):
            if abs(rewards[seat] - theirs) > 1e-6:  # files round
                text = f"{theirs:g} for seat {seat}, but by the actions it is {rewards[seat]:g}"
                raise line.wrong("rewards", text)
    return PlayedGame(
        0,
        0,
        tuple(range(game.seats)),
        decisions=way.decisions,
        record=way.record,
        rewards=rewards,
        wins=game.wins(way.state),
        roles=game.roles(way.state),
        teams=game.teams(way.state),
        rounds=game.rounds(way.state),
        ending=game.ending(way.state),
    )
