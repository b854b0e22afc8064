"""Draw what a training transcript is about, and play it: game, labels, partner, own play.

Held out, so that docs/pocket.md can show what the model does on them: the game Chicken, the label
set `nonsense` and the partners `tit_for_two_tats` and `win_stay_lose_shift`.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from tomeval.games.matrix.games import GAMES, NEUTRAL, NONSENSE, Labels, MatrixGame
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.rules import Joint

HELD_OUT_GAME = "chicken"
HELD_OUT_LABELS = "nonsense"
HELD_OUT_PARTNERS = ("tit_for_two_tats", "win_stay_lose_shift")

CORE_GAMES = ("RPS", "IBS", "IPD")
OTHER_GAMES = tuple(name for name in GAMES if name not in (*CORE_GAMES, HELD_OUT_GAME))
NAMED_PARTNERS = ("tit_for_tat", "noisy_tit_for_tat", "suspicious_tit_for_tat", "best_responder")
NAMED_IN_2X2 = ("generous_tit_for_tat", "grim_trigger", "alternator")
VARIED = {
    "varied": (0.5, 0.2, 0.2, 0.1),
    "settled": (0.2, 0.2, 0.5, 0.1),
    "constant": (0.15, 0.15, 0.6, 0.1),
}
"""How often own play is drawn from fixed probabilities, sticky, constant, or a cycle."""
CORE_SHARE = {"best": 0.8}  # of plays in the core games; else 0.6
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True)
class Play:
    """A played transcript and what its teacher knows.

    Attributes
    ----------
    game, labels, horizon
        As an episode has them; the play may end before the horizon.
    partner : Partner
    joints : list of Joint
    states : list of int
        The partner's state in each step.
    targets : list of int
        The own action that is taught in each step: the one played in the main variant, the exact
        best T-step response's in the rational one.
    """

    game: MatrixGame
    labels: Labels
    horizon: int
    partner: Partner
    joints: list[Joint]
    states: list[int]
    targets: list[int]


def draw_play(rng: np.random.Generator, rounds: int, own_play: str) -> Play:
    """Draw a game, labels, a partner and own play, and play `rounds` steps.

    `own_play` is ``varied``, ``settled`` or ``constant`` (varied, more or most often keeping to one
    action), or ``best``.
    """
    game = draw_game(rng, CORE_SHARE.get(own_play, 0.6))
    labels = draw_labels(rng, game)
    # Most often the horizon of the reported experiments, so that its number is well known.
    horizon = 100 if rng.random() < 0.6 else int(rng.integers(rounds, 101))
    partner = draw_partner(rng, game, rounds)
    own: _BestPlay | _VariedPlay
    if own_play == "best":
        own = _BestPlay(rng, game, partner, horizon)
    else:
        own = _VariedPlay(rng, game.n, VARIED[own_play])
    state = partner.start
    joints: list[Joint] = []
    states, targets = [], []
    for step in range(rounds):
        target, action = own.choose(step, state, joints)
        reply = int(rng.choice(game.m, p=partner.emissions[state]))
        rewards = game.payoffs[action, reply]
        joints.append(Joint(action, reply, float(rewards[0]), float(rewards[1])))
        states.append(state)
        targets.append(target)
        state = int(partner.next_state[state, action, reply])
    return Play(game, labels, horizon, partner, joints, states, targets)


def draw_simple_plays(rng: np.random.Generator, rounds: int) -> list[Play]:
    """Draw a core game and letters as labels; play varied actions against every single action."""
    game = GAMES[str(rng.choice(CORE_GAMES))]
    labels = draw_letters(rng, game.n, neutral=rng.random() < 0.5)
    plays = []
    for action in rng.permutation(game.m):
        partner = _single(game, int(action))
        best = int(game.payoffs[:, action, 0].argmax())
        own = _VariedPlay(rng, game.n, VARIED["varied"])
        joints: list[Joint] = []
        for step in range(rounds + 1):
            chosen = own.choose(step, 0, joints)[1]
            rewards = game.payoffs[chosen, action]
            joints.append(Joint(chosen, int(action), float(rewards[0]), float(rewards[1])))
        states, targets = [0] * len(joints), [best] * len(joints)
        plays.append(Play(game, labels, 100, partner, joints, states, targets))
    return plays


def draw_game(rng: np.random.Generator, core: float) -> MatrixGame:
    """Draw one of the core games (with probability `core`), another one, or payoffs at random."""
    u = rng.random()
    if u < core:
        return GAMES[str(rng.choice(CORE_GAMES))]
    if u < (1 + core) / 2:
        return GAMES[str(rng.choice(OTHER_GAMES))]
    held_out = GAMES[HELD_OUT_GAME].payoffs
    while True:
        n = 2 if rng.random() < 0.7 else 3
        low, high = ((-3, 4), (0, 11), (0, 21))[int(rng.integers(3))]
        payoffs = rng.integers(low, high, size=(n, n, 2)).astype(float)
        if n != 2 or not _same_order(payoffs, held_out):
            return MatrixGame("drawn", payoffs, {"x": Labels("x", *[tuple("ABC"[:n])] * 2)})


def _same_order(payoffs: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether the subject's payoffs are ranked as in another 2x2 game, relabelled or not."""
    own = payoffs[:, :, 0]
    views = (own, own[::-1], own[:, ::-1], own[::-1, ::-1])
    return any((v.argsort(axis=None) == other[:, :, 0].argsort(axis=None)).all() for v in views)


