"""One game: one turn loop for play, for replay and for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED, NOT_ASKED, VALID, VOID, Invalid, Said
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    Deal,
    EncoderView,
    Game,
    Hints,
    Rules,
    Turn,
    hint_fault,
    outcome_of,
)
from tomeval.domains.decrypto.probes import (
    PROBED_SEAT,
    Probed,
    Probes,
    ask_encoder,
    ask_interceptor,
)
from tomeval.domains.decrypto.replays import RecordedGame, turn_json
from tomeval.domains.decrypto.seats import ROLES, Seat
from tomeval.domains.seated.play import together

T = TypeVar("T")

RECORDED = "recorded"
RECORD = "record"

Call = tuple[int, str, dict[str, Any]]
"""Turn, role, record."""

Heard = Said[Code] | Invalid
"""A listener's guess."""


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
    outcomes: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    told: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    probes: list[Probed] = field(default_factory=list)
    best: float | None = None


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
    hint_words, rng
        What random hints are drawn from, and chance for answers in place of invalid ones.
    on_turn : callable, optional
        Called with each finished turn.
    side_by_side : bool
        False: whoever is asked at the same time is asked in order, without an event loop.
    """

    seats: dict[str, Seat | None]
    rules: Rules = field(default_factory=Rules)
    probes: Probes = field(default_factory=Probes)
    on_invalid: str = "void"
    hint_words: Sequence[str] = ()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    best: Best | None = None
    on_turn: Callable[[Turn], None] | None = None
    side_by_side: bool = True


class _Void(Exception):
    """The game cannot go on; the argument is its status."""


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
    game = Game(deal, table.rules)
    answered: list[Turn] = []
    try:
        for turn in range(len(record.turns) if record else table.rules.turns):
            past = record.turns[turn] if record else None
            row = PlayedTurn(game.number, game.code, details=_kept(record, turn))
            played.turns.append(row)
            await _Round(table, game, row, played.calls, past).play()
            answered.append(_as_turn(row))
            if table.on_turn:
                table.on_turn(answered[-1])
            played.outcome = played.outcome or outcome_of(answered, table.rules)
            if past is None and played.outcome:
                break
            following = past or answered[-1]
            if not (record and turn == len(record.turns) - 1):
                await _observe(table, following, row.number, played.calls)
                game = game.after(following.hints, following.bob, following.eve)
    except _Void as stopped:
        played.status, played.outcome = str(stopped), None
    return played


def _kept(record: RecordedGame | None, turn: int) -> dict[str, Any]:
    """Return what a replay keeps of the record: every turn's, and with the first the whole game.

    So tables can show the record beside those who replay it, even where they broke off.
    """
    if record is None:
        return {}
    told = turn_json(record.turns[turn])
    kept: dict[str, Any] = {name: told[name] for name in ("hints", "bob", "eve")}
    return {RECORD: kept | ({"game": record.as_json()} if turn == 0 else {})}


def _as_turn(row: PlayedTurn) -> Turn:
    if row.hints is None or row.bob is None or row.eve is None:
        raise RuntimeError("an incomplete turn cannot be continued")
    return Turn(row.code, row.hints, row.bob, row.eve)


async def _observe(table: Table, turn: Turn, number: int, calls: list[Call]) -> None:
    """Tell everybody how a turn ended."""
    seats = [(role, seat) for role in ROLES if (seat := table.seats[role]) is not None]
    told = (seat.observe(turn) for _, seat in seats)
    observed = await together(*told, at_once=table.side_by_side)
    for (role, _), made in zip(seats, observed, strict=True):
        calls += [(number, role, call) for call in made]


class _Round:
    """One turn under way."""

    def __init__(
        self, table: Table, game: Game, row: PlayedTurn, calls: list[Call], past: Turn | None
    ) -> None:
        self.table, self.game, self.row, self.calls, self.past = table, game, row, calls, past
        self._heard: dict[tuple[str, Hints], Heard] = {}
        self._to_log: dict[str, Heard] = {}

    async def play(self) -> None:
        """Ask everybody, in order."""
        row, table = self.row, self.table
        for role in ROLES:
            row.outcomes[role], row.attempts[role] = NOT_ASKED, 0
        view = self.game.encoder_view()
        if table.best is not None:
            row.best = table.best(view)
        row.hints = hints = await self._hints(view)
        bob, (eve, beliefs), predictions = await together(
            self._guess("decoder", hints),
            self._eve(hints),
            self._predictions(view, hints),
            at_once=table.side_by_side,
        )
        self._log_guesses()
        row.probes = predictions + beliefs
        for probed in row.probes:
            self._log(PROBED_SEAT[probed.question], probed)
        row.bob = self._take("decoder", bob, self._random_code)
        row.eve = self._take("interceptor", eve, self._random_code)

    async def _hints(self, view: EncoderView) -> Hints:
        """Return the hints that are heard."""
        row, table, seats = self.row, self.table, self.table.seats
        if (alice := seats["encoder"]) is None:
            row.outcomes["encoder"] = RECORDED
            return self._recorded().hints
        door = alice.chair.door
        door.set(self._listen)
        answer = await alice.answer(view)
        self._log("encoder", answer)
        row.told = door.used
        hints: Hints = self._take(
            "encoder", answer, lambda: random_hints(view, table.hint_words, table.rng)
        )
        if seats["decoder"] is not None and seats["interceptor"] is not None:
            return hints
        row.details.setdefault("encoder", {})["given"] = list(hints)
        return self._recorded().hints

    async def _listen(self, hints: Hints) -> tuple[Heard, Heard]:
        guesses = (self._guess(role, hints) for role in ("decoder", "interceptor"))
        bob, eve = await together(*guesses, at_once=self.table.side_by_side)
        self._log_guesses()
        return bob, eve

    async def _guess(self, role: str, hints: Hints) -> Heard:
        """Return a listener's guess; for the same hints always the same one."""
        seat = self.table.seats[role]
        if seat is None:
            turn = self._recorded()
            guess = turn.bob if role == "decoder" else turn.eve
            return Said(guess, attempts=0, details={RECORDED: True})
        key = (role, hints)
        if key not in self._heard:
            game = self.game
            see = game.decoder_view if role == "decoder" else game.interceptor_view
            self._heard[key] = self._to_log[role] = await seat.answer(see(hints))
        return self._heard[key]

    async def _predictions(self, view: EncoderView, hints: Hints) -> list[Probed]:
        alice = self.table.seats["encoder"]
        return [] if alice is None else await ask_encoder(alice, self.table.probes, view, hints)

    async def _eve(self, hints: Hints) -> tuple[Heard, list[Probed]]:
        """Ask Eve for her beliefs, then for her guess."""
        beliefs: list[Probed] = []
        if (eve := self.table.seats["interceptor"]) is not None:
            view, truth = self.game.interceptor_view(hints), self.game.deal.keywords
            beliefs = await ask_interceptor(eve, self.table.probes, view, truth)
        return await self._guess("interceptor", hints), beliefs

    def _log_guesses(self) -> None:
        """Log what listeners were asked side by side: in one order, whoever answered first."""
        for role in ("decoder", "interceptor"):
            if role in self._to_log:
                self._log(role, self._to_log.pop(role))

    def _log(self, role: str, answer: Said[Any] | Invalid | Probed) -> None:
        self.calls += [(self.row.number, role, call) for call in answer.calls]

    def _take(self, role: str, answer: Said[T] | Invalid, draw: Callable[[], T]) -> T:
        """Return what counts as a seat's answer; if it is invalid, by the policy."""
        row = self.row
        row.attempts[role] = answer.attempts
        details = answer.details or {}
        recorded = RECORDED in details
        if details and not recorded:
            row.details.setdefault(role, {}).update(details)
        if isinstance(answer, Said):
            row.outcomes[role] = RECORDED if recorded else VALID
            return answer.value
        row.outcomes[role] = answer.reason
        if answer.reason == "backend_error":
            raise _Void(FAILED)
        if self.table.on_invalid == "stop":
            raise TomevalError(
                f"turn {row.number}: the {role}'s answer is {answer.reason}: {answer.raw[:200]!r}"
            )
        if self.table.on_invalid == "void":
            raise _Void(VOID)
        return draw()

    def _random_code(self) -> Code:
        return CODES[int(self.table.rng.integers(len(CODES)))]

    def _recorded(self) -> Turn:
        if self.past is None:
            raise RuntimeError("no recorded game")
        return self.past


def random_hints(view: EncoderView, words: Sequence[str], rng: np.random.Generator) -> Hints:
    """Draw three hints uniformly until they are legal."""
    for _ in range(1000):
        one, two, three = (words[int(i)] for i in rng.integers(len(words), size=3))
        hints = (one, two, three)
        if hint_fault(hints, view.keywords, view.code, view.turns, view.rules) is None:
            return hints
    raise TomevalError("almost no hint words are legal hints")
