"""Make an environment from names, as experiments have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.extensions.environments.rewards import read_reward
from tomeval.extensions.environments.text import Task, TextEnvironment
from tomeval.runs.experiment import make_experiment
from tomeval.strategies import parse_strategy

DECRYPTO = "decrypto"
MODEL, PLAYER = "scripted:environment", "player"
"""What stands in the experiment for who is trained; no such model is opened."""


def environment(
    game: str,
    partner: str | Mapping[str, Any] | Sequence[str],
    *,
    reward: str | Mapping[str, float] = "regret",
    horizon: int | None = None,
    seed: int = 0,
    strategy: str = "QA",
    labels: str | None = None,
    on_invalid: str = "random",
    rules: Mapping[str, Any] | None = None,
    seat: str | None = None,
    **options: Any,
) -> TextEnvironment:
    """Return a game against known partners as a text environment to train a model in.

    Observations are the prompts that a model with this strategy reads in a run, actions are its
    replies, read by the same rule. Rewards are exact: they come from the tables of the partners.

    Parameters
    ----------
    game : str
        A matrix game (a name or a TOML file), ``decrypto``, or a game of the arena.
    partner : str, mapping or sequence of str
        In matrix games a partner or a set of partners, as experiments name them, of which every
        episode draws one. In the arena a scripted player, in all other seats, or one for each; in
        Decrypto an embedding such as ``minilm``, or another player, likewise.
    reward : str or mapping
        In matrix games ``payoff``, ``regret``, ``stepwise``, ``advantage`` (Q* - V* of every
        decision) or ``literal``; in the arena ``payoff``, ``regret`` (there Q* - V*) or
        ``literal``; in Decrypto by turn ``payoff`` (1 where the decoder guesses the code and the
        interceptor does not; of the interceptor, where it does), and of the encoder ``regret``
        (value - best value) and ``literal`` (1 for a right prediction of the interceptor's guess);
        in all ``format``, -1 for every reply that cannot be read. Sums such as
        ``"regret + 0.5 literal"`` are mixes.
    horizon : int, optional
        Steps of an episode of a matrix game, by default 100.
    seed : int
        With the number given to `reset`, what all chance of an episode follows from.
    strategy : str
        How a model is asked, such as ``QA`` or ``CoT``; none that scores labels.
    labels : str, optional
        A label set of a matrix game.
    on_invalid : str
        What follows a reply that cannot be read, as in experiments. ``random``: a random legal
        action counts and earns what it earns. ``void`` would end the losses of a bad episode.
    rules : mapping, optional
        Parameters of a game of the arena, and ``preset``; in Decrypto the table ``rules``.
    seat : str, optional
        In Decrypto who is trained: ``encoder`` (default), ``decoder`` or ``interceptor``.
    **options
        Of a language-model player. By default ``max_attempts`` is 1, and ``literal``, whether
        predictions are asked for in matrix games, true where the reward has them.

    Raises
    ------
    TomevalError
        Bad input, or a reward that has no optimum here.

    Examples
    --------
    >>> env = environment("IPD", "tit_for_tat", reward="advantage", horizon=2)
    >>> print(env.reset(seed=0)[:37])
    You are playing a repeated game with
    >>> [env.step("Final answer: Defect")[1:3] for _ in range(2)]
    [(-3.0, False), (0.0, True)]
    """
    from tomeval.domains.arena.games import is_game

    if parse_strategy(strategy).scored:
        raise TomevalError(
            f"strategy {strategy!r}: scores labels, but environments are played by text; use 'QA' "
            "or 'CoT'"
        )
    common = {"model": MODEL, "strategy": strategy, "max_attempts": 1, **options}
    data: dict[str, Any] = {"seed": seed, "on_invalid": on_invalid}
    if seat is not None and game != DECRYPTO:
        raise TomevalError(f"seat: only for {DECRYPTO}")
    if is_game(game) or game == DECRYPTO:
        for name, value in {"horizon": horizon, "labels": labels}.items():
            if value is not None:
                raise TomevalError(f"{name}: not for {game}, which has rules instead")
        if game == DECRYPTO:
            task = _decrypto(partner, seat or "encoder", reward, data, common, rules or {})
        else:
            task = _arena(game, partner, reward, data, common, rules or {})
    else:
        if rules is not None:
            raise TomevalError(f"rules: only {DECRYPTO} and games of the arena have rules")
        keys = {"horizon": horizon, "labels": labels}
        data |= {name: value for name, value in keys.items() if value is not None}
        task = _matrix(game, partner, reward, data, common)
    return TextEnvironment(task)


def _matrix(
    game: str, partner: Any, reward: Any, data: dict[str, Any], player: dict[str, Any]
) -> Task:
    """Return the task of a matrix game."""
    from tomeval.domains.matrix.experiment import MatrixCell
    from tomeval.extensions.environments.matrix import REWARDS, MatrixTask

    weights = read_reward(reward, REWARDS)
    partner = dict(partner) if isinstance(partner, Mapping) else partner
    subject = {"name": PLAYER, "kind": "llm", "literal": "literal" in weights, **player}
    data |= {"games": [game], "partners": [partner], "subjects": [subject]}
    [cell] = make_experiment(data, where="environment").cells
    assert isinstance(cell, MatrixCell)
    return MatrixTask(cell, weights)


def _arena(
    game: str,
    partner: Any,
    reward: Any,
    data: dict[str, Any],
    player: dict[str, Any],
    rules: Mapping[str, Any],
) -> Task:
    """Return the task of a game of the arena."""
    from tomeval.domains.arena.cells import ArenaCell
    from tomeval.extensions.environments.arena import REWARDS, ArenaTask

    weights = read_reward(reward, REWARDS)
    named = _named(partner, lambda kind: {"kind": kind})
    tables, others = dict(named), [name for name, _ in named]
    data |= {
        "domain": "arena",
        "games": {game: {"game": game, **rules}},
        "players": {PLAYER: player, **tables},
        "lineups": [
            {"game": game, "subject": PLAYER, "others": [others] if len(others) > 1 else others[0]}
        ],
        "attempts": player["max_attempts"],
        "probes": "literal" in weights,
        "values": "regret" in weights,
    }
    [cell] = make_experiment(data, where="environment").cells
    assert isinstance(cell, ArenaCell)
    return ArenaTask(cell, weights)


def _decrypto(
    partner: Any,
    seat: str,
    reward: Any,
    data: dict[str, Any],
    player: dict[str, Any],
    rules: Mapping[str, Any],
) -> Task:
    """Return the task of a seat of Decrypto."""
    from tomeval.domains.decrypto.experiment import DecryptoCell
    from tomeval.domains.decrypto.players import table_from_spec
    from tomeval.domains.decrypto.seats import ROLES
    from tomeval.extensions.environments.decrypto import REWARDS, DecryptoTask

    if seat not in ROLES:
        raise unknown("seat", seat, ROLES)
    weights = read_reward(reward, REWARDS[seat])
    others = [role for role in ROLES if role != seat]
    named = _named(partner, table_from_spec)
    if len(named) not in (1, len(others)):
        raise TomevalError(
            f"partner: give 2 ({' and '.join(others)}) or 1 for both, not {len(named)}"
        )
    names = [name for name, _ in named] * (3 - len(named))
    data |= {
        "domain": DECRYPTO,
        "players": {PLAYER: player, **dict(named)},
        "pairings": [{seat: PLAYER, **dict(zip(others, names, strict=True))}],
        "rules": dict(rules),
        "probes": {"eve": "literal" in weights},
        "best_turn": "regret" in weights,
    }
    [cell] = make_experiment(data, where="environment").cells
    assert isinstance(cell, DecryptoCell)
    return DecryptoTask(cell, seat, weights)


def _named(partner: Any, table: Callable[[str], dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return who else plays: names, which their chance follows from, and tables of players."""
    several = [partner] if isinstance(partner, str | Mapping) else list(partner)
    return [
        (one, table(one)) if isinstance(one, str) else (f"other {number}", dict(one))
        for number, one in enumerate(several, 1)
    ]