def draw_labels(rng: np.random.Generator, game: MatrixGame) -> Labels:
    """Draw a shipped label set that is not held out, letters, or made-up words."""
    u = rng.random()
    shipped = [name for name in game.labels if name not in (HELD_OUT_LABELS, "x")]
    if shipped and u < 0.2:
        return game.labels[str(rng.choice(shipped))]
    if u < 0.82:
        return draw_letters(rng, game.n, neutral=u < 0.5)
    names = tuple(made_up_words(rng, game.n))
    return Labels("drawn", names, names)


def draw_letters(rng: np.random.Generator, n: int, neutral: bool) -> Labels:
    """Draw letters, those of the neutral labels or any."""
    letters = list(NEUTRAL[:8]) if neutral else list(string.ascii_uppercase)
    names = tuple(str(x) for x in rng.permutation(letters)[:n])
    return Labels("drawn", names, names)


def made_up_words(rng: np.random.Generator, count: int) -> list[str]:
    """Draw words of one to three syllables that no shipped label set holds."""
    known = {name.casefold() for name in NONSENSE}
    words: list[str] = []
    while len(words) < count:
        parts = rng.choice(_SYLLABLES, size=int(rng.integers(1, 4)))
        word = "".join(map(str, parts)) + str(rng.choice(["", "n", "r", "st", "x"]))
        word = word.capitalize() if rng.random() < 0.7 else word
        if word.casefold() not in known and word.casefold() not in map(str.casefold, words):
            words.append(word)
    return words


def draw_partner(rng: np.random.Generator, game: MatrixGame, rounds: int) -> Partner:
    """Draw a partner: single action, reactive, noisy, random, switching, cyclic or a named one."""
    n, m = game.n, game.m
    kind = rng.choice(7, p=[0.36, 0.22, 0.08, 0.1, 0.08, 0.06, 0.1])
    if kind == 0:
        return _single(game, int(rng.integers(m)))
    if kind == 1:
        return _reactive(rng, n, m, noise=0.0)
    if kind == 2:
        return _reactive(rng, n, m, noise=float(rng.uniform(0.02, 0.3)))
    if kind == 3:
        return _table([rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 5.0])))], [[0] * n])
    if kind == 4:
        return _sequence(rng, n, m, rounds)
    if kind == 5:
        cycle = [int(x) for x in rng.integers(m, size=int(rng.integers(2, 4)))]
        emissions = [np.eye(m)[b] for b in cycle]
        return _table(emissions, [[(i + 1) % len(cycle)] * n for i in range(len(cycle))])
    names = NAMED_PARTNERS + (NAMED_IN_2X2 if n == 2 else ())
    return get_partner(str(rng.choice(names)), game)


