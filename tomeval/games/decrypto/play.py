"""One game, turn by turn: play, replay, and people, by the loop of all games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tomeval.core.outcomes import COMPLETE, NOT_ASKED, VALID, Invalid, Said
from tomeval.games import play as loop
from tomeval.games.chairs import Door
from tomeval.games.decrypto.game import (
    Code,
    Deal,
    EncoderView,
    Game,
    Hints,
    Rules,
    Turn,
    outcome_of,
)
from tomeval.games.decrypto.probes import Probed, Probes
from tomeval.games.decrypto.replays import RecordedGame, turn_json
from tomeval.games.decrypto.seats import ROLES, Seat
from tomeval.games.decrypto.stages import ENCODE, EVE, GUESS, Decrypto, trail_of
from tomeval.games.game import Ask, Probe
from tomeval.games.played import Decision
from tomeval.games.played import PlayedGame as PlayedStages
from tomeval.games.replays import RECORDED
from tomeval.games.seats import Answer
from tomeval.games.seats import Seat as Player
from tomeval.lexicon.words import WordLists

RECORD = "record"

Call = tuple[int, str, dict[str, Any]]
"""Turn, role, record."""


@dataclass
class PlayedTurn:
    """One row of the turn table.

    Attributes
    ----------
    number : int
        From 1.
    hints, bob, eve
        The hints that were heard and the guesses; None if an answer was invalid, or not asked for
        because one before it was.
    outcomes, attempts : dict
        By role: ``valid``, an invalid reason, ``not_asked`` or, in replays, ``recorded``.
    told : bool
        Whether Alice learned in this turn what her view does not show.
    details : dict
        By role: JSON-ready facts, such as an Oracle's draft; in replays under ``record`` what was
        said then.
    best : float or None
        Best value that Alice could have reached in this turn, if it was searched for.
    """

    number: int
    code: Code
    hints: Hints | None = None
    bob: Code | None = None
    eve: Code | None = None
    outcomes: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ROLES, NOT_ASKED))
    attempts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))
    told: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    probes: list[Probed] = field(default_factory=list)
    best: float | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn, if it was finished."""
        if self.hints is None or self.bob is None or self.eve is None:
            return None
        return Turn(self.code, self.hints, self.bob, self.eve)


@dataclass
class PlayedGame:
    """A game as it goes to the store; `index` counts from 0.

    `outcome` is None for games that are not complete and for replays that stop before the end.
    """

    index: int
    deal: Deal
    status: str = COMPLETE
    outcome: str | None = None
    turns: list[PlayedTurn] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


Best = Callable[[EncoderView], float]
"""Returns the best value that Alice can reach in a turn."""


@dataclass
class Table:
    """Who plays, and how.

    Attributes
    ----------
    seats : dict of str to Seat or None
        By role; None: forced to the record.
    lists : WordLists
        What random hints are drawn from.
    rng : numpy.random.Generator
        Chance for answers in place of invalid ones.
    on_turn : callable, optional
        Called with each finished turn.
    side_by_side : bool
        False: whoever is asked at the same time is asked in order, without an event loop.
    """

    seats: dict[str, Seat | None]
    lists: WordLists
    rules: Rules = field(default_factory=Rules)
    probes: Probes = field(default_factory=Probes)
    on_invalid: str = "void"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    best: Best | None = None
    on_turn: Callable[[Turn], None] | None = None
    side_by_side: bool = True


async def play_game(
    table: Table,
    index: int,
    deal: Deal,
    record: RecordedGame | None = None,
    played: PlayedGame | None = None,
) -> PlayedGame:
    """Play a game, or replay a record; `played` is filled as it goes.

    In a replay, every recorded turn is asked about with the past as it was recorded. Players that
    `table` lacks answer as recorded. A replaced encoder is heard if both listeners are replaced
    too; else the recorded hints are heard, and her own are kept among the details.

    A game is ``failed`` if a model gave no reply, ``void`` if an answer was invalid and the policy
    says so.
    """
    if record is None and None in table.seats.values():
        raise ValueError("an empty seat needs a recorded game")
    played = played or PlayedGame(index, deal)
    game, notes = Decrypto(table.lists, table.rules, table.probes), _Notes(table, played, record)
    first = Game(deal, table.rules)
    alice = table.seats["encoder"]
    stages = PlayedStages(index, index, (0, 1, 2))
    seated = loop.Table(
        game,
        [None if (seat := table.seats[role]) is None else _Seated(seat) for role in ROLES],
        (0, 1, 2),
        *(np.random.default_rng(0), np.random.default_rng(0), table.rng),
        on_invalid="ask_again" if table.on_invalid == "void" else table.on_invalid,
        door=Door() if alice is None else alice.chair.door,
        measured=(0, 2),
        side_by_side=table.side_by_side,
        on_step=notes.add,
        record=() if record is None else trail_of(record, first),
        start=first,
    )
    try:
        played.status = (await loop.play_game(seated, index, index, stages)).status
    finally:
        played.calls += _in_turns(stages)
    if played.status != COMPLETE:
        played.outcome = None
    return played


