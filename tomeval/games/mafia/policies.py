"""The scripted players of Secret Mafia; each has something to do in every role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tomeval.games.mafia.scripts import (
    QUIET,
    Pick,
    Said,
    Script,
    accused,
    accusers,
    claiming,
    fresh,
    guilty,
    most,
    strangers,
)
from tomeval.games.mafia.state import DETECTIVE, MAFIA, MafiaView
from tomeval.games.solver import Policy

Seats = tuple[int, ...]


@dataclass(frozen=True)
class RandomVoter(Script):
    """Names every seat that may be named with the same probability, and says nothing."""

    about: ClassVar[str] = "names seats at random, says nothing"

    pick: Pick = "random"

    def named(self, view: MafiaView, kind: str, targets: Seats) -> Sequence[int]:
        """Return all targets."""
        return targets


@dataclass(frozen=True)
class Follower(Script):
    """Takes the first seat that it has nothing to say for; never mind what others say."""

    about: ClassVar[str] = "takes the first stranger; a detective votes for the Mafia it found"

    accuses: bool = False  # whether it says by day for whom it is about to vote

    def named(self, view: MafiaView, kind: str, targets: Seats) -> Sequence[int]:
        """Return strangers; for a detective new ones by night and guilty ones by day."""
        if kind != "vote":
            usual = fresh(view, targets) if kind == "investigate" else strangers(view, targets)
            return self._by_night(view, kind, usual) or usual
        usual = strangers(view, targets)
        return guilty(view) or self._by_day(view, usual) or usual

    def _by_night(self, view: MafiaView, kind: str, usual: Sequence[int]) -> Sequence[int]:
        """Return whom it has a reason to name at night; empty: it does as usual."""
        return ()

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        """Return for whom it has a reason to vote, if it knows of no Mafia; empty: as usual."""
        return ()

    def says(self, view: MafiaView) -> Said:
        """Return an accusation of those for whom it would vote, or silence."""
        if not self.accuses:
            return QUIET
        return self.act_on(view, "accuse", self.named(view, "vote", view.others))


@dataclass(frozen=True)
class Bandwagon(Follower):
    """Votes and speaks with the others: against the most accused."""

    about: ClassVar[str] = "votes for whoever is accused most often"
    reads = frozenset({"against"})

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        return most(accused(view), usual)

    def says(self, view: MafiaView) -> Said:
        """Return an accusation of a seat that others accuse; without any, as a `Follower`."""
        if not accused(view):
            return super().says(view)
        return self.act_on(view, "accuse", self.named(view, "vote", view.others))


@dataclass(frozen=True)
class Reactive(Follower):
    """Answers accusations: accuses who accused it; the Mafia answer for each other.

    By night the Mafia kill as a `Follower`. By day all vote for who is accused by most, the Mafia
    for those who spoke against them first.
    """

    about: ClassVar[str] = "accuses its accusers; votes for whoever is accused most often"
    reads = frozenset({"against"})

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        against = self._against(view, usual) if view.role == MAFIA else ()
        return against or most(accused(view), usual)

    def says(self, view: MafiaView) -> Said:
        """Return an accusation of a guilty seat, of an accuser, or as a `Follower`."""
        against = guilty(view) or self._against(view, strangers(view, view.others))
        return self.act_on(view, "accuse", against) if against else super().says(view)

    def _against(self, view: MafiaView, usual: Sequence[int]) -> list[int]:
        own = view.fellows or (view.seat,)
        return [seat for seat in accusers(view, own) if seat in usual]


@dataclass(frozen=True)
class Believer(Follower):
    """Lives by claimed results: the detective reveals what it found, the village believes it.

    The village votes for a seat that was claimed to be Mafia, the true detective for who else
    claims to be one; the doctor protects, and the Mafia kill, those who claim.
    """

    about: ClassVar[str] = "a detective that reveals its findings; a village that believes claims"
    reads = frozenset({"claims"})

    def _by_night(self, view: MafiaView, kind: str, usual: Sequence[int]) -> Sequence[int]:
        return () if kind == "investigate" else claiming(view, usual)

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        """Return those against whom a result was claimed, or who were not cleared."""
        claimants = claiming(view, usual)
        if view.role == DETECTIVE:
            return claimants
        counts = Counter(about for _, about, verdict in view.claims if verdict == "mafia")
        cleared = {about for _, about, verdict in view.claims if verdict == "not"}
        doubtful = [seat for seat in usual if seat not in cleared and seat not in claimants]
        return most(counts, usual) or doubtful

    def says(self, view: MafiaView) -> Said:
        """Return a detective's finding, or as a `Follower`."""
        if view.role == DETECTIVE and guilty(view):
            return self._result(view, guilty(view))
        return super().says(view)

    def _result(self, view: MafiaView, seats: Sequence[int]) -> Said:
        return tuple((weight, ("result", s, "mafia")) for weight, s in self.among(view, seats))


@dataclass(frozen=True)
class Liar(Believer):
    """A `Believer` that as Mafia claims to be the detective and to have found Mafia."""

    about: ClassVar[str] = "as Mafia claims to be the detective, and accuses a villager of Mafia"

    def says(self, view: MafiaView) -> Said:
        """Return a false result against a seat that others claim against, or another stranger."""
        if view.role != MAFIA:
            return super().says(view)
        return self._result(view, self.named(view, "vote", view.others))


@dataclass(frozen=True)
class Protector(Follower):
    """Stands by those who claim to be the detective: protects and defends them.

    By day it votes for those who spoke against them.
    """

    about: ClassVar[str] = "protects and defends whoever claims to be the detective"
    reads = frozenset({"against", "claims"})

    def _by_night(self, view: MafiaView, kind: str, usual: Sequence[int]) -> Sequence[int]:
        return claiming(view, usual) if kind == "protect" else ()

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        against = accusers(view, self._wards(view))
        return [seat for seat in usual if seat in against]

    def says(self, view: MafiaView) -> Said:
        """Return a defence of a claimant, or as a `Follower`."""
        wards = self._wards(view)
        return self.act_on(view, "defend", wards) if wards else super().says(view)

    def _wards(self, view: MafiaView) -> list[int]:
        return claiming(view, strangers(view, view.others))


@dataclass(frozen=True)
class Grudge(Follower):
    """Holds the last votes against those who cast them against it.

    It votes for, kills and investigates who voted for it, or, as Mafia, for a fellow; and protects
    who did not.
    """

    about: ClassVar[str] = "turns against those who voted for it the day before"
    reads = frozenset({"votes"})

    def _by_night(self, view: MafiaView, kind: str, usual: Sequence[int]) -> Sequence[int]:
        against = self._by_day(view, usual)
        return [seat for seat in usual if seat not in against] if kind == "protect" else against

    def _by_day(self, view: MafiaView, usual: Sequence[int]) -> Sequence[int]:
        own = view.fellows or (view.seat,)
        against = {voter for voter, target in view.votes if target in own}
        return [seat for seat in usual if seat in against]


POLICIES: dict[str, type[Policy]] = {
    "random": RandomVoter,
    "follower": Follower,
    "bandwagon": Bandwagon,
    "reactive": Reactive,
    "believer": Believer,
    "liar": Liar,
    "protector": Protector,
    "grudge": Grudge,
}
"""The scripted players by name."""
