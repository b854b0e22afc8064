"""One game: one loop for scripted players, language models, people, and records played again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import BACKEND_ERROR, FAILED, VALID, VOID
from tomeval.games.game import COUNTED, Action, ArenaGame, Ask, Probe, Stage, View
from tomeval.games.played import RECORDED, Decision, PlayedGame, Probed, judge, together
from tomeval.games.seats import Answer, Door, PlannerSeat, Seat
from tomeval.games.solver import Follower, Solver
from tomeval.games.worth import value, weigh

SUBJECT_SLOT = 0


@dataclass
class Table:
    """Who plays, and how."""

    game: ArenaGame[Any]
    players: Sequence[Seat]  # by slot; the subject first
    seats: tuple[int, ...]  # the seat of every slot
    # For the deal, for chance moves, for actions in place of broken ones, and for random answers to
    # probes, that decisions are held to.
    deal: np.random.Generator
    chance: np.random.Generator
    fallback: np.random.Generator
    on_invalid: str = "ask_again"  # see `experiment.POLICIES`
    door: Door = field(default_factory=Door)  # the subject's
    solver: Solver | None = None  # of the subject's seat
    measured: tuple[int, ...] = (SUBJECT_SLOT,)  # the slots that are asked the literal questions
    # Ask seats of one stage, and probes, at once: worth its cost if models answer.
    side_by_side: bool = False
    # Called after every decision, unless the game ends there without a result.
    on_step: Callable[[Decision], None] = lambda decision: None
    statements: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    # Of the other slots, where it is another one than the subject's `fallback`.
    other_fallback: np.random.Generator | None = None

    def drawing(self, slot: int) -> np.random.Generator:
        """Return what actions of a slot are drawn from in place of broken ones."""
        other = None if slot == SUBJECT_SLOT else self.other_fallback
        return self.fallback if other is None else other


class _Over(Exception):
    """The game cannot go on; the argument is its status."""


async def play_game(
    table: Table, index: int, deal: int, played: PlayedGame | None = None
) -> PlayedGame:
    """Play a game.

    It is ``failed`` if a model gave no reply, ``void`` if an answer was refused for good and the
    policy says so; else it is played to its end. A `played` of the
    caller's own holds the decisions as they are made.
    """
    return await _Play(table, played or PlayedGame(index, deal, table.seats)).play()


class _Play:
    """A game under way."""

    def __init__(self, table: Table, played: PlayedGame) -> None:
        self.table, self.game, self.played = table, table.game, played
        self.slot = {seat: slot for slot, seat in enumerate(table.seats)}
        self.subject = table.seats[SUBJECT_SLOT]
        self.state: Any = None
        self.trail: list[Stage[Any]] = []
        self.follower: Follower | None = None
        self.open: dict[Ask, Decision] = {}  # decisions of the stage that is not over yet
        self.ahead: dict[tuple[Any, Ask], Answer] = {}  # what was asked before it was due

    async def play(self) -> PlayedGame:
        """Play to the end."""
        table, game, played = self.table, self.game, self.played
        self.state = game.deal(table.deal)
        for slot, player in enumerate(table.players):
            player.begin(game.view(self.state, table.seats[slot]))
        if table.solver is not None:
            self.follower = table.solver.follow(game.view(self.state, self.subject))
        try:
            while due := game.due(self.state):
                await self._stage(due)
        except _Over as over:
            played.status = str(over)
        else:
            played.rewards, played.wins = game.rewards(self.state), game.wins(self.state)
            played.ending = game.ending(self.state)
        played.roles, played.teams = game.roles(self.state), game.teams(self.state)
        played.rounds = game.rounds(self.state)
        judge(game, played.decisions, self.trail, self.state, table.statements)
        if (solver := table.solver) is not None:
            played.best_value, played.random_value = solver.value(), solver.chance()
        return played

    async def _stage(self, due: tuple[Ask, ...]) -> None:
        """Ask all who are due, and go on to the next state, or put out who broke the rules."""
        await self._ask([ask for ask in due if ask not in self.open])
        if struck := self._struck(due):
            self._strike(*struck)
            await self._observe()
            return
        before = self.state
        actions = {ask.seat: self.open[ask].action for ask in due}
        outcome, after = self.game.after(before, actions, self.table.chance)
        for decision in self.open.values():
            decision.at = len(self.trail)
        self.trail.append(Stage(before, actions))
        weigh(self.game, self.open.values(), self.trail[-1])
        self.played.record.append(outcome)
        self.open.clear()
        self.ahead = {at: answer for at, answer in self.ahead.items() if at[0] == after}
        self.state = after
        await self._observe()

    async def _ask(self, asks: list[Ask]) -> None:
        """Ask seats side by side; whoever answers first, their rows are in the order of seats."""
        others = [ask for ask in asks if ask.seat != self.subject]
        mine = [ask for ask in asks if ask.seat == self.subject]
        first = len(self.played.decisions) + 1
        numbered = {ask: number for number, ask in enumerate(asks, first)}
        if self.table.side_by_side:
            theirs = asyncio.gather(
                *(self._decide(ask, numbered[ask]) for ask in others), return_exceptions=True
            )
            self._set_door(mine, theirs)
            rest = await asyncio.gather(
                theirs,
                *(self._decide(ask, numbered[ask]) for ask in mine),
                return_exceptions=True,
            )
            results = [*(rest[0] if isinstance(rest[0], list) else [rest[0]]), *rest[1:]]
            for result in results:  # only once all have ended, so that no paid reply is lost
                if isinstance(result, BaseException):
                    raise result
            decisions = dict(zip([*others, *mine], results, strict=True))
            for ask in (*others, *mine):  # in one order, whoever answered first
                self._settle(decisions[ask], ask)
        else:
            decisions = dict[Ask, Decision]()
            self._set_door(mine, decisions)
            for ask in (*others, *mine):
                decisions[ask] = await self._decide(ask, numbered[ask])
                self._settle(decisions[ask], ask)
                if decisions[ask].verdict == "invalid" and self.game.binding:
                    break
        asked = self.table.measured
        lost = self.game.binding and any(d.verdict == "invalid" for d in decisions.values())
        measured = [d for d in decisions.values() if d.slot in asked and not lost]
        await together(
            *(self._question_after(decision) for decision in measured),
            at_once=self.table.side_by_side,
        )
        for decision in decisions.values():
            decision.told = decision.slot == SUBJECT_SLOT and self.table.door.used
            if decision.slot in (SUBJECT_SLOT, *asked):
                view = self.game.view(self.state, decision.seat)
                value(self.game, view, decision, self.table.statements)
        goes_on = all(decision.verdict != "invalid" for decision in decisions.values())
        for ask in filter(decisions.__contains__, asks):
            self.open[ask] = decision = decisions[ask]
            self.played.decisions.append(decision)
            self._log(decision)
            if goes_on:
                self.table.on_step(decision)

    def _set_door(
        self, mine: list[Ask], theirs: asyncio.Future[list[Any]] | Mapping[Ask, Decision]
    ) -> None:
        """Put behind the subject's door what others decide: now, or after an action of its own."""
        if not mine:
            return

        async def look(*drafts: Action) -> Any:
            if drafts:
                return await self._after(mine[0], *drafts)
            known = theirs.values() if isinstance(theirs, Mapping) else await theirs
            return self._now(mine[0], known)

        self.table.door.set(look)

    def _now(self, ask: Ask, theirs: Iterable[Any]) -> Mapping[Probe, Action]:
        """Return what is true of the probes of a decision, as far as this stage settles it."""
        actions = {
            d.seat: d.answer.action if d.answer.outcome == VALID else d.action
            for d in theirs
            if isinstance(d, Decision)
            if d.answer.outcome == VALID or d.verdict == "default"
        }
        self.trail.append(Stage(self.state, actions))  # for the questions alone
        at = len(self.trail) - 1
        try:
            true = {
                probe: self.game.truth(probe, self.subject, self.trail, at, self.state)
                for probe in self.game.probes(self.state, ask, None, {})
            }
        finally:
            self.trail.pop()
        return {probe: what for probe, what in true.items() if what is not None}

    async def _after(self, ask: Ask, action: Action) -> Mapping[int, Answer]:
        """Return what others answer after an action, by seat; if it comes to that, they do so."""
        [(_, state)] = self.game.outcomes(self.state, {ask.seat: action})
        due = self.game.due(state)
        new = [one for one in due if (state, one) not in self.ahead]
        views = (self.game.view(state, one.seat) for one in new)
        answers = await together(
            *(self._answer(one, view) for one, view in zip(new, views, strict=True)),
            at_once=self.table.side_by_side,
        )
        for one, answer in zip(new, answers, strict=True):
            where = len(self.played.decisions) + 1, self.slot[one.seat], one.kind
            self.played.calls += [(*where, call) for call in answer.calls]
            self.ahead[state, one] = replace(answer, calls=())
        return {one.seat: self.ahead[state, one] for one in due}

    async def _answer(self, ask: Ask, view: View[Any]) -> Answer:
        """Ask one seat for its decision, unless it is known."""
        if self.ahead and (known := self.ahead.get((self.state, ask))) is not None:
            return known
        return await self.table.players[self.slot[ask.seat]].answer(view, ask)

    async def _decide(self, ask: Ask, number: int) -> Decision:
        """Ask one seat, and beside that the literal questions, if it is measured."""
        slot = self.slot[ask.seat]
        player = self.table.players[slot]
        view = self.game.view(self.state, ask.seat)
        decision = Decision(
            number, len(self.played.record), self.game.rounds(self.state), ask.seat, slot, ask.kind,
            Answer(None),
        )  # fmt: skip
        if slot == SUBJECT_SLOT and self.follower is not None:
            decision.values = self.follower.values(view, ask)
        if isinstance(player, PlannerSeat):
            player.values = decision.values
        asked = slot in self.table.measured
        if asked and player.asked_first:
            await self._question(decision, ask)
            asked = False
        answering = self._answer(ask, view)
        if asked:
            at_once = self.table.side_by_side
            beside = self._question(decision, ask)
            decision.answer, _ = await together(answering, beside, at_once=at_once)
        else:
            decision.answer = await answering
        return decision

    async def _question(self, decision: Decision, ask: Ask, done: Action = None) -> None:
        """Ask literal questions before a decision, or after what was `done`, until none is new."""
        player = self.table.players[decision.slot]
        view, asked = self.game.view(self.state, ask.seat), set[Probe]()
        while True:
            said = {one.probe: one.answer.action for one in decision.probed}
            new = [one for one in self.game.probes(self.state, ask, done, said) if one not in asked]
            asked.update(new)
            before = len(decision.probed)
            for part in self._batches(new):
                answers = await together(
                    *(player.probe(view, ask, probe) for probe in part),
                    at_once=self.table.side_by_side,
                )
                heard = zip(part, answers, strict=True)
                some = [Probed(one, said) for one, said in heard if said is not None]
                decision.probed += some
                if done is not None:
                    self._settle_probes(decision, some)
                if decision.verdict == "invalid":
                    return
            if len(decision.probed) == before:
                return

    def _batches(self, probes: Sequence[Probe]) -> list[list[Probe]]:
        """Return probes as they are asked: all at once, or name by name if they are binding."""
        if not self.game.binding:
            return [[*probes]]
        return [list(part) for _, part in itertools.groupby(probes, lambda probe: probe.name)]

    def _settle_probes(self, decision: Decision, probed: Sequence[Probed]) -> None:
        """Decide what counts as the answers to binding probes; a missing reply leaves none."""
        for one in probed if self.game.binding else ():
            answer, policy = one.answer, self.table.on_invalid
            if answer.outcome == VALID:
                one.counted = answer.action
            elif one.probe.name in self.game.binding and answer.outcome != BACKEND_ERROR:
                if policy == "random":
                    view = self.game.view(self.state, decision.seat)
                    options = self.game.options(view, one.probe)
                    drawn = self.table.drawing(decision.slot).integers(len(options))
                    one.counted = options[int(drawn)]
                else:
                    decision.verdict = "invalid"

    async def _question_after(self, decision: Decision) -> None:
        """Ask of what follows from a decision that counts, if it was asked for."""
        if decision.verdict in COUNTED and decision.action is not None:
            ask = Ask(decision.seat, decision.kind)
            await self._question(decision, ask, decision.action)

    def _settle(self, decision: Decision, ask: Ask) -> None:
        """Decide what counts as a seat's action."""
        answer, policy = decision.answer, self.table.on_invalid
        view = self.game.view(self.state, ask.seat)
        if answer.outcome == VALID:
            given = RECORDED in (answer.details or {})  # by whatever rules it was played
            if not given and (wrong := self.game.fault(view, ask, answer.action)) is not None:
                raise TomevalError(
                    f"{self.game.seat_name(ask.seat)}, {ask.kind}: the player's own action "
                    f"{answer.action!r} is not legal: {wrong.text}"
                )
            decision.action = answer.action
        elif answer.outcome == BACKEND_ERROR:
            decision.verdict = "invalid"
        elif policy == "default":
            decision.verdict, decision.action = "default", self.game.default(view, ask)
        elif policy == "random":
            decision.verdict = "default"
            decision.action = self.game.random(view, ask, self.table.drawing(decision.slot))
        else:
            decision.verdict = "fatal" if policy in ("forfeit", "eliminate") else "invalid"
        self._settle_probes(decision, decision.probed)

    def _struck(self, due: tuple[Ask, ...]) -> tuple[Ask, str] | None:
        """Return the first decision that broke the rules for good, and what that costs."""
        verdicts = [(ask, self.open[ask]) for ask in due if ask in self.open]
        if any(d.answer.outcome == BACKEND_ERROR for _, d in verdicts):
            raise _Over(FAILED)
        if any(d.verdict == "invalid" for _, d in verdicts):
            raise _Over(VOID)
        fatal = next((ask for ask, d in verdicts if d.verdict == "fatal"), None)
        return None if fatal is None else (fatal, self.table.on_invalid)

    def _strike(self, ask: Ask, how: str) -> None:
        """Put a seat out; what the others decided in this stage stands if it is still legal."""
        self.state = self.game.struck(self.state, ask, how)
        if ask.seat == self.subject:
            self.follower = None  # it has no decision left
        self.played.record.append((ask.seat, ask.kind, how))
        due = self.game.due(self.state)
        kept = {}
        for other, decision in self.open.items():
            view = self.game.view(self.state, other.seat)
            legal = other in due and (
                decision.verdict == "fatal" or self.game.fault(view, other, decision.action) is None
            )
            if other != ask and legal:
                decision.stage = len(self.played.record)
                kept[other] = decision
        self.open = kept

    async def _observe(self) -> None:
        """Show everybody the stage that is over."""
        number = len(self.played.decisions)
        if self.follower is not None:
            self.follower.observe(self.game.view(self.state, self.subject))
        players, seats = self.table.players, self.table.seats
        views = (self.game.view(self.state, seat) for seat in seats)
        made = await together(
            *(player.observe(view) for player, view in zip(players, views, strict=True)),
            at_once=self.table.side_by_side,
        )
        for slot, calls in enumerate(made):
            self.played.calls += [(number, slot, "observe", call) for call in calls]

    def _log(self, decision: Decision) -> None:
        """Keep the calls of a decision and of its probes."""
        where = (decision.number, decision.slot)
        self.played.calls += [(*where, decision.kind, call) for call in decision.answer.calls]
        for probed in decision.probed:
            form = probed.probe.question
            self.played.calls += [(*where, form, call) for call in probed.answer.calls]
