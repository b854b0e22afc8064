"""The rules of Secret Mafia: nights, talk, votes, and how a game ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tomeval.games.game import Action, Ask, Event, Form
from tomeval.games.mafia.answers import DEFAULT, MafiaAnswers, Question
from tomeval.games.mafia.state import (
    DETECTIVE,
    DOCTOR,
    MAFIA,
    NIGHT,
    NOBODY,
    SILENT,
    VILLAGER,
    Act,
    MafiaView,
    State,
    acts,
    heard,
    most_voted,
    say,
)
from tomeval.games.solver import arrangements

ENDINGS = {
    "village": "no Mafia was left",
    "mafia": "the Mafia were half or more of those alive",
    "days": "the last day was over: nobody won",
    "mafia_forfeits": "a Mafia seat broke the rules for good: the village won",
    "village_forfeits": "a village seat broke the rules for good: the Mafia won",
}

Outcomes = list[tuple[float, State]]


class MafiaRules(BaseModel):
    """The parameters of Secret Mafia.

    Attributes
    ----------
    players : int
        4 to 15; the Mafia are round(players / 4) of them, halves to the even number. The source's
        game has 6 or more; 4 and 5 are for small studies.
    talk : str
        ``none``; ``acts``: one structured speech act a day and seat; ``free``: messages.
    talk_rounds : int
        Messages a day and seat in free talk.
    message_limit : int
        Characters of a message.
    order : str
        Who speaks first: ``seats``, the lowest; ``rotating``, one seat further every day;
        ``random``, drawn every day. The others follow in the order of seats.
    max_days : int
        The game ends without a winner after so many.
    rules : str
        ``own``, or ``textarena-0.7.4`` with the defects of that package.
    probes : list of str
        The literal questions that are asked; see `PROBES`.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    players: int = Field(default=6, ge=4, le=15)
    talk: Literal["none", "acts", "free"] = "none"
    talk_rounds: int = Field(default=3, ge=1, le=20)
    message_limit: int = Field(default=1000, ge=1, le=100_000)
    order: Literal["seats", "rotating", "random"] = "seats"
    max_days: int = Field(default=15, ge=1, le=100)
    rules: Literal["own", "textarena-0.7.4"] = "own"
    probes: Sequence[Question] = DEFAULT


