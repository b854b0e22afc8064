"""What statements of known accuracy are worth in a game, and what subjects make of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.played import (
    BoolArray,
    FloatArray,
    IntArray,
    Played,
    data_of,
    from_steps,
)
from tomeval.games.matrix.responses import (
    ROUNDING,
    best_responses,
    gains,
    rational_responses,
    stepwise_regret,
)
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.storing import BELIEFS, cells_with_beliefs
from tomeval.games.matrix.subject_specs import LLM
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO, Bounds
from tomeval.strategies import parse_strategy
from tomeval.strategies.beliefs import propensity

NAME = "planted"


def contrast(game: MatrixGame) -> FloatArray:
    """Return what an action tells of which statement it follows, shape (n, m), from -1 to 1.

    ``[a, s]`` is 1 if a is a best response to s and to nothing else, less the share of the other
    statements that a is a best response to: 0 for an action that is best against everything.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> contrast(get_game("RPS"))[1].tolist()
    [1.0, -0.5, -0.5]
    >>> contrast(get_game("IPD")).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    best = best_responses(game).astype(np.float64)
    others = best.sum(axis=1, keepdims=True) - best
    telling: FloatArray = best - others / (game.m - 1)
    return telling


def slope_ceiling(game: MatrixGame) -> float:
    """Return the largest use slope that anybody can have in a game: of one who always follows.

    0 where every statement has the same best responses, so that following shows in nothing.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> slope_ceiling(get_game("RPS")), slope_ceiling(get_game("IPD"))
    (1.0, 0.0)
    """
    return float(contrast(game).max(axis=0).mean())


def rational_regret(game: MatrixGame, accuracy: float) -> FloatArray:
    """Return the stepwise regret of a rational believer, shape (m, m): ``[stated, actual]``.

    In payoff units; tied actions count by their mean.
    """
    policy = rational_responses(game, accuracy).astype(np.float64)
    policy /= policy.sum(axis=0)
    regret: FloatArray = policy.T @ stepwise_regret(game)
    return regret


def trust_threshold(game: MatrixGame) -> float:
    """Return the least accuracy from which always following statements pays.

    That is where one who always plays a best response to what is stated earns as much in
    expectation as the best single action does, all partner actions being equally probable: with F
    what following earns (linear in the accuracy) and I what the best single action earns, the
    solution of F = I. From 1/m, where statements say nothing, to 1. NaN if knowing the partner's
    action earns no more than not knowing it.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> round(trust_threshold(get_game("RPS")), 4), round(trust_threshold(get_game("IBS")), 4)
    (0.3333, 0.5882)
    >>> trust_threshold(get_game("IPD"))
    nan
    """
    above = gains(game)
    known = float(above.max(axis=0).mean())
    ignoring = float(above.mean(axis=1).max())
    if known - ignoring <= ROUNDING * float(above.max()):
        return math.nan
    others = (above.sum(axis=1, keepdims=True) - above) / (game.m - 1)
    misled = float(np.where(best_responses(game), others, -np.inf).max(axis=0).mean())
    return (ignoring - misled) / (known - misled)


@dataclass(frozen=True, eq=False)
class Statements:
    """What was stated to a subject in the steps of its complete episodes."""

    accuracy: float
    stated: IntArray  # shape (N,): actions of the partner, in the order of `Played`
    wording: str = ""  # empty: not in words


def read_statements(store: Store, number: int, definition: Mapping[str, Any]) -> Statements | None:
    """Return what was stated in a cell; None if nothing was."""
    if number not in cells_with_beliefs(store):
        return None
    rows = list(store.read("steps", BELIEFS, number, complete=True))
    stated = np.array([row[0] for row in rows], dtype=np.int64)
    return Statements(float(rows[0][1]), stated, rows[0][2] or "")


def use_slopes(played: Played, told: Statements) -> FloatArray:
    """Return every step's estimate of the use slope, shape (N,).

    Statements are drawn with known probabilities given the partner's action, so weighting by their
    inverse makes each step's expectation the slope, whatever the subject knows of the partner: the
    mean over statements s of P(a best response to s | s is stated) less the mean over the others s'
    of P(a best response to s | s' is stated) (Horvitz and Thompson 1952). With an accuracy of 0 or
    1 some statements cannot occur, and it is not identified: NaN. So it is where its ceiling is 0.
    """
    if not 0 < told.accuracy < 1 or slope_ceiling(played.game) == 0:
        return np.full(len(played.own), np.nan)
    count = played.game.m
    chance = propensity(told.stated, played.partner, count, told.accuracy)
    slopes: FloatArray = contrast(played.game)[played.own, told.stated] / (count * chance)
    return slopes


def compliance(played: Played, told: Statements, right: bool) -> tuple[BoolArray, BoolArray]:
    """Return on which steps a right or a wrong statement was complied with, and which count, (N,).

    Right statements count if some best response to them is not best against every other action of
    the partner; complied with: the action is a best response. Wrong ones count if some best
    response to them is none to what the partner did; complied with: the action is such a one.
    """
    stated, truth = told.stated, played.partner
    if right:
        shows: BoolArray = np.asarray(contrast(played.game).max(axis=0) > 0)
        among: BoolArray = shows[stated] & (stated == truth)
        return best_responses(played.game)[played.own, stated] & among, among
    best = best_responses(played.game)
    wrong: BoolArray = best[:, :, None] & ~best[:, None, :]  # (n, m, m): own, stated, actual
    misled: BoolArray = np.asarray(wrong.any(axis=0))
    among = misled[stated, truth] & (stated != truth)
    return wrong[played.own, stated, truth] & among, among


