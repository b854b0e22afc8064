"""Secret Mafia: hidden roles, nights, talk and votes; 4 to 15 players."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

from tomeval.games.arena.named_games import Kind
from tomeval.games.arena.wording import Reading, Wording, whole
from tomeval.games.enumeration import Enumeration, enumeration
from tomeval.games.game import Action, ArenaGame, Ask, Broken
from tomeval.games.mafia.policies import POLICIES
from tomeval.games.mafia.rules import Mafia, MafiaRules
from tomeval.games.mafia.scripts import Script
from tomeval.games.mafia.state import DETECTIVE
from tomeval.games.solver import Policy

_SEAT = re.compile(r"\[(?:player\s*)?(\d+)\]", re.IGNORECASE)
_ROLE = re.compile(r"Your role: (\w+)")


def named_seat(text: str) -> int | None:
    r"""Return the seat that a text names: the last one of the first line that names any.

    Examples
    --------
    >>> named_seat("[1] or [player 2]\n[3]"), named_seat("Player 4")
    (2, None)
    """
    for line in text.split("\n"):
        if seats := _SEAT.findall(line):
            return whole(seats[-1])
    return None


class MafiaWording(Wording):
    """Talk is never refused; the second refused vote in a row eliminates the player."""

    ids: ClassVar = {"SecretMafia-v0": {"talk": "free", "talk_rounds": 3, "max_days": 100}}
    seats = range(6, 16)
    talks = True
    cost = policy = "eliminate"

    def write(self, game: Any, ask: Ask, action: Action) -> str:
        """Return the message, or the seat in brackets."""
        return str(action) if ask.kind == "talk" else f"[{action}]"

    def read(self, view: Any, ask: Ask, text: str) -> Reading:
        """Read a message, or a seat."""
        if ask.kind == "talk":
            return Reading(text)
        seat = named_seat(text)
        if seat is None:
            return Reading(None, Broken("format", "it names no player such as [2]"), False)
        broken = view.game.fault(view, ask, seat)
        return Reading(seat, broken, broken is None)

    def dealt(self, game: Any, seen: Mapping[int, str], given: Any) -> Any:
        """Return the state with the roles that seats saw, or that the file gives.

        Seats that were told nothing have what is left of the roles, if that is one role only.
        """
        pool = Counter(game.roles(game.dealt(game._pack)))
        if given is not None:
            roles = [str(role).lower() for role in given] if isinstance(given, list) else []
        else:
            told = (_ROLE.search(seen.get(seat, "")) for seat in range(game.seats))
            roles = [match.group(1).lower() if match else "" for match in told]
            left = pool - Counter(roles)
            if len(left) == 1:
                roles = [role or next(iter(left)) for role in roles]
        if Counter(roles) != pool:
            wanted = ", ".join(f"{count} {role}" for role, count in sorted(pool.items()))
            return (
                "the roles are unknown: the first observations, or the field 'deal', must show "
                f"{wanted}; they show {', '.join(role or 'nothing' for role in roles) or 'nothing'}"
            )
        return game.dealt(tuple(roles))

    def deal_of(self, state: Any) -> list[str]:
        """Return the roles."""
        return list(state.roles)

    def speaking(self, state: Any, seat: int) -> Any:
        """Return the state with this seat as the next speaker, if it is still to speak today."""
        if state.phase != "talk" or seat not in state.queue:
            return state
        queue = list(state.queue)
        queue.remove(seat)
        return state._replace(queue=(seat, *queue))

    def struck(
        self, game: Any, state: Any, ask: Ask, actions: Mapping[int, Action]
    ) -> tuple[Any, Any]:
        """Return the state after a seat was struck; whoever is last keeps no votes back.

        If that ends the game, TextArena still ends the stage, and looks again who has won. At night
        it kills only if nobody acts after who was struck: doctors act before detectives, and Mafia
        before both.
        """
        after = game.struck(state, ask, self.cost)
        awaited = set(state.alive) - {ask.seat} - set(actions)
        if state.phase == "night":
            awaited = {seat for seat in after.alive if after.roles[seat] == DETECTIVE}
        if game.due(after) or awaited or ask.kind == "kill":
            return after, None
        return after._replace(phase=state.phase, ending="", log=after.log[:-1]), after

    def outcomes(
        self, game: Any, state: Any, actions: Mapping[int, Action], decided: Any
    ) -> list[Any]:
        """Return what may follow a stage: who had won when a seat was struck keeps the win."""
        outcomes = super().outcomes(game, state, actions, decided)
        if decided is None:
            return outcomes
        return [
            after._replace(
                phase="over",
                queue=(),
                ending=decided.ending,
                log=(*after.log, decided.log[-1]),
            )
            if game.due(after)
            else after
            for after in outcomes
        ]


PLAYERS = 8
"""With more there are no values: the deals alone are too many."""


def solver(game: ArenaGame[Any], seat: int, policies: Mapping[int, Policy]) -> Enumeration | None:
    """Return a solver against scripts; None with more than `PLAYERS`.

    What no script at the table reads is forgotten.
    """
    assert isinstance(game, Mafia)
    if game.seats > PLAYERS:
        return None
    heard = copy(game)
    heard.reads = frozenset().union(*(s.reads for s in policies.values() if isinstance(s, Script)))
    return enumeration(heard, seat, policies)


KIND = Kind(
    name="mafia",
    title="Secret Mafia",
    rules=MafiaRules,
    presets={
        "acts": {"talk": "acts"},
        "free": {"talk": "free"},
        "textarena": {"talk": "free", "rules": "textarena-0.7.4"},
    },
    make=Mafia,
    policies=POLICIES,
    solver=solver,
    wording=MafiaWording(),
)