class Mafia(MafiaAnswers):
    """Secret Mafia.

    Every day begins with its night: at once, the Mafia vote for a victim, the doctor protects and
    the detective learns whether a seat is Mafia. Then talk, one after the other; then all vote at
    once for another living seat; nobody may abstain. The most votes decide, ties at random. Roles
    are not revealed at death.

    Attributes
    ----------
    rules : MafiaRules
    mafia : int
        Number of Mafia.
    textarena : bool
        Whether the defects of TextArena 0.7.4 are kept: the night kill is dropped once doctor and
        detective are dead; "[Player k]" is deleted from messages, and votes, whose prompts ask for
        that form, are hidden from the others; long messages lose their beginning; any living seat
        may be named, oneself too.
    reads : frozenset of str
        What somebody at the table listens to, as far as it is known; see `Script.reads`.
    """

    name = "mafia"
    round_word = "day"
    on_broken = ("eliminate", "forfeit", "default")
    endings = ENDINGS

    def __init__(self, rules: MafiaRules) -> None:
        self.rules = rules
        self.seats = n = rules.players
        self.mafia = round(n / 4)
        self.textarena = rules.rules != "own"
        self.talks = {"none": 0, "acts": 1, "free": rules.talk_rounds}[rules.talk]
        self.talk_kind = "act" if rules.talk == "acts" else "talk"
        # Each vote takes one seat; the game goes on while the Mafia are fewer than half.
        alive = range(n, max(2, n - rules.max_days), -1)
        self.length = sum(min(self.mafia, (a - 1) // 2) + 2 + a * (self.talks + 1) for a in alive)
        # Within one of the median of random play, for every number of players.
        self.usual = min(round(n / 3), rules.max_days)
        self._pack = (MAFIA,) * self.mafia + (DOCTOR, DETECTIVE)
        self._pack += (VILLAGER,) * (n - len(self._pack))
        self._mute = (NOBODY,) * n
        self.reads = frozenset({"against", "claims", "votes"})
        limit = 0 if self.textarena else rules.message_limit
        self.forms: dict[str, Form] = {"talk": Form("message", str, limit=limit)}
        if self.mafia > 1:
            self.forms["mafia"] = Form("mafia", int, self.mafia)

    # Rules

    def deal(self, rng: np.random.Generator) -> State:
        """Draw the roles."""
        pack = self._pack
        return self.dealt(tuple(pack[i] for i in rng.permutation(self.seats).tolist()))

    def starts(self) -> list[tuple[float, State]]:
        """Return the first states, by deals of roles, each as likely as any other."""
        deals = list(arrangements(self._pack))
        return [(1 / len(deals), self.dealt(roles)) for roles in deals]

    def dealt(self, roles: tuple[str, ...]) -> State:
        """Return the state before the first night, given all roles by seat."""
        fellows = tuple(seat for seat, role in enumerate(roles) if role == MAFIA)
        log = (
            *(Event("role", seat, role, (seat,)) for seat, role in enumerate(roles)),
            Event("mafia", None, fellows, fellows),
            Event("night", None, 1),
        )
        alive = tuple(range(self.seats))
        return State(roles, alive, "night", 1, (), self._mute, (), (), (), True, "", log)

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return who decides at once: the night's roles, one speaker, or all voters."""
        if state.phase == "night":
            roles = state.roles
            return tuple(Ask(s, NIGHT[roles[s]]) for s in state.alive if roles[s] != VILLAGER)
        if state.phase == "talk":
            return (Ask(state.queue[0], self.talk_kind),)
        if state.phase == "vote":
            return tuple(Ask(seat, "vote") for seat in state.alive)
        return ()

    def outcomes(
        self, state: State, actions: Mapping[int, Action]
    ) -> Sequence[tuple[float, State]]:
        """Return what may follow: ties, and who speaks first, are drawn."""
        if state.phase == "night":
            return self._night(state, actions)
        if state.phase == "talk":
            return [(1.0, self._talk(state, *next(iter(actions.items()))))]
        return self._vote(state, actions)

    def _night(self, state: State, actions: Mapping[int, Action]) -> Outcomes:
        roles, events, findings, safe = state.roles, [], state.findings, NOBODY
        fellows = tuple(s for s in state.alive if roles[s] == MAFIA)
        chosen: list[int] = []
        for seat, target in sorted(actions.items()):
            if roles[seat] == MAFIA:
                chosen.append(target)
                events += self._shown("kill", seat, target, fellows)
            elif roles[seat] == DOCTOR:
                safe = target
                events.append(Event("protect", seat, target, (seat,)))
            else:
                finding = (target, roles[target] == MAFIA)
                events.append(Event("finding", seat, finding, (seat,)))
                if finding not in findings:
                    findings = tuple(sorted((*findings, finding)))
        victims = most_voted(chosen) if state.kills else [NOBODY]
        results: Outcomes = []
        for victim in victims:
            # A seat that broke the rules in this stage may be dead already.
            died = victim != safe and victim in state.alive
            told = Event("died", victim, None) if died else Event("peace", None, None)
            after = state._replace(
                alive=tuple(s for s in state.alive if s != victim or not died),
                findings=findings,
                log=(*state.log, *events, told),
            )
            results += [(p / len(victims), s) for p, s in self._dawn(self._judged(after))]
        return results

    def _dawn(self, state: State) -> Outcomes:
        """Return the beginnings of the day after a night."""
        if state.ending:
            return [(1.0, state)]
        if not self.talks:
            return [(1.0, state._replace(phase="vote"))]
        alive, order, results = state.alive, self.rules.order, Outcomes()
        first = 0 if order == "seats" else (state.round - 1) % self.seats
        firsts = alive if order == "random" else (first,)
        for first in firsts:
            queue = (*(s for s in alive if s >= first), *(s for s in alive if s < first))
            log = (*state.log, Event("day", None, queue))
            begun = state._replace(phase="talk", queue=queue * self.talks, log=log)
            results.append((1 / len(firsts), begun))
        return results

    def _talk(self, state: State, seat: int, said: Action) -> State:
        others = tuple(s for s in state.alive if s != seat)
        if self.talk_kind == "act":
            act: Act = said
        else:
            if self.textarena:
                said = said[-self.rules.message_limit :]
                for one in range(self.seats):
                    said = said.replace(f"[Player {one}]", "")
            act = heard(said, others)
        queue = state.queue[1:]
        changes: dict[str, Any] = {
            "queue": queue,
            "phase": "talk" if queue else "vote",
            "log": (*state.log, Event(self.talk_kind, seat, said)),
        }
        if act != SILENT:
            target = act[1] if act[0] == "accuse" or act[-1] == "mafia" else NOBODY
            changes["against"] = (*state.against[:seat], target, *state.against[seat + 1 :])
        if act[0] == "result":
            changes["claims"] = tuple(sorted({*state.claims, (seat, act[1], act[2])}))
        return state._replace(**changes)

    def _vote(self, state: State, actions: Mapping[int, Action]) -> Outcomes:
        votes = tuple(sorted(actions.items()))
        shown = [e for seat, target in votes for e in self._shown("vote", seat, target, None)]
        outs = most_voted([target for _, target in votes])
        results: Outcomes = []
        for out in outs:
            # A seat that broke the rules in this stage is dead already.
            told = Event("out", out, None) if out in state.alive else Event("stay", None, None)
            after = state._replace(
                alive=tuple(s for s in state.alive if s != out),
                votes=votes,
                against=self._mute,
                log=(*state.log, *shown, told),
            )
            results.append((1 / len(outs), self._dusk(self._judged(after))))
        return results

    def _dusk(self, state: State) -> State:
        """Return the beginning of the night after a vote."""
        if state.ending:
            return state
        if state.round == self.rules.max_days:
            return self._over(state, "days")
        living = {state.roles[seat] for seat in state.alive}
        return state._replace(
            phase="night",
            round=state.round + 1,
            kills=not self.textarena or DOCTOR in living or DETECTIVE in living,
            log=(*state.log, Event("night", None, state.round + 1)),
        )

    def _shown(self, kind: str, seat: int, target: int, to: tuple[int, ...] | None) -> list[Event]:
        """Return the events of a vote; TextArena deletes whom it is for from what others see."""
        if not self.textarena:
            return [Event(kind, seat, target, to)]
        watchers = tuple(s for s in (range(self.seats) if to is None else to) if s != seat)
        return [Event(kind, seat, target, (seat,)), Event(kind, seat, None, watchers)]

    def _judged(self, state: State) -> State:
        """Return the state, over if one side has won."""
        mafia = sum(state.roles[seat] == MAFIA for seat in state.alive)
        if not mafia:
            return self._over(state, "village")
        return self._over(state, "mafia") if 2 * mafia >= len(state.alive) else state

    def _over(self, state: State, ending: str) -> State:
        log = (*state.log, Event("over", None, ending))
        return state._replace(phase="over", queue=(), ending=ending, log=log)

    def struck(self, state: State, ask: Ask, how: str) -> State:
        """Return the state after a seat lost the game for its team, or its life.

        A seat that is eliminated takes no further part in the stage; what the others did counts.
        """
        role = "mafia" if state.roles[ask.seat] == MAFIA else "village"
        state = state._replace(log=(*state.log, Event("struck", ask.seat, how)))
        if how == "forfeit":
            return self._over(state, f"{role}_forfeits")
        queue = tuple(seat for seat in state.queue if seat != ask.seat)
        alive = tuple(seat for seat in state.alive if seat != ask.seat)
        phase = "vote" if state.phase == "talk" and not queue else state.phase
        return self._judged(state._replace(alive=alive, queue=queue, phase=phase))

    # For exact values

    def essence(self, state: State, seat: int) -> tuple[State, float]:
        """Return the state without its log and without what nobody at the table reads."""
        found = state.roles.index(DETECTIVE) in state.alive
        essence = state._replace(
            against=state.against if "against" in self.reads else self._mute,
            claims=state.claims if "claims" in self.reads else (),
            votes=state.votes if "votes" in self.reads else (),
            findings=state.findings if found else (),
            log=(),
        )
        return essence, 0.0

    def distinct(self, view: MafiaView, ask: Ask) -> Sequence[Action]:
        """Return legal seats; of acts and messages those after which the table differs."""
        return tuple(self._effects(view, ask).values()) or self.options(view, ask)

    def like(self, view: MafiaView, ask: Ask, action: Action) -> Action:
        """Return the first act, or message, after which the table is the same."""
        if effects := self._effects(view, ask):
            return effects[self._effect(view, ask, action)]
        return action

    def _effects(self, view: MafiaView, ask: Ask) -> dict[State, Action]:
        """Return the first act or message by what it changes; empty for other decisions."""
        effects: dict[State, Action] = {}
        for act in acts(view.others) if ask.kind == self.talk_kind else ():
            said = act if ask.kind == "act" else say(act)
            effects.setdefault(self._effect(view, ask, said), said)
        return effects

    def _effect(self, view: MafiaView, ask: Ask, said: Action) -> State:
        state = view._state._replace(log=())
        return self.essence(self._talk(state, ask.seat, said), ask.seat)[0]

    # What it came to

    def rewards(self, state: State) -> tuple[float, ...]:
        """Return 1 to every seat of the side that won, dead or alive, -1 to the others.

        0 for all if the last day was over.
        """
        if state.ending == "days":
            return (0.0,) * self.seats
        mafia = state.ending in ("mafia", "village_forfeits")
        return tuple(1.0 if (role == MAFIA) == mafia else -1.0 for role in state.roles)

    def roles(self, state: State) -> tuple[str, ...]:
        """Return the roles by seat."""
        return state.roles

    def teams(self, state: State) -> tuple[tuple[int, ...], ...]:
        """Return the Mafia, then the village."""
        mafia = tuple(seat for seat, role in enumerate(state.roles) if role == MAFIA)
        return mafia, tuple(seat for seat in range(self.seats) if seat not in mafia)
