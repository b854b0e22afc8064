"""What each kind of game pays as an environment: its loop, and the values of its solver."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.arena.named_games import is_game
from tomeval.games.game import COUNTED
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import Plan, known_best_response, reference_rewards
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.responses import gains
from tomeval.games.played import Decision, PlayedGame
from tomeval.games.solver import exactly
from tomeval.models.base import Model
from tomeval.runs.experiment import make_experiment

PLAYER = "player"
Earned = Iterator[tuple[str, float]]
Data = dict[str, Any]


Playing = tuple[Coroutine[Any, Any, Any], Callable[[bool], Earned]]
"""An episode under way: what plays it, and what it earned since the last call, by reward.

The coroutine stops at every question to the model, and returns what has a `status`. The other is
told whether the episode is over.
"""


class Task(NamedTuple):
    """What all episodes of an environment share; equal numbers of episodes have equal chance."""

    name: str
    weights: Mapping[str, float]
    begin: Callable[[int, Model], Playing]


def task_of(game: str, partner: Any, weights: Data, player: Data, data: Data, given: Data) -> Task:
    """Return the task of a game; see `tomeval.environment`."""
    arena = is_game(game)
    make, keys = (_arena, ("rules",)) if arena else (_matrix, ("horizon", "labels"))
    for name in given:
        if name not in keys:
            raise TomevalError(f"{name}: not for {game}, which has {' and '.join(keys)}")
    return make(game, partner, weights, player, data | given)


def _check(weights: Mapping[str, Any], *known: str) -> None:
    for name, weight in weights.items():
        if name not in (*known, "format"):
            raise unknown("reward", name, [*known, "format"])
        if type(weight) not in (int, float) or not math.isfinite(weight):
            raise TomevalError(f"reward: weight of {name!r} must be finite, not {weight!r}")
    if not weights:
        raise TomevalError(f"reward: must name at least one of {', '.join(known)}")


def _cell(data: Data) -> Any:
    [cell] = make_experiment(data, where="environment").cells
    return cell


def _matrix(game: str, partner: Any, weights: Data, player: Data, data: Data) -> Task:
    """Return the task of a matrix game; rounds that are over pay."""
    from tomeval.games.matrix.play import play_episode_async
    from tomeval.games.matrix.storing import as_record

    _check(weights, "payoff", "regret", "advantage", "literal")
    subject = {"name": PLAYER, "kind": "llm", "literal": "literal" in weights, **player}
    partner = dict(partner) if isinstance(partner, Mapping) else partner
    cell = _cell({"games": [game], "partners": [partner], "subjects": [subject], **data})
    setup, rules, horizon = cell.setup, cell.setup.game, cell.setup.horizon
    if not isinstance(setup.partners, PartnerSet):
        raise TomevalError(
            f"partner {setup.partners.name!r}: has no table, so the optimal reward is unknown; "
            "choose a partner of `tomeval list partners`"
        )

    def begin(episode: int, model: Model) -> Playing:
        which = int(setup.draw_partners(episode, 1)[0])
        known, played = setup.tables.partners[which], PlayedGame(episode, which, (0, 1))
        paid, finished = iter(range(horizon)), Counter[str]()

        def on_step() -> None:
            finished["rounds"] += 1

        def earned(over: bool) -> Earned:
            names = ("partner_state", "own_action", "partner_action", "predicted_action")
            columns = list(map(as_record(setup, played).column, names))
            for step in islice(paid, finished.pop("rounds", 0)):
                state, own, theirs, predicted = (column[step] for column in columns)
                payoff = float(rules.own[own, theirs])
                yield "payoff", payoff
                if "regret" in weights:
                    best = reference_rewards(rules, known, horizon, cell.reference)
                    yield "regret", payoff - float(best[step])
                if "advantage" in weights:
                    plan = known_best_response(rules, known, horizon)
                    yield "advantage", float(advantages(rules, known, plan, step, state)[own])
                yield "literal", float(predicted == theirs)

        coroutine = play_episode_async(setup, episode, model, on_step, played=played)
        return coroutine, earned

    return Task(f"{rules.name}, {setup.partners.name}, T = {horizon}", weights, begin)


def advantages(
    game: MatrixGame, partner: Partner, plan: Plan, step: int, state: int
) -> NDArray[np.float64]:
    """Return Q* - V* of every own action, shape (n,), in payoff units, at most 0.

    `plan` is the best response over T steps, `step` counts from 0, `state` is the partner's. The
    sum over an episode has the expectation of what was earned, less the value of the best response.

    Examples
    --------
    One step before the last, defecting on tit for tat wins 2 now and loses 5 then:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> ipd = get_game("IPD")
    >>> tft = get_partner("tit_for_tat", ipd)
    >>> plan = known_best_response(ipd, tft, 2)
    >>> advantages(ipd, tft, plan, 0, tft.start).tolist()
    [0.0, -3.0]
    """
    chance = partner.emissions[state]
    later = (chance * plan.relative[step + 1][partner.next_state[state]]).sum(axis=1)
    q: NDArray[np.float64] = gains(game) @ chance + later
    lost: NDArray[np.float64] = q - q.max()
    return lost


def _arena(game: str, partner: Any, weights: Data, player: Data, data: Data) -> Task:
    """Return the task of a game of the arena; all but regret is paid at its end."""
    from tomeval.games.arena.cells import SUBJECT
    from tomeval.games.play import SUBJECT_SLOT, play_game

    _check(weights, "payoff", "regret", "literal")
    several = [partner] if isinstance(partner, str) else list(partner)
    cell = _cell(
        {
            **{name: data[name] for name in ("seed", "on_invalid")},
            "domain": "arena",
            "games": {game: {"game": game, **data.get("rules", {})}},
            "players": {PLAYER: player, **{kind: {"kind": kind} for kind in several}},
            "lineups": [
                {
                    "game": game,
                    "subject": PLAYER,
                    "others": [several] if len(several) > 1 else several[0],
                }
            ],
            "attempts": player["max_attempts"],
            "probes": "literal" in weights,
            "values": "regret" in weights,
        }
    )
    others = ", ".join(cell.names[1:])
    if "regret" in weights and cell.solver(0) is None:
        raise TomevalError(
            f"reward 'regret': no values are known in {cell.table.name} against {others}; "
            "choose 'payoff'"
        )

    def begin(episode: int, model: Model) -> Playing:
        table = cell.new_table(episode, {SUBJECT: model}, lambda: None)
        table.side_by_side = False  # nothing but the player waits
        deal, seats = cell.seated(episode)
        played, paid = PlayedGame(episode, deal, seats), [0]

        def earned(over: bool) -> Earned:
            for decision in played.decisions[paid[0] :] if "regret" in weights else ():
                if decision.slot == SUBJECT_SLOT and decision.verdict in COUNTED:
                    yield "regret", -_lost(decision)
            paid[0] = len(played.decisions)
            if over and played.rewards:
                yield "payoff", float(played.rewards[seats[SUBJECT_SLOT]])
                probed = [one.hit for decision in played.decisions for one in decision.probed]
                yield "literal", float(sum(hit or 0 for hit in probed))

        return play_game(table, episode, deal, played), earned

    return Task(f"{cell.table.name}, {others}", weights, begin)


def _lost(decision: Decision) -> float:
    """Return V* - Q* of what counted as a decision, drawn at random or not."""
    regret = None if decision.worth is None else exactly(decision.worth.counted)
    if regret is None:
        raise TomevalError(
            f"reward 'regret': the value of a decision of kind {decision.kind!r} is not known "
            "exactly against these players; choose 'payoff'"
        )
    return regret
