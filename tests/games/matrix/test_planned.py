"""ΔToM over T steps: hand-worked cases, and every own sequence and history walked."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from support import ALL_GAMES, brute_force_values, episodes_of, make_game, random_partner

from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.measures import MEASURES, PLANNED
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner, reachable
from tomeval.games.matrix.planned import planned_regret
from tomeval.games.matrix.played import Played

IPD = GAMES["IPD"]
TIT_FOR_TAT = get_partner("tit_for_tat", IPD)


def games(game, partners, episodes) -> Played:
    """Return episodes, each a tuple of own moves, partner's moves, predictions and reactions."""
    own, theirs, said = (np.concatenate([e[i] for e in episodes]).astype(int) for i in range(3))
    stated = None
    if len(episodes[0]) > 3:
        blank = [[-1] * game.n]
        stated = np.concatenate([[*np.array(e[3]).tolist(), *blank] for e in episodes])
    lengths = [len(e[0]) for e in episodes]
    more = {"reactions": stated, "lengths": lengths}
    return episodes_of(game, own, theirs, said, partners=partners, **more)


def planned(own, theirs, said, stated=None, game=IPD, partner=TIT_FOR_TAT) -> float:
    episode = (own, theirs, said) if stated is None else (own, theirs, said, stated)
    return float(planned_regret(games(game, [partner], [episode]))[0])


def test_always_right_and_always_defecting_against_tit_for_tat() -> None:
    """Five rounds: 10 + 4 x 5 = 30, where 4 x 8 + 10 = 42 can be had: a regret of 2.4 per step.

    Every prediction is right, and the one-step rules charge nothing. Over T steps it depends on
    what is believed to follow a cooperation, of which these predictions say nothing.
    """
    own, theirs = [1] * 5, [0, 1, 1, 1, 1]
    for stated, expected in (
        (None, np.nan),
        ([[0, 1]] * 4, 0.0),  # that it answers in kind: planning on that loses nothing
        ([[1, 1]] * 4, 2.4),  # that it defects whatever comes: then defecting is the plan
        ([[0, 0]] * 4, np.nan),  # that it cooperates: not what the predictions say of a defection
    ):
        found = planned(own, theirs, theirs, stated)
        assert found == pytest.approx(expected, nan_ok=True)


def test_a_wrong_belief_by_hand() -> None:
    # Who takes tit for tat for one that always cooperates plans to defect: 10 + 5 + 5 + 5 instead
    # of 8 + 8 + 8 + 10, whatever the subject does itself.
    credulous = [[0, 0]] * 3
    assert planned([0] * 4, [0] * 4, [0] * 4, credulous) == (34 - 25) / 4
    own = [0, 1, 1, 0, 0, 1, 1, 1]
    assert planned(own, [0, *own[:-1]], [0] * 8, [[0, 0]] * 7) == (66 - 45) / 8
    # Without the probe, predictions after every joint move say as much. One move too few, and it is
    # not said again that cooperation follows mutual defection.
    assert planned(own, [0, *own[:-1]], [0] * 8) == (66 - 45) / 8
    assert np.isnan(planned(own[:7], [0, *own[:6]], [0] * 7))
    assert np.isnan(planned([0] * 4, [0] * 4, [0] * 4))  # nothing is said of a defection
    # Taken for one that always defects, by a player who hardly does.
    assert planned([0, 0, 0, 1], [0] * 4, [1] * 4, [[1, 1]] * 3) == (34 - 25) / 4


def test_who_changes_its_mind_implies_no_partner() -> None:
    right = ([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0])
    assert planned(*right) == 0.0
    # Cooperation was predicted once after (1, 0), seen to be wrong, and not said again.
    assert np.isnan(planned(*right[:2], [0, 0, 0, 1, 0]))
    # The same joint move twice, once wrong and then right.
    own, theirs = [1, 0, 1, 1, 0], [0, 1, 0, 1, 1]
    assert np.isnan(planned(own, theirs, [0, 0, 0, 1, 1]))  # after (1, 0): 0, then 1
    # The first move cannot be said again, and counts as it was said. Who expects a defection once
    # does best to cooperate at once, as against tit for tat.
    assert planned([0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1], [[0, 1]] * 3) == 0.0


def test_only_against_partners_that_answer_the_last_joint_move() -> None:
    # It cooperates after one defection, and predicting that says nothing of a second one.
    two = get_partner("tit_for_two_tats", IPD)
    assert np.isnan(planned([0] * 4, [0] * 4, [0] * 4, [[0, 0]] * 3, partner=two))
    assert np.isnan(planned_regret(games(IPD, [], [([0], [0], [0])]))).all()


