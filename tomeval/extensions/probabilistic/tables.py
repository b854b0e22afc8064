"""The table of stated probabilities: losses, skill, calibration, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tomeval.domains.matrix.played import BoolArray, FloatArray, Played, data_of
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.extensions.probabilistic.forecasts import (
    BINS,
    LEAST_LOSS,
    Calibration,
    brier_scores,
    calibration,
    crossed_parts,
    log_losses,
    plain_parts,
    skill,
)
from tomeval.extensions.probabilistic.measures import (
    DRAWN,
    FEWEST_DRAWS,
    NAME,
    Stated,
    by_step,
    episode_means,
)
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.results import Run
from tomeval.statistics.estimates import Estimate

Rows = list[dict[str, Any]]


def stated_cells(run: Run) -> list[MatrixRunCell]:
    """Return the cells with complete episodes and stated probabilities."""
    return [
        cell for cell in matrix_cells(run) if cell.played.episodes and _stated(cell).there.any()
    ]


def _stated(cell: MatrixRunCell) -> Stated:
    stated: Stated = data_of(cell.played, NAME)
    return stated


def rows(run: Run) -> Rows:
    """Return one row per cell with stated probabilities."""
    return [_row(cell) for cell in stated_cells(run)]


def base_rates(played: Played, weights: Sequence[float]) -> FloatArray:
    """Return how often partners of the set play each action, shape (m,): the base rates.

    The frequencies in the complete episodes, those against each partner weighted by the partner's
    share of the set (partners that nobody met are left out). They are of the same steps that they
    are to predict, so as a forecast they are slightly too good, and a skill against them slightly
    too small; nothing that happens ever has a rate of 0.
    """
    rates = np.zeros(played.game.m)
    partner = np.repeat(played.which, played.lengths)
    for k in np.unique(partner):
        share = weights[k] if weights else (partner == k).mean()
        mine = played.partner[partner == k]
        rates += share * np.bincount(mine, minlength=played.game.m) / len(mine)
    result: FloatArray = rates / rates.sum()
    return result


def calibration_of(cell: MatrixRunCell) -> Calibration:
    """Return a cell's forecasts by episode and bin; episodes without any are left out."""
    played, stated = cell.played, _stated(cell)
    there = stated.there
    episode = np.repeat(np.arange(played.episodes), played.lengths)[there]
    row = np.unique(episode, return_inverse=True)[1]
    return calibration(stated.probs[there], played.partner[there], row, int(row.max()) + 1)


def calibration_error(cell: MatrixRunCell) -> Estimate:
    """Return the expected calibration error in percent, with its interval.

    From the lower end of `crossed_parts` to the upper end of `plain_parts`, see there.
    """
    forecasts, among = calibration_of(cell), _some(cell)
    parts = np.full((cell.played.episodes, 2), np.nan)
    parts[among] = 100.0 * np.stack([plain_parts(forecasts), crossed_parts(forecasts)], axis=1)
    means = cell.mean(parts, among=among, bounds=(0.0, 100.0))
    return Estimate.of(means.mean[0], min(means.low[1], means.mean[0]), means.high[0])


def _row(cell: MatrixRunCell) -> dict[str, Any]:
    """Return a cell's row."""
    played, stated = cell.played, _stated(cell)
    steps, there, among = by_step(played), stated.there, _some(cell)

    def means(values: FloatArray) -> FloatArray:
        return episode_means(played, np.where(there, values, np.nan))

    def measured(name: str) -> dict[str, float]:
        return flat([name], _mean(cell, name, means(steps[name]), among))

    mean = partial(cell.mean, among=among)
    base = np.tile(base_rates(played, stated.weights), (len(there), 1))
    row: dict[str, Any] = {**cell.columns, "probabilities": stated.source}
    for name, score in (("log_loss", log_losses), ("brier_score", brier_scores)):
        row |= measured(name)
        of_rates = means(score(base, played.partner))
        row[f"base_rate_{name}"] = float(mean(of_rates).mean[0])
        row[f"bayes_{name}"] = float(mean(means(steps[f"bayes_{name}"])).mean[0])
        row |= flat(
            [f"{name}_skill_over_base_rate"], skill(means(steps[name]), of_rates, mean, among)
        )
        if name == "log_loss":
            row |= measured("excess_log_loss")
    row |= flat(["ece_percent"], calibration_error(cell)) | measured("overconfidence")
    drawn = int(stated.draws.sum())
    return row | {
        "steps": int(there.sum()),
        "steps_without": int((~there).sum()),
        "impossible_steps": int(np.isinf(steps["log_loss"]).sum()),
        "draws": drawn,
        "unreadable_draws": stated.asked - drawn,
    }


def _mean(cell: MatrixRunCell, name: str, values: FloatArray, among: BoolArray) -> Estimate:
    """Return the mean of a measure by episode; an infinite one has no interval."""
    if np.isinf(values[among]).any():
        return Estimate.of(np.inf)
    return cell.mean(values, among=among, bounds=cell.limits(name))


def _some(cell: MatrixRunCell) -> BoolArray:
    """Tell which episodes have a step with probabilities, shape (E,)."""
    starts = np.cumsum(cell.played.lengths) - cell.played.lengths
    some: BoolArray = np.add.reduceat(_stated(cell).there.astype(np.int64), starts) > 0
    return some


def notes(run: Run) -> list[str]:
    """Say what the numbers are, and what is missing and why."""
    shown = rows(run)
    said = [
        "losses are means over steps, in nats and in squared probability; skill is 1 - loss / loss "
        "of the base rate (how often each action is played): 1 is perfect, 0 as good as the base "
        "rate, negative worse. Bayes knows the partner set and sees the same moves",
        f"ece: {BINS} bins of equal width, probability of the likeliest action against how often "
        "it is right. Chance raises it; its interval allows for that, and includes 0 where no "
        "calibration error is shown",
    ]
    if any(row["probabilities"] == DRAWN for row in shown):
        said.append(
            "draws: log loss, ece and overconfidence are those of (count + 1/2) / (draws + "
            "actions / 2), and depend on the number of draws; the Brier score does not. Steps with "
            f"fewer than {FEWEST_DRAWS} readable draws are left out (steps without)"
        )
    without = [row for row in shown if row["base_rate_log_loss"] < LEAST_LOSS]
    if without:
        said.append(
            f"{_cells(without)}: the base rate has no loss there, so skill is undefined; see log "
            "loss above Bayes"
        )
    impossible = [row for row in shown if row["impossible_steps"]]
    if impossible:
        said.append(
            f"{_cells(impossible)}: the log loss is infinite, because a probability of 0 was "
            "given to what then happened (impossible steps)"
        )
    silent = [cell for cell in matrix_cells(run) if cell.played.episodes]
    count = len(silent) - len(shown)
    if count:
        said.append(
            f"{_count(count)} without probabilities left out: written answers need repeated draws "
            "(draws = 8)"
        )
    return said


def _cells(found: Rows) -> str:
    """Name one cell, or count several."""
    if len(found) > 1:
        return _count(len(found))
    first = found[0]
    return ", ".join(
        str(first[name]) for name in ("subject", "model", "game", "partners") if first[name]
    )


def _count(count: int) -> str:
    return f"{count} cell" + "s" * (count != 1)


TABLES: Mapping[str, Table] = {
    "probabilistic": Table(
        "predictions as probabilities: losses, skills, calibration",
        fixed(rows),
        notes=notes,
        needs="predictions with probabilities, from scored labels (LM) or draws = N: "
        'docs/measures/probabilistic.md, "Probabilistic predictions"',
    ),
}
