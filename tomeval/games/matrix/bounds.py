"""What is attainable in a task, whoever plays it: exact, from the partners' tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.errors import unknown
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.optima import (
    REFERENCES,
    best_response,
    dynamics,
    reference_rewards,
    relevance,
    step_weights,
    sums_by_length,
    worst_response,
)
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.played import FloatArray, Played, by_episode
from tomeval.games.matrix.responses import (
    ROUNDING,
    misjudgement_cost,
    stationary_reward,
    stepwise_regret,
)
from tomeval.runs.notes import first_names
from tomeval.statistics.bounded import Bounds as Ends

if TYPE_CHECKING:
    from tomeval.games.matrix.experiment import MatrixCell

Rows = list[dict[str, Any]]

REGRETS = ("delta_functional_per_step", "delta_tom_best_response_per_step")
"""The measures whose limits depend on the partners."""


def bounds(
    game: str | Path | MatrixGame,
    partners: str | Path | PartnerSet,
    horizon: int = 100,
    reference: str = "horizon",
    continuation: float | None = None,
) -> Rows:
    """Return what is attainable in a task per step, one row per partner of the set.

    Game and partners may be given by name or by file; the horizon T is at least 1, or the game goes
    on after every step with a probability, its `continuation`. For a stochastic partner these are
    bounds on expected values, and so are all of a drawn length; a single episode can fall outside.

    Returns
    -------
    list of dict
        ``partner`` and its ``weight`` in the set; the expected reward of the ``best`` and of the
        ``worst`` T-step response; ``stationary``, the best mean reward in the long run;
        ``regret_min`` (0, or below 0 for the reference ``stationary``) and ``regret_max``, the
        smallest and largest expected ΔFunctional/T.

    Examples
    --------
    >>> round(bounds("IPD", "tit_for_tat")[0]["regret_max"], 2)
    3.02
    """
    game = get_game(game)
    partners = get_partner_set(partners, game)
    if reference not in REFERENCES:
        raise unknown("reference", reference, REFERENCES)
    rows = []
    for partner, weight in zip(partners.partners, partners.weights, strict=True):
        worst, best = ends(game, partner, horizon, continuation)
        stationary = stationary_reward(*dynamics(game, partner), partner.start)
        start = best if reference == "horizon" else stationary
        row = {"partner": partner.name, "weight": weight, "best": best, "worst": worst}
        row |= {"stationary": stationary, "regret_min": start - best, "regret_max": start - worst}
        rows.append(row)
    return rows


@lru_cache(maxsize=4096)
def ends(
    game: MatrixGame, partner: Partner, horizon: int, continuation: float | None = None
) -> tuple[float, float]:
    """Return the mean reward per step of the worst and of the best policy."""
    plans = [of(game, partner, horizon, continuation) for of in (worst_response, best_response)]
    steps = horizon if continuation is None else 1 / (1 - continuation)
    return plans[0].value / steps, plans[1].value / steps


def by_state(game: MatrixGame, partner: Partner) -> dict[str, FloatArray]:
    """Return what the best predictor can expect in each state of a partner, each of shape (S,).

    The predictor knows the partner's table and its state, not its draws. ToM % is that of the
    likeliest move; each ΔToM is that of the prediction that costs least in expectation, which can
    be another one. Against a deterministic partner they are 100, 0 and 0.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> rps = get_game("RPS")
    >>> most = by_state(rps, get_partner("mixture(0.5, 0.3, 0.2)", rps))
    >>> [round(float(values[0]), 9) for values in most.values()]
    [50.0, 0.7, 0.7]
    """
    ceilings = {"tom_percent_attainable": 100.0 * partner.emissions.max(axis=1)}
    for rule in ("best_response", "misprediction"):
        costs = partner.emissions @ misjudgement_cost(game, rule).T  # (S, predicted)
        ceilings[f"delta_tom_{rule}_attainable"] = costs.min(axis=1)
    return ceilings


def attainable_as_played(played: Played) -> dict[str, FloatArray]:
    """Return what the best predictor could expect on the steps as played, per episode.

    Means over an episode's steps of `by_state` in the states that were met, each of shape (E,). A
    subject's expected ToM % is at most, and its expected ΔToM at least, the expectation of these.
    """
    by_step: dict[str, FloatArray] = {}
    for partner, _, _, steps in played.alike():
        for name, values in by_state(played.game, partner).items():
            each = by_step.setdefault(name, np.zeros(len(played.own)))
            each[steps] = values[played.states[steps]]
    return {name: by_episode(played, each) / played.lengths for name, each in by_step.items()}


@lru_cache(maxsize=256)
def game_limits(game: MatrixGame) -> dict[str, Ends]:
    """Return between what measures lie in a game, whoever plays whom.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> limits = game_limits(get_game("IPD"))
    >>> limits["reward_per_step"], limits["stepwise_regret_per_step"]
    ((0.0, 10.0), (0.0, 5.0))
    """
    wrong = float(misjudgement_cost(game, "misprediction").max())
    return {
        "reward_per_step": (float(game.own.min()), float(game.own.max())),
        "stepwise_regret_per_step": (0.0, float(stepwise_regret(game).max())),
        "delta_tom_misprediction_per_step": (0.0, wrong),
    }


@lru_cache(maxsize=256)
def regret_limits(
    game: MatrixGame,
    partners: tuple[Partner, ...],
    horizon: int,
    reference: str,
    continuation: float | None = None,
) -> dict[str, Ends]:
    """Return between what `REGRETS` of an episode lie, whichever partner it met.

    A partner that draws its moves leaves less than no regret to who is lucky, or told of them. If
    the game goes on with a probability, they hold for an episode of any length.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> regret_limits(game, (get_partner("always(1)", game),), 10, "horizon")[REGRETS[0]]
    (0.0, 5.0)
    """
    between = []
    steps = len(step_weights(horizon, continuation))
    many = np.arange(1, steps + 1) if continuation is not None else np.array([horizon])
    for partner in partners:
        best = np.cumsum(reference_rewards(game, partner, steps, reference, continuation))
        least, most = sums_by_length(game, partner, steps)[:, many - 1]
        between += [(best[many - 1] - end) / many for end in (least, most)]
    rounding = 1e-9 * float(np.abs(game.own).max())
    low, high = (float(end(between)) for end in (np.min, np.max))
    costs = misjudgement_cost(game, "best_response").max(axis=0)
    met = np.any([(partner.emissions > 0).any(axis=0) for partner in partners], axis=0)
    belief = float(costs[met].max())
    return {REGRETS[0]: (0.0 if abs(low) < rounding else low, high), REGRETS[1]: (0.0, belief)}


_BLIND = {
    "functional": "ΔFunctional/T cannot tell subjects apart in {tasks}: every policy has the same "
    "expected reward there",
    "literal": "ToM % cannot tell a model of the partner from a habit in {tasks}: the same "
    "prediction in every step is as good as any",
    "belief": "ΔToM/T (best response) cannot tell subjects apart in {tasks}: no prediction changes "
    "which action is best, so it is 0 whatever is predicted",
}


@lru_cache(maxsize=1024)
def blind_spots(
    game: MatrixGame, partners: tuple[Partner, ...], horizon: int, continuation: float | None = None
) -> tuple[str, ...]:
    """Return which of ``functional``, ``literal`` and ``belief`` a task's measures cannot tell.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> rps = get_game("RPS")
    >>> [blind_spots(rps, get_partner_set(name, rps).partners, 100)
    ...     for name in ("single_action", "uniform_random")]
    [(), ('functional', 'literal')]
    """
    rows = np.concatenate([partner.emissions for partner in partners])
    likeliest = rows >= rows.max(axis=1, keepdims=True) - 1e-12
    costs = misjudgement_cost(game, "best_response")[:, (rows > 0).any(axis=0)]
    blind = {
        "functional": all(
            best - worst <= ROUNDING * max(abs(best), abs(worst))  # but for rounding
            for worst, best in (ends(game, one, horizon, continuation) for one in partners)
        ),
        "literal": bool(likeliest.all(axis=0).any()),
        "belief": not costs.any(),
    }
    return tuple(kind for kind, holds in blind.items() if holds)


def blind_sentences(tasks: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return one sentence per kind of `blind_spots` that any task has, naming the first of them.

    Tasks are a game, a partner set, a horizon and a continuation.
    """
    where: dict[str, list[str]] = {kind: [] for kind in _BLIND}
    for game, partners, *lasting in tasks:
        for kind in blind_spots(game, partners.partners, *lasting):
            where[kind].append(f"{game.name}, {partners.name}")
    return [_BLIND[kind].format(tasks=first_names(names)) for kind, names in where.items() if names]


