"""The scripted players of Secret Mafia; each has something to do in every role."""

from __future__ import annotations

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
from tomeval.games.policy import Policy

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
    """Takes the first seat that it has nothing to say for; never mind what others say.

    Attributes
    ----------
    accuses : bool
        Whether it says by day for whom it is about to vote.
    """

    about: ClassVar[str] = "takes the first stranger; a detective votes for the Mafia it found"

    accuses: bool = False

    def named(self, view: MafiaView, kind: str, targets: Seats) -> Sequence[int]:
        """Return strangers; for a detective new ones by night and guilty ones by day."""
        if kind != "vote":
            usual = fresh(view, targets) if kind == "investigate" else strangers(view, targets)
            return self.by_night(view, kind, usual, targets) or usual
        usual = strangers(view, targets)
        return guilty(view) or self.by_day(view, usual) or usual

    def by_night(
        self, view: MafiaView, kind: str, usual: Sequence[int], targets: Seats
    ) -> Sequence[int]:
        """Return whom it has a reason to name at night; empty: it does as usual."""
        return ()

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
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

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
        """Return whom it follows the others against."""
        return most(accused(view), open_to)

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

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
        """Return the most accused seats."""
        against = self._against(view, open_to) if view.role == MAFIA else ()
        return against or most(accused(view), open_to)

    def says(self, view: MafiaView) -> Said:
        """Return an accusation of a guilty seat, of an accuser, or as a `Follower`."""
        against = guilty(view) or self._against(view, strangers(view, view.others))
        return self.act_on(view, "accuse", against) if against else super().says(view)

    def _against(self, view: MafiaView, open_to: Sequence[int]) -> list[int]:
        own = view.fellows or (view.seat,)
        return [seat for seat in accusers(view, own) if seat in open_to]


@dataclass(frozen=True)
class Believer(Follower):
    """Lives by claimed results: the detective reveals what it found, the village believes it.

    The village votes for a seat that was claimed to be Mafia, the true detective for who else
    claims to be one; the doctor protects, and the Mafia kill, those who claim.
    """

    about: ClassVar[str] = "a detective that reveals its findings; a village that believes claims"
    reads = frozenset({"claims"})

    def by_night(
        self, view: MafiaView, kind: str, usual: Sequence[int], targets: Seats
    ) -> Sequence[int]:
        """Return claimants."""
        return () if kind == "investigate" else claiming(view, strangers(view, targets))

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
        """Return those against whom a result was claimed, or who were not cleared."""
        claimants = claiming(view, open_to)
        if view.role == DETECTIVE:
            return claimants
        counts: dict[int, int] = {}
        for _, about, verdict in view.claims:
            counts[about] = counts.get(about, 0) + (verdict == "mafia")
        cleared = {about for _, about, verdict in view.claims if verdict == "not"}
        doubtful = [seat for seat in open_to if seat not in cleared and seat not in claimants]
        return most(counts, open_to) or doubtful

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

    def by_night(
        self, view: MafiaView, kind: str, usual: Sequence[int], targets: Seats
    ) -> Sequence[int]:
        """Return whom the doctor protects."""
        return [s for s in targets if s in self._wards(view)] if kind == "protect" else ()

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
        """Return who spoke against its wards."""
        against = accusers(view, self._wards(view))
        return [seat for seat in open_to if seat in against]

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

    def by_night(
        self, view: MafiaView, kind: str, usual: Sequence[int], targets: Seats
    ) -> Sequence[int]:
        """Return those who voted for it, or others if it protects."""
        against = self._against(view)
        return [seat for seat in usual if (seat in against) != (kind == "protect")]

    def by_day(self, view: MafiaView, open_to: Sequence[int]) -> Sequence[int]:
        """Return those who voted for it."""
        return [seat for seat in open_to if seat in self._against(view)]

    def _against(self, view: MafiaView) -> set[int]:
        own = view.fellows or (view.seat,)
        return {voter for voter, target in view.votes if target in own}


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