class _Seated(Player):
    """A player of Decrypto in the loop of all games."""

    asked_first = True

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self._turns = 0

    async def answer(self, view: Any, ask: Ask) -> Answer:
        """Give hints, or guess."""
        return _answer(await self.seat.answer(view))

    async def probe(self, view: Any, ask: Ask, probe: Probe) -> Answer | None:
        """Answer with what the question shows: the hints, or the keywords and the answer to A."""
        names = ("keywords", "earlier") if ask.seat == EVE else ("hints",)
        shown = (probe.given or ()) if ask.seat == EVE else (probe.given,)
        said = await self.seat.probe(view, probe.name, **dict(zip(names, shown, strict=False)))
        return None if said is None else _answer(said)

    async def observe(self, view: Any) -> tuple[dict[str, Any], ...]:
        """Learn how a turn ended, unless it was the last."""
        if len(view.turns) == self._turns or outcome_of(view.turns, view.rules):
            return ()
        self._turns = len(view.turns)
        return await self.seat.observe(view.turns[-1])


def _answer(said: Said[Any] | Invalid) -> Answer:
    return Answer(
        None if isinstance(said, Invalid) else said.value,
        attempts=said.attempts,
        outcome=said.reason if isinstance(said, Invalid) else VALID,
        raw=said.raw if isinstance(said, Invalid) else "",
        calls=said.calls,
        details=said.details,
    )


class _Notes:
    """Puts decisions into the turn table as they are made."""

    def __init__(self, table: Table, played: PlayedGame, record: RecordedGame | None) -> None:
        self.table, self.played, self.record = table, played, record

    def add(self, decision: Decision) -> None:
        """Note a decision, and with the last one of a turn how that ended."""
        played, role, answer = self.played, ROLES[decision.seat], decision.answer
        if decision.kind == ENCODE:
            played.turns.append(self._begun(decision.round))
        row = played.turns[-1]
        details = dict(answer.details or {})
        given = details.pop(RECORDED, False)
        row.outcomes[role] = RECORDED if given else answer.outcome
        row.attempts[role] = answer.attempts
        if details:
            row.details.setdefault(role, {}).update(details)
        row.probes += [
            Probed(
                one.probe.name,
                *(one.answer.outcome, one.answer.action, one.answer.attempts, one.answer.raw),
            )
            for one in decision.probed
        ]
        if decision.kind == GUESS:
            setattr(row, "bob" if role == "decoder" else "eve", decision.action)
        else:
            row.told, row.hints = decision.told, decision.action
            self._hear(row)
        if decision.seat == EVE and (turn := row.turn) is not None:
            self._over(turn)

    def _begun(self, number: int) -> PlayedTurn:
        """Return the row of a turn; in a replay with what is kept of the record.

        The first turn keeps the whole game, so that tables can show the record beside those who
        replay it, even where they broke off.
        """
        deal, table = self.played.deal, self.table
        row = PlayedTurn(number, deal.codes[number - 1])
        if self.record is not None:
            told = turn_json(self.record.turns[number - 1])
            kept: dict[str, Any] = {name: told[name] for name in ("hints", "bob", "eve")}
            game = {"game": self.record.as_json()} if number == 1 else {}
            row.details = {RECORD: kept | game}
        if table.best is not None:
            view = EncoderView(deal.keywords, row.code, self._finished, table.rules)
            row.best = table.best(view)
        return row

    @property
    def _finished(self) -> tuple[Turn, ...]:
        return tuple(turn for row in self.played.turns if (turn := row.turn) is not None)

    def _hear(self, row: PlayedTurn) -> None:
        """Note the record's hints as heard, and Alice's own as given, unless she is heard."""
        seats = self.table.seats
        heard = seats["decoder"] is not None and seats["interceptor"] is not None
        if self.record is None or seats["encoder"] is None or heard or row.hints is None:
            return
        row.details.setdefault("encoder", {})["given"] = list(row.hints)
        row.hints = self.record.turns[row.number - 1].hints

    def _over(self, turn: Turn) -> None:
        if self.table.on_turn:
            self.table.on_turn(turn)
        self.played.outcome = self.played.outcome or outcome_of(self._finished, self.table.rules)


def _in_turns(stages: PlayedStages) -> list[Call]:
    """Return the calls by turn: on a draft, for hints, for guesses, for probes, for notes."""
    turn_of = {decision.number: decision.round for decision in stages.decisions}
    drafted = {decision.number for decision in stages.decisions if decision.kind == ENCODE}
    last = max(turn_of, default=0)

    def place(entry: tuple[int, int, str, dict[str, Any]]) -> tuple[int, int]:
        number, _, form, _ = entry
        turn = turn_of.get(number, turn_of.get(last, 0) + 1)
        if form in (ENCODE, GUESS):
            return turn, 1 if form == ENCODE else 0 if number in drafted or number > last else 2
        return turn, 4 if form == "observe" else 3

    ordered = sorted(stages.calls, key=place)
    return [(place(entry)[0], ROLES[entry[1]], entry[3]) for entry in ordered]