def bounds_rows(
    game: str, partner_set: str, horizon: int, continuation: float | None = None
) -> tuple[Rows, list[str]]:
    """Return the bounds of a cell, per partner and for the whole set, and lines on what it tells.

    The first line is its relevance; the others say what its measures cannot tell.
    """
    found = get_game(game)
    partners = get_partner_set(partner_set, found)
    rows = _of_set(found, partners, horizon, REFERENCES[0], continuation)
    what = "relevance (regret per step of the best response to the wrong partner)"
    said = f"{relevance(found, partners, horizon, continuation):.6g}"
    if len(partners.partners) == 1:
        said += " (only one partner, nothing to tell apart)"
    return rows, [f"{what}: {said}", *blind_sentences([(found, partners, horizon, continuation)])]


def _of_set(game: MatrixGame, partners: PartnerSet, *lasting: Any) -> Rows:
    """Return the bounds of each partner of a set, and last, if there are several, their mean."""
    rows = bounds(game, partners, *lasting)
    if len(rows) > 1:
        means = {key: sum(row["weight"] * row[key] for row in rows) for key in list(rows[0])[2:]}
        rows.append({"partner": f"{partners.name} (mean)", "weight": 1.0, **means})
    return rows


def experiment_bounds(cells: Sequence[MatrixCell]) -> Rows:
    """Return what is attainable in each task of an experiment, one row for a set of partners.

    Tasks with a player in the partner's seat have no row: it has no table.
    """
    by_task: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in cells:
        setup, partners = cell.setup, cell.setup.partners
        task = (setup.game.name, partners.name, setup.horizon or setup.lasts, cell.reference)
        if task not in by_task and isinstance(partners, PartnerSet):
            names = ("game", "partners", "horizon", "reference")
            lasting = setup.horizon or 1, cell.reference, setup.continuation
            row = _of_set(setup.game, partners, *lasting)[-1]
            told = {key: value for key, value in row.items() if key not in ("partner", "weight")}
            by_task[task] = dict(zip(names, task, strict=True)) | told
    return list(by_task.values())
