"""Games of the arena as environments of PettingZoo, for programs that learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extras import need
from tomeval.domains.arena.named_games import named_game
from tomeval.domains.arena.policy import Policy

REWARDS = ("payoff", "regret")


def aec_env(
    name: str,
    rules: Mapping[str, Any] | None = None,
    *,
    policies: Mapping[int, Policy] | None = None,
    reward: str = "payoff",
    observation_size: int = 16_384,
    render_mode: str | None = None,
) -> Any:
    """Return a game as an agent-environment cycle (`pettingzoo.AECEnv`).

    Agents are called ``seat_0``, ``seat_1``, ...; those of one stage decide one after the other and
    do not see each other's decisions. Actions are numbers: the four pairs of moves and nine
    sentences in the dilemma, all allocations in Blotto, every clue of the bank with every number
    and every word or a pass in Codenames, targets and speech acts in Secret Mafia; see
    `ArenaGame.menu`. An observation is all that the seat has learnt: a text, as UTF-8 bytes
    followed by zeros, with the mask of legal actions, which Blotto does not need. The
    agent's info has it as ``text``. Chance follows from the seed of `reset`.

    Parameters
    ----------
    name : str
        A game, such as ``blotto``.
    rules : mapping, optional
        Its parameters, as in an experiment; ``preset`` names a set of them.
    policies : mapping, optional
        Scripted players by seat; all other seats are agents.
    reward : str
        ``payoff``: the game's, when it is over. ``regret``: after every decision of the one agent,
        minus the value that it lost against the policies, V* - Q*, where that is known exactly.
    observation_size : int
        Bytes of an observation; a text that is longer is an error.
    render_mode : str, optional
        ``ansi``: `render` returns all that has happened.

    Raises
    ------
    TomevalError
        PettingZoo is not installed, the game has no list of actions, or there is no exact value.

    Examples
    --------
    >>> env = aec_env("ipd3", {"talk": 0})  # doctest: +SKIP
    >>> env.reset(seed=1)  # doctest: +SKIP
    """
    if reward not in REWARDS:
        raise unknown("reward", reward, REWARDS)
    named = named_game(name, {**(rules or {}), "game": name}, f"games.{name}")
    game, others = named.game, dict(policies or {})
    for seat, policy in others.items():
        if seat not in range(game.seats):
            raise TomevalError(f"policies: {name} has seats 0 to {game.seats - 1}, not {seat!r}")
        policy.fits(game)
    agents = [seat for seat in range(game.seats) if seat not in others]
    if not agents:
        raise TomevalError("policies: every seat has one, so that no agent is left")
    solver = None
    if reward == "regret":
        if len(agents) != 1:
            raise TomevalError(
                f"reward 'regret': needs policies in all seats but one; {agents} have none"
            )
        solver = named.kind.solver(game, agents[0], others)
        if solver is None:
            raise TomevalError(
                f"reward 'regret': no values are known in {name} with these policies"
            )
    what = "environments of PettingZoo"
    wrappers = need("pettingzoo.utils.wrappers", "pettingzoo", what)
    module = need("tomeval.extensions.pettingzoo.environment", "pettingzoo", what)
    return wrappers.OrderEnforcingWrapper(
        module.ArenaEnv(game, others, solver, observation_size, render_mode)
    )