def regrets(played: Played, told: Statements) -> tuple[FloatArray, FloatArray]:
    """Return the stepwise regret of the subject and of a rational believer, each of shape (N,).

    The believer hears the same statements on the same steps; where its best actions tie, their mean
    counts, so that nothing of it is drawn.
    """
    own = stepwise_regret(played.game)[played.own, played.partner]
    rational = rational_regret(played.game, told.accuracy)[told.stated, played.partner]
    return own, rational


def _measure(
    name: str,
    heading: str,
    unit: str,
    of: Callable[[Played, str], Totals],
    meaning: str,
    better: Literal[0, -1] = 0,
    bounds: Bounds | None = None,
    source: str = "this project, docs/measures/planted.md",
) -> Measure:
    meaning = f"Planted beliefs: {meaning}"
    return Measure(name, heading, meaning, unit, better, source, of, bounds=bounds)


MEASURES = (
    _measure(
        "use_slope",
        "use slope",
        "probability",
        from_steps(NAME, use_slopes),
        "how much more probable a best response to a prediction of the partner becomes by stating "
        "it, in place of another one. 0: what is stated changes nothing; no more than the ceiling, "
        "1 in most games. Not identified where statements are always right or always wrong, or all "
        "have the same best responses.",
        bounds=(-1.0, 1.0),
        source="this project, docs/measures/planted.md; Horvitz and Thompson 1952",
    ),
    _measure(
        "compliance_right_percent",
        "complies, right %",
        "%",
        from_steps(NAME, lambda played, told: compliance(played, told, True), share=True),
        "the share of steps with a right statement on which the action is a best response to it, "
        "among steps on which it need not be one.",
    ),
    _measure(
        "compliance_wrong_percent",
        "complies, wrong %",
        "%",
        from_steps(NAME, lambda played, told: compliance(played, told, False), share=True),
        "the share of steps with a wrong statement on which the action is a best response to it "
        "and not to what the partner did, among steps that have such an action.",
    ),
    _measure(
        "stated_right_percent",
        "stated right %",
        "%",
        from_steps(NAME, lambda played, told: 100.0 * (told.stated == played.partner)),
        "the share of steps on which the statement was right.",
    ),
    _measure(
        "rational_regret_per_step",
        "rational believer's regret",
        "payoff",
        from_steps(NAME, lambda played, told: regrets(played, told)[1]),
        "the stepwise regret, on the same steps, of a rational believer who knows how often "
        "statements are right and nothing else. In payoff units.",
        bounds=FROM_ZERO,
    ),
    _measure(
        "excess_regret_per_step",
        "regret over rational",
        "payoff",
        from_steps(NAME, lambda played, told: np.subtract(*regrets(played, told))),
        "the subject's stepwise regret minus that of the rational believer on the same steps. "
        "Lower is better; negative where it knows more than the statements. In payoff units.",
        better=-1,
    ),
)


OTHERS = (
    *("compliance_right_percent", "compliance_wrong_percent"),
    *("stepwise_regret_per_step", "rational_regret_per_step", "excess_regret_per_step"),
)


def accuracy_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per subject, wording, task and accuracy; those of a subject stand together."""
    planted = cells_with_beliefs(run.store)
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in matrix_cells(run):
        if cell.number in planted:
            told, columns = data_of(cell.played, NAME), _columns(cell)
            row = {"accuracy_percent": round(100 * told.accuracy), "episodes": len(cell.episodes)}
            row |= flat(("use_slope",), cell.estimate(("use_slope",)))
            row["use_slope_ceiling"] = slope_ceiling(cell.game)
            row["pays_from_percent"] = 100 * trust_threshold(cell.game)
            row |= flat(OTHERS, cell.estimate(OTHERS))
            rows.setdefault(tuple(columns.values()), []).append(columns | row)
    return [
        row for mine in rows.values() for row in sorted(mine, key=lambda r: r["accuracy_percent"])
    ]


def _columns(cell: MatrixRunCell) -> dict[str, Any]:
    """Return what tells a subject and its task apart, whatever the accuracy."""
    rated = "yes"  # a simulated subject knows it
    if cell.definition["kind"] == LLM:
        belief = parse_strategy(cell.definition["strategy"]).part.belief
        rated = "yes" if belief is not None and belief.rated else "no"
    subject = re.sub(r"Belief \d+% \(", "Belief (", str(cell.columns["subject"]))
    subject = re.sub(r"accuracy=[\d.e-]+(, )?", "", subject).replace(", )", ")").replace("()", "")
    task = {name: cell.columns[name] for name in ("model", "game", "labels", "partners", "horizon")}
    wording = data_of(cell.played, NAME).wording
    return {"subject": subject, **task, "as": wording, "rated": rated, "seed": cell.seed}


NOTE = "pays from: the accuracy from which following pays; rated no: the player is not told it"

TABLES: Mapping[str, Table] = {
    "planted": Table(
        "planted beliefs: use, compliance and regret by accuracy",
        fixed(accuracy_rows),
        notes=lambda run: [NOTE],
        needs='strategies with belief(...): docs/measures/planted.md, "Planted beliefs"',
    ),
}
