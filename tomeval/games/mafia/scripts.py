"""What scripted players of Secret Mafia have in common: a decision for every role, from a view."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tomeval.games.game import Action, Ask, Probe
from tomeval.games.mafia.state import NOBODY, SILENT, Act, MafiaView, say
from tomeval.games.solver import Chance, Choices, Memory, Policy

Pick = Literal["lowest", "next", "random"]
Said = tuple[tuple[float, Act], ...]
QUIET: Said = ((1.0, SILENT),)


@dataclass(frozen=True)
class Script(Policy):
    """A player that knows its role, and has an opinion of the others where it has a reason.

    A script decides from the view's role, fellows, findings, alive and targets, and from those of
    ``against``, ``claims`` and ``votes`` that `reads` names; never from the log, nor from
    a memory. Solvers forget the rest, so a script that reads more makes wrong values.
    """

    # Whom it takes among equals: ``lowest``; ``next``, the first seat after its own, going round;
    # ``random``, each with the same probability.
    pick: Pick = "lowest"
    noise: Chance = 0.0  # to name any seat that may be named instead
    # What it listens to, besides what goes with its role.
    reads: ClassVar[frozenset[str]] = frozenset()

    def choices(self, view: MafiaView, ask: Ask, memory: Memory) -> Choices:
        """Return what it does, by kind of decision."""
        if ask.kind in ("act", "talk"):
            return tuple(
                (weight, act if ask.kind == "act" else say(act)) for weight, act in self.says(view)
            )
        targets = view.targets(ask.kind)
        meant = self.among(view, self.named(view, ask.kind, targets))
        if not self.noise:
            return meant
        weights = dict.fromkeys(targets, self.noise / len(targets))
        for weight, seat in meant:
            weights[seat] += weight * (1 - self.noise)
        return tuple((weight, seat) for seat, weight in weights.items())

    @property
    def without_chance(self) -> bool:
        """Whether it takes the first among equals, and never strays from it."""
        return self.pick != "random" and not self.noise

    def predict(self, view: MafiaView, ask: Ask, probe: Probe, memory: Memory) -> Action:
        """Predict the Mafia as the seats it accuses, and the vote as its own."""
        if probe.name == "voted_out":
            return probe.given
        if probe.name != "mafia":
            return None
        first = self.named(view, "vote", view.targets("vote"))
        order = dict.fromkeys((*guilty(view), *first, *view.others, *range(view.game.seats)))
        order.pop(view.seat, None)
        return tuple(sorted([*order][: view.game.mafia]))

    @abstractmethod
    def named(self, view: MafiaView, kind: str, targets: tuple[int, ...]) -> Sequence[int]:
        """Return the seats that it would as soon name as any other; at least one of `targets`."""

    def says(self, view: MafiaView) -> Said:
        """Return its speech act, with probabilities; default: silence."""
        return QUIET

    def among(self, view: MafiaView, seats: Sequence[int]) -> tuple[tuple[float, int], ...]:
        """Return whom it takes among equals."""
        if len(seats) == 1:
            return ((1.0, seats[0]),)
        if self.pick == "random":
            return tuple((1 / len(seats), seat) for seat in seats)
        if self.pick == "next":
            return ((1.0, min(seats, key=lambda s: (s - view.seat - 1) % view.game.seats)),)
        return ((1.0, min(seats)),)

    def act_on(self, view: MafiaView, verb: str, seats: Sequence[int]) -> Said:
        """Return an act about one of several seats, or silence without any."""
        if not seats:
            return QUIET
        return tuple((weight, (verb, seat)) for weight, seat in self.among(view, seats))


def strangers(view: MafiaView, targets: Sequence[int]) -> list[int]:
    """Return those of `targets` that a seat may be against: not itself, no fellow, no cleared seat.

    All others if that leaves nobody.
    """
    friends = {view.seat, *view.fellows, *(seat for seat, mafia in view.findings if not mafia)}
    others = [seat for seat in targets if seat not in friends]
    return others or [seat for seat in targets if seat != view.seat]


def guilty(view: MafiaView) -> list[int]:
    """Return the living seats that a detective knows to be Mafia."""
    return [seat for seat, mafia in view.findings if mafia and seat in view.alive]


def fresh(view: MafiaView, targets: Sequence[int]) -> list[int]:
    """Return the `targets` that a detective has not investigated, or else all of them."""
    known = {seat for seat, _ in view.findings}
    return [seat for seat in targets if seat not in known and seat != view.seat] or list(targets)


def accused(view: MafiaView) -> Counter[int]:
    """Return how many living seats speak against each seat today, `NOBODY` apart."""
    against = (view.against[speaker] for speaker in view.alive)
    return Counter(target for target in against if target != NOBODY)


def accusers(view: MafiaView, of: Sequence[int]) -> list[int]:
    """Return the living seats that speak against one of `of` today."""
    return [speaker for speaker in view.alive if view.against[speaker] in of]


def most(counts: Counter[int], among: Sequence[int]) -> list[int]:
    """Return those of `among` with the highest count; empty if none of them has any."""
    top = max((counts[seat] for seat in among), default=0)
    return [seat for seat in among if top and counts[seat] == top]


def claiming(view: MafiaView, among: Sequence[int]) -> list[int]:
    """Return those of `among` who claimed to be the detective."""
    claimants = {claim[0] for claim in view.claims}
    return [seat for seat in among if seat in claimants]