def statement(own, theirs, said, stated, n, m) -> dict:
    """Return what an episode says of each joint move, as docs/measures.md words it."""
    horizon = len(own)
    heard: dict = {}
    for t in range(horizon):
        heard.setdefault((own[t - 1], theirs[t - 1]) if t else None, []).append((t, said[t]))
        for a in range(n) if t < horizon - 1 and stated is not None else ():
            heard.setdefault((a, said[t]), []).append((t, stated[t][a]))
            heard.setdefault(a, []).append((t, stated[t][a]))

    def settled(key, follows) -> int | None:
        values = {move for _, move in heard[key]}
        if len(values) > 1:
            return None
        (value,) = values
        seen = [t for t in range(1, horizon) if follows(t) and theirs[t] != value]
        return value if not seen or max(t for t, _ in heard[key]) > seen[0] else None

    machine = {None: said[0]}
    for a, b in itertools.product(range(n), range(m)):
        if (a, b) in heard:
            machine[a, b] = settled((a, b), lambda t, k=(a, b): (own[t - 1], theirs[t - 1]) == k)
        elif a in heard:
            machine[a, b] = settled(a, lambda t, k=a: own[t - 1] == k)
        else:
            machine[a, b] = None
    return machine


class Silent(Exception):
    """Something was not said."""


def enumerated(game, machine, partner: Partner, horizon: int) -> float:
    """Return `planned` by trying every sequence of own moves against what is believed.

    Raises `Silent` where the machine does not say what is needed.
    """

    def said(context):
        if machine[context] is None:
            raise Silent
        return machine[context]

    def plan(context, left: int) -> list[int]:
        totals = {}
        for moves in itertools.product(range(game.n), repeat=left):
            at, total = context, 0.0
            for a in moves:
                b = said(at)
                total, at = total + float(game.own[a, b]), (a, b)
            totals[moves] = total
        top = max(totals.values())
        return sorted({moves[0] for moves, total in totals.items() if total > top - 1e-9})

    def walk(context, state: int, left: int) -> float:
        if left == 0:
            return 0.0
        best, total = plan(context, left), 0.0
        for a, b in itertools.product(best, range(game.m)):
            p = float(partner.emissions[state, b]) / len(best)
            if p > 0:
                after = int(partner.next_state[state, a, b])
                total += p * (float(game.own[a, b]) + walk((a, b), after, left - 1))
        return total

    _, best = brute_force_values(game, partner, horizon)
    return (best - walk(None, partner.start, horizon)) / horizon


def one_that_answers(game, rng, kind: str) -> Partner:
    """Return a random partner whose states are the last joint move."""
    size = 1 + game.n * game.m
    table = random_partner(game, rng, size, kind).emissions
    emissions = table[rng.integers(0, len(table), size)]
    following = 1 + np.arange(game.n * game.m).reshape(1, game.n, game.m).repeat(size, axis=0)
    # States that no play reaches are not allowed: let (a, b) that never come lead to the start.
    keep = np.flatnonzero(reachable(emissions, following, 0))
    number = np.zeros(size, dtype=int)
    number[keep] = np.arange(len(keep))
    return Partner("made", emissions[keep], number[following[keep]])


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
@pytest.mark.parametrize("probe", [False, True])
def test_planned_against_enumeration(kind, probe) -> None:
    """Random beliefs, games, partners and plays; the rule on what is said is written out anew."""
    rng = np.random.default_rng(11)
    numbers, silent = 0, 0
    small = [game for game in ALL_GAMES if game.n * game.m <= 6]
    for _ in range(120):
        game = small[rng.integers(len(small))]
        partner = one_that_answers(game, rng, kind)
        horizon = int(rng.integers(1, 6))
        belief = rng.integers(0, game.m, 1 + game.n * game.m)
        noise = rng.random() < 0.3  # some change their mind
        own = rng.integers(0, game.n, horizon).tolist()
        state, theirs, said, stated, context = partner.start, [], [], [], 0
        for a in own:
            b = int(rng.choice(game.m, p=partner.emissions[state]))
            c = int(rng.integers(game.m)) if noise and rng.random() < 0.2 else int(belief[context])
            theirs.append(b)
            said.append(c)
            stated.append([int(belief[1 + own_move * game.m + c]) for own_move in range(game.n)])
            state, context = int(partner.next_state[state, a, b]), 1 + a * game.m + b
        given = stated[:-1] if probe and horizon > 1 else None
        machine = statement(own, theirs, said, given, game.n, game.m)
        found = planned(own, theirs, said, given, game, partner)
        try:
            expected = enumerated(game, machine, partner, horizon)
        except Silent:
            assert np.isnan(found)
            silent += 1
        else:
            assert found == pytest.approx(expected, abs=1e-9)
            numbers += 1
    assert numbers > 15
    assert silent > 10


def test_a_cell_has_no_mean_over_the_episodes_that_are_predicted_best() -> None:
    right = ([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0])
    silent = ([0] * 4, [0] * 4, [0] * 4)
    played = games(IPD, [TIT_FOR_TAT], [right, silent])
    assert np.isfinite(planned_regret(played)).tolist() == [True, False]
    totals = MEASURES[PLANNED].of(played, "horizon")
    assert totals.bottom is None  # so that the mean is over all of them, and missing
    assert np.isnan(totals.values.mean())


def test_ties_count_by_their_mean() -> None:
    # Believed: always 1, against which both actions earn 2. Truly always 0: 3 or 0.
    game = make_game([[3, 2], [0, 2]])
    always = Partner("always", [[1.0, 0.0]], [[[0, 0], [0, 0]]])
    said = ([0, 0, 0], [0] * 3, [1] * 3, [[1, 1]] * 2)
    assert planned(*said, game=game, partner=always) == float(Fraction(3, 2))
