"""What a partner does, in one sentence that names the game's labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import Labels
from tomeval.games.matrix.partners import Partner

LONGEST = 12
"""Actions that a sentence lists one after another."""

MOST_STATES = 1000
"""States of a partner that is described; more would take long to compare."""


class _Machine(NamedTuple):
    """A partner without states that do the same."""

    start: int
    says: list[str]  # what each state chooses
    sure: bool  # whether every state plays one action for sure
    after: list[dict[tuple[int, int], int]]  # what follows, by own and partner's action
    own: tuple[str, ...]
    partner: tuple[str, ...]


@lru_cache(maxsize=1024)
def describe(partner: Partner, labels: Labels) -> str:
    """Return all that a partner does as one sentence without its subject.

    Two partners have the same sentence only if they do the same, whatever the player does, up to
    the sixth digit of a probability.

    Raises
    ------
    TomevalError
        No sentence says it: it remembers more than the last round, or the player's last two
        actions, and neither takes its actions in turn nor changes once and for all.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> for name in ("always(1)", "tit_for_tat", "switcher"):
    ...     print(describe(get_partner(name, game), game.label_set("neutral")))
    always chooses F
    chooses J in round 1, and then what you chose in the round before
    chooses J in rounds 1 to 50, and F in every later round
    """
    if len(partner.emissions) <= MOST_STATES:
        machine = _merged(partner, labels)
        if len(machine.says) == 1:
            return f"always chooses {machine.says[0]}"
        for form in (_in_turn, _for_ever, _reacting):
            if said := form(machine):
                return said
    raise TomevalError(
        f"partner {partner.name!r} remembers too much for one sentence that says what it does"
    )


def _merged(partner: Partner, labels: Labels) -> _Machine:
    """Merge states that act alike for ever, by refinement."""
    plays, size = partner.emissions > 0, len(partner.emissions)
    block = np.unique(partner.emissions, axis=0, return_inverse=True)[1].reshape(size)
    while True:
        reached = np.where(plays[:, None, :], block[partner.next_state], -1).reshape(size, -1)
        alike = np.column_stack([block, reached])
        finer = np.unique(alike, axis=0, return_inverse=True)[1].reshape(size)
        if finer.max() == block.max():
            break
        block = finer
    first = [int(np.flatnonzero(block == b)[0]) for b in range(block.max() + 1)]
    moves = [*itertools.product(range(partner.n), range(partner.m))]
    after = [
        {(a, b): int(block[partner.next_state[s, a, b]]) for a, b in moves if plays[s, b]}
        for s in first
    ]
    says = [_chance(partner.emissions[s].tolist(), labels.partner) for s in first]
    start, sure = int(block[partner.start]), partner.is_deterministic
    return _Machine(start, says, sure, after, labels.own, labels.partner)


def _chance(row: Sequence[float], labels: Sequence[str]) -> str:
    """Name the action, or the actions with their probabilities."""
    there = [(p, label) for p, label in zip(row, labels, strict=True) if p > 0]
    if len(there) > 1 and len({p for p, _ in there}) == 1:
        return f"{_listed((label for _, label in there), ' or ')} with the same probability"
    sure = len(there) == 1
    return _listed(label + f" with probability {p:g}" * (not sure) for p, label in there)


def _listed(words: Iterable[str], last: str = " and ") -> str:
    *most, end = words
    return f"{', '.join(most)}{last}{end}" if most else end


def _in_turn(machine: _Machine) -> str:
    """Return what is said of a fixed list of actions: some once, then others over and over."""
    state, path = machine.start, list[int]()
    if not machine.sure or any(len(set(after.values())) > 1 for after in machine.after):
        return ""
    while state not in path:
        path.append(state)
        [state] = set(machine.after[state].values())
    says, begin = [machine.says[s] for s in path], path.index(state)
    once, turn = says[:begin], says[begin:]
    same = len(set(once)) == 1
    if len(turn) > LONGEST or (begin > LONGEST and not same):
        return ""
    rounds = f"in rounds 1 to {begin}" if begin > 1 else "in round 1"
    head = f"{once[0] if same else _listed(once)} {rounds}, and " if once else ""
    if len(turn) == 1:
        return f"chooses {head}{turn[0]} in every later round"
    return f"chooses {head}{_listed(turn)} in turn, over and over"


def _for_ever(machine: _Machine) -> str:
    """Return what is said of one change for good, when the player first takes an action."""
    start, other = machine.start, 1 - machine.start
    if len(machine.says) != 2 or set(machine.after[other].values()) != {other}:
        return ""
    leaves = {(a, s != start) for (a, _), s in machine.after[start].items()}
    leaving = [machine.own[a] for a, left in sorted(leaves) if left]
    if len(leaves) > len(machine.own) or len(leaving) == len(machine.own):
        return ""
    until = f"until you choose {_listed(leaving, ' or ')} for the first time"
    return f"chooses {machine.says[start]} {until}, and then {machine.says[other]} in every round"


def _reacting(machine: _Machine) -> str:
    """Return what is said of answers to the last round, or to the player's last two actions."""
    own, partner, first = machine.own, machine.partner, machine.says[machine.start]
    begin = f"chooses {first} in round 1"
    if told := _answers(machine, lambda last: own[last[0]]):
        if len(set(told.values())) == 1:
            return f"{begin}, and then {told[own[0]]} in every round"
        if all(told[label] == label for label in own):
            return f"{begin}, and then what you chose in the round before"
        if len(own) == 2 and set(own) == set(partner) == set(told.values()):
            return f"{begin}, and then what you did not choose in the round before"
        return f"{begin}, and then {_clauses(told, 'if you last chose')}"
    if told := _answers(machine, lambda last: f"(you {own[last[0]]}, it {partner[last[1]]})"):
        return f"{begin}, and then {_clauses(told, 'if the round before was')}"
    told = _answers(machine, lambda one, last: f"({own[one[0]]}, {own[last[0]]})", 2)
    seconds = {machine.says[s] for s in machine.after[machine.start].values()}
    if not told or len(seconds) > 1:
        return ""
    begin = f"chooses {first} in round 1, {seconds.pop()} in round 2"
    return f"{begin}, and then {_clauses(told, 'if your last two choices were')}"


def _answers(machine: _Machine, shown: Callable[..., str], rounds: int = 1) -> dict[str, str]:
    """Return what follows the last rounds, by what is `shown` of them; empty if more decides it."""
    found: dict[str, str] = {}
    moves = [*itertools.product(range(len(machine.own)), range(len(machine.partner)))]
    for past in itertools.product(moves, repeat=rounds):
        reached = [*range(len(machine.says))]
        for move in past:
            reached = [after[move] for s in reached if move in (after := machine.after[s])]
        for s in reached:
            if found.setdefault(shown(*past), machine.says[s]) != machine.says[s]:
                return {}
    return found


def _clauses(answers: dict[str, str], between: str) -> str:
    """Return what is chosen when, the same answers together; the commonest is the rest."""
    groups: dict[str, list[str]] = {}
    for when, said in answers.items():
        groups.setdefault(said, []).append(when)
    words = sorted(groups, key=lambda said: len(groups[said]))
    rest = words.pop() if len(groups) < len(answers) else ""
    told = [f"{one} {between} {_listed(groups[one], ' or ')}" for one in words]
    return _listed([*told, f"{rest} otherwise"] if rest else told, ", and ")