def _single(game: MatrixGame, action: int) -> Partner:
    """Build a partner that always plays one action."""
    return _table([np.eye(game.m)[action]], [[0] * game.n])


def _table(emissions: list[np.ndarray], by_own: list[list[int]]) -> Partner:
    """Build a partner whose next state depends on its state and the subject's action."""
    chosen = np.array(emissions, float)
    following = np.repeat(np.array(by_own)[:, :, None], chosen.shape[1], axis=2)
    return Partner("drawn", chosen, following, 0)


def _reactive(rng: np.random.Generator, n: int, m: int, noise: float) -> Partner:
    """Build a partner that answers the subject's last action by a fixed rule."""
    rule = rng.permutation(m)[:n] if n == m else rng.integers(m, size=n)
    if rng.random() < 0.3:
        rule = rng.integers(m, size=n)
    first = int(rng.integers(m))
    emissions = np.eye(m)[[first, *(int(b) for b in rule)]] * (1 - noise) + noise / m
    used = [[a + 1 for a in range(n)] for _ in range(n + 1)]
    return _table(list(emissions), used)


def _sequence(rng: np.random.Generator, n: int, m: int, rounds: int) -> Partner:
    """Build a partner that plays one action and from some step on another."""
    first, second = rng.permutation(m)[:2]
    step = int(rng.integers(2, max(3, rounds)))
    emissions = [np.eye(m)[first]] * step + [np.eye(m)[second]]
    return _table(emissions, [[min(i + 1, step)] * n for i in range(step + 1)])


class _VariedPlay:
    """Own play of the main variant: unrelated to what pays."""

    def __init__(self, rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> None:
        self.rng, self.n = rng, n
        self.kind = str(rng.choice(["drawn", "sticky", "constant", "cycle"], p=shares))
        self.probs = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0])))
        self.stay = float(rng.uniform(0.5, 0.95))
        self.order = rng.permutation(n)

    def choose(self, step: int, state: int, joints: list[Joint]) -> tuple[int, int]:
        """Return the taught and the played action, the same here."""
        if self.kind == "constant":
            action = int(self.order[0])
        elif self.kind == "cycle":
            action = int(self.order[step % self.n])
        elif self.kind == "sticky" and joints and self.rng.random() < self.stay:
            action = joints[-1].own
        elif self.kind == "sticky":
            action = int(self.rng.integers(self.n))
        else:
            action = int(self.rng.choice(self.n, p=self.probs))
        return action, action


class _BestPlay:
    """Own play of the rational variant: the exact best response is taught whatever is played.

    Half of the plays are varied ones as in the main variant, so that what was played says nothing
    about what to play: the model has to find it in the rules and the rewards. In the others the
    best response is played after a few random steps, as the model itself will, with slips that show
    how to come back.
    """

    def __init__(
        self, rng: np.random.Generator, game: MatrixGame, partner: Partner, horizon: int
    ) -> None:
        self.rng, self.n = rng, game.n
        self.policy = best_response(game, partner, horizon).policy
        self.slip = float(rng.choice([0.0, 0.02, 0.1, 0.3]))
        self.explore = int(rng.integers(0, 6))
        self.varied = _VariedPlay(rng, game.n, VARIED["varied"]) if rng.random() < 0.5 else None

    def choose(self, step: int, state: int, joints: list[Joint]) -> tuple[int, int]:
        """Return the taught and the played action."""
        best = int(self.policy[step, state])
        if self.varied is not None:
            return best, self.varied.choose(step, state, joints)[1]
        slips = step < self.explore or self.rng.random() < self.slip
        return best, int(self.rng.integers(self.n)) if slips else best
