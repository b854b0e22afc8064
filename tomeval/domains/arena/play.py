"""One game: one loop for scripted players, language models, people, and records played again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import BACKEND_ERROR, FAILED, VALID, VOID, InvalidAnswerError
from tomeval.domains.arena.game import UNDECIDED, Action, ArenaGame, Ask, Probe, Stage, View
from tomeval.domains.arena.played import COUNTED, Decision, PlayedGame, Probed, Worth
from tomeval.domains.arena.seats import Answer, PlannerSeat, Seat
from tomeval.domains.arena.solver import Follower, Solver, Values
from tomeval.domains.seated.play import together
from tomeval.domains.seated.seats import Door

SUBJECT_SLOT = 0

RECORDED = "recorded"
"""The detail of answers that a record gives."""


@dataclass
class Table:
    """Who plays, and how.

    Attributes
    ----------
    game : ArenaGame
    players : sequence of Seat or None
        By slot; the subject first. None answers as recorded.
    seats : tuple of int
        The seat of every slot.
    door : Door
        The subject's.
    deal, chance, fallback : numpy.random.Generator
        For the deal, for chance moves, and for actions in place of broken ones.
    on_invalid : str
        See `experiment.POLICIES`.
    solver : Solver or None
        Of the subject's seat.
    measured : tuple of int
        The slots that are asked the literal questions.
    side_by_side : bool
        Ask seats of one stage, and probes, at once: worth its cost if models answer.
    on_step : callable
        Called after every decision.
    record : sequence of Stage
        Stages of a recorded game that is played again: every round is asked about with the past as
        it was recorded, and so is every decision beside or after one that the record gives.
    start
        The state after the deal, where that is known already.
    """

    game: ArenaGame[Any]
    players: Sequence[Seat | None]
    seats: tuple[int, ...]
    deal: np.random.Generator
    chance: np.random.Generator
    fallback: np.random.Generator
    on_invalid: str = "ask_again"
    door: Door = field(default_factory=Door)
    solver: Solver | None = None
    measured: tuple[int, ...] = (SUBJECT_SLOT,)
    side_by_side: bool = False
    on_step: Callable[[Decision], None] = lambda decision: None
    record: Sequence[Stage[Any]] = ()
    start: Any = None


class _Over(Exception):
    """The game cannot go on; the argument is its status."""


async def play_game(
    table: Table, index: int, deal: int, played: PlayedGame | None = None
) -> PlayedGame:
    """Play a game.

    It is ``failed`` if a model gave no reply, ``void`` if an answer was refused for good and the
    policy says so; else it is played to its end, or to that of the record. A `played` of the
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
        self.beliefs: list[tuple[Decision, Probed, Values | None]] = []
        self.ahead: dict[tuple[Any, Ask], Answer] = {}  # what was asked before it was due

    async def play(self) -> PlayedGame:
        """Play to the end."""
        table, game, played = self.table, self.game, self.played
        self.state = game.deal(table.deal) if table.start is None else table.start
        for slot, player in enumerate(table.players):
            if player is not None:
                player.begin(game.view(self.state, table.seats[slot]))
        if table.solver is not None:
            self.follower = table.solver.follow(game.view(self.state, self.subject))
        try:
            while due := self._due():
                await self._stage(due)
        except _Over as over:
            played.status = str(over)
        else:
            played.rewards, played.wins = game.rewards(self.state), game.wins(self.state)
            played.ending = game.ending(self.state)
        played.roles, played.teams = game.roles(self.state), game.teams(self.state)
        played.rounds = game.rounds(self.state)
        self._truths()
        return played

    def _due(self) -> tuple[Ask, ...]:
        """Return who decides now; nobody once the game, or the record, is over."""
        if not self.table.record:
            return self.game.due(self.state)
        recorded = self._recorded()
        return () if recorded is None else self.game.due(recorded.state)

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
        self._weigh(before, actions)
        for decision in self.open.values():
            decision.at = len(self.trail)
        self.trail.append(Stage(before, actions))
        self.played.record.append(outcome)
        self.open.clear()
        self.ahead = {at: answer for at, answer in self.ahead.items() if at[0] == after}
        self.state = self._following(after)
        await self._observe()

    def _recorded(self, later: int = 0) -> Stage[Any] | None:
        """Return the coming stage, or a later one, as it was recorded, if there is one."""
        at = len(self.trail) + later
        return self.table.record[at] if at < len(self.table.record) else None

    def _given(self, recorded: Stage[Any] | None) -> bool:
        """Tell whether a stage gives a decision, so that all of it is as recorded."""
        due = () if recorded is None else self.game.due(recorded.state)
        return any(self.table.players[self.slot[ask.seat]] is None for ask in due)

    def _heard(self, decision: Decision) -> Action:
        """Return the action that a round goes on from: that of the record if it gives the next."""
        now, coming = self._recorded(), self._recorded(1)
        if now is None or coming is None or not self._given(coming):
            return decision.action
        same = self.game.rounds(now.state) == self.game.rounds(coming.state)
        return now.actions[decision.seat] if same else decision.action

    def _following(self, after: Any) -> Any:
        """Return the state that is gone on from: in a replay that of the record, but in a round."""
        recorded = self._recorded()
        if recorded is None:
            return after
        begun = self.game.rounds(self.trail[-1].state) != self.game.rounds(recorded.state)
        return recorded.state if begun or self._given(recorded) else after

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
        else:
            decisions = {ask: await self._decide(ask, numbered[ask]) for ask in [*others, *mine]}
        for ask in (*others, *mine):  # in one order, whoever answered first
            self._settle(decisions[ask], ask)
        asked = self.table.measured
        measured = [d for d in decisions.values() if d.slot in asked]
        await together(
            *(
                self._question(d, Ask(d.seat, d.kind), self._heard(d))
                for d in measured
                if self._made(d)
            ),
            at_once=self.table.side_by_side,
        )
        for decision in decisions.values():
            if decision.slot in (SUBJECT_SLOT, *asked):
                self._value(decision)
        for ask in asks:
            self.open[ask] = decision = decisions[ask]
            self.played.decisions.append(decision)
            self._log(decision)
            self.table.on_step(decision)

    @staticmethod
    def _made(decision: Decision) -> bool:
        """Tell whether a decision counts that a player was asked for, so that it can be asked of."""
        given = RECORDED in (decision.answer.details or {})
        return decision.verdict in COUNTED and not given

    def _set_door(self, mine: list[Ask], theirs: asyncio.Future[list[Any]]) -> None:
        """Put behind the subject's door what others decide: now, or after an action of its own."""
        if not mine:
            return

        async def look(*drafts: Action) -> Any:
            return await (self._after(mine[0], *drafts) if drafts else self._now(mine[0], theirs))

        self.table.door.set(look)

    async def _now(self, ask: Ask, theirs: asyncio.Future[list[Any]]) -> Mapping[Probe, Action]:
        """Return what is true of the probes of a decision, as far as this stage settles it."""
        decided = [d for d in await theirs if isinstance(d, Decision)]
        actions = {d.seat: d.answer.action for d in decided if d.answer.outcome == VALID}
        trail = [*self.trail, Stage(self.state, actions)]
        true = {
            probe: self.game.truth(probe, self.subject, trail, len(self.trail), self.state)
            for probe in self.game.probes(self.state, ask)
        }
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
        """Ask one seat for its decision, unless it is known; without a player by the record."""
        if self.ahead and (known := self.ahead.get((self.state, ask))) is not None:
            return known
        player = self.table.players[self.slot[ask.seat]]
        if player is None:
            coming = self.table.record[len(self.trail) :]
            action = next(stage.actions[ask.seat] for stage in coming if ask.seat in stage.actions)
            return Answer(action, attempts=0, details={RECORDED: True})
        return await player.answer(view, ask)

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
        asked = player is not None and slot in self.table.measured
        if player is not None and asked and player.asked_first:
            await self._question(decision, ask)
            asked = False
        answering = self._answer(ask, view)
        if asked:
            at_once = self.table.side_by_side
            beside = self._question(decision, ask)
            decision.answer, _ = await together(answering, beside, at_once=at_once)
        else:
            decision.answer = await answering
        decision.told = slot == SUBJECT_SLOT and self.table.door.used
        return decision

    async def _question(self, decision: Decision, ask: Ask, done: Action = UNDECIDED) -> None:
        """Ask literal questions before a decision, or after what was `done`, until none is new."""
        player = self.table.players[decision.slot]
        assert player is not None
        view, asked = self.game.view(self.state, ask.seat), set[Probe]()
        while True:
            said = {one.probe: one.answer.action for one in decision.probed}
            new = [one for one in self.game.probes(self.state, ask, done, said) if one not in asked]
            asked.update(new)
            answers = await together(
                *(player.probe(view, ask, probe) for probe in new), at_once=self.table.side_by_side
            )
            heard = zip(new, answers, strict=True)
            decision.probed += [Probed(one, said) for one, said in heard if said is not None]
            if not any(answer is not None for answer in answers):
                return

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
        elif policy == "stop":
            raise InvalidAnswerError(
                f"{self.game.seat_name(ask.seat)}, {ask.kind}: the answer is {answer.outcome}: "
                f"{answer.raw[:200]!r}"
            )
        elif policy == "default":
            decision.verdict, decision.action = "default", self.game.default(view, ask)
        elif policy == "random":
            decision.verdict = "default"
            decision.action = self.game.random(view, ask, self.table.fallback)
        else:
            decision.verdict = "invalid" if policy == "ask_again" else "fatal"

    def _struck(self, due: tuple[Ask, ...]) -> tuple[Ask, str] | None:
        """Return the first decision that broke the rules for good, and what that costs."""
        verdicts = [(ask, self.open[ask]) for ask in due]
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
        if self.table.record and self._recorded() is None:
            return
        players = [(slot, one) for slot, one in enumerate(self.table.players) if one is not None]
        views = (self.game.view(self.state, self.table.seats[slot]) for slot, _ in players)
        made = await together(
            *(player.observe(view) for (_, player), view in zip(players, views, strict=True)),
            at_once=self.table.side_by_side,
        )
        for (slot, _), calls in zip(players, made, strict=True):
            self.played.calls += [(number, slot, "observe", call) for call in calls]

    # What it was worth

    def _value(self, decision: Decision) -> None:
        """Record V* and Q* of a decision, and the regret of acting on its predictions."""
        values, view = decision.values, self.game.view(self.state, decision.seat)
        decision.worth = worth = Worth()
        for probed in decision.probed:
            self.beliefs.append((decision, probed, values))
            if values is not None:
                probed.attainable = values.attainable(probed.probe)
        said = {p.probe: p.answer.action for p in decision.probed if p.answer.outcome == VALID}
        worth.step_reply = self.game.step_reply(view, said) if said else None
        if values is None:
            return
        worth.best = values.best
        if decision.verdict in ("valid", "default"):
            worth.counted = values.regret(decision.action)
        if decision.verdict == "valid":
            worth.chosen, worth.regret = values.of(decision.action), worth.counted
        worth.reply = values.reply(said) if said else None
        if worth.reply is not None:
            worth.tom_regret = values.regret(worth.reply)

    def _weigh(self, before: Any, actions: Mapping[int, Action]) -> None:
        """Note one-step payoffs, now that the others' actions are known."""
        for decision in self.open.values():
            if decision.worth is not None and decision.verdict == "valid":
                decision.worth.step = self.game.stepwise(
                    before, decision.seat, actions, decision.worth.step_reply
                )

    def _truths(self) -> None:
        """Compare answers to probes with the truth."""
        for decision, probed, values in self.beliefs:
            if decision.at is None:
                continue
            truth = self.game.truth(
                probed.probe, decision.seat, self.trail, decision.at, self.state
            )
            if truth is None:
                continue
            probed.truth = truth
            if values is not None and (seen := values.observer(probed.probe)) is not None:
                probed.observer, probed.observer_brier = _scored(seen, truth)
            if probed.answer.outcome == VALID:
                said = probed.answer.action
                probed.hit = self.game.hit(probed.probe, said, truth)
                if probed.answer.probs is not None:
                    given = self._stated(decision, probed, probed.answer.probs)
                    probed.probability, probed.brier = _scored(given, truth)

    def _stated(
        self, decision: Decision, probed: Probed, probs: Sequence[float]
    ) -> Mapping[Action, float]:
        """Return the probabilities that the subject gave, by what its labels mean."""
        assert decision.at is not None
        view = self.game.view(self.trail[decision.at].state, decision.seat)
        form = self.game.form(view, probed.probe)
        meant = [self.game.read(view, probed.probe, form.items(x)) for x in form.labels]
        given: dict[Action, float] = {}
        for what, p in zip(meant, probs, strict=True):
            given[what] = given.get(what, 0.0) + float(p)
        return given

    def _log(self, decision: Decision) -> None:
        """Keep the calls of a decision and of its probes."""
        where = (decision.number, decision.slot)
        self.played.calls += [(*where, decision.kind, call) for call in decision.answer.calls]
        for probed in decision.probed:
            form = probed.probe.question
            self.played.calls += [(*where, form, call) for call in probed.answer.calls]


def _scored(given: Mapping[Action, float], truth: Action) -> tuple[float, float]:
    """Return the probability of the truth, and the Brier score of all probabilities."""
    hit = float(given.get(truth, 0.0))
    return hit, 1.0 - 2.0 * hit + sum(float(p) ** 2 for p in given.values())
