"""What kind of player moves show: response, levels, reciprocity, policies, unsaid knowledge."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from tomeval.core.once import once_each
from tomeval.extensions.character.gap import unsaid
from tomeval.extensions.character.quantal import fit, worth_said, worth_true
from tomeval.extensions.character.reciprocity import OUTCOMES, classify, cooperation, moves
from tomeval.extensions.character.types import level_mixture, policies
from tomeval.games.matrix.played import FloatArray, IntArray
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.runs.columns import Table, filled, fixed, flat, flat_share, interval_columns
from tomeval.runs.results import Run
from tomeval.statistics.estimates import clustered_share

BRIEF = ("lambda_said", "lambda_true", "level", "class", "policy", "policy_percent", "unsaid_plays")
Row = dict[str, Any]
Why = dict[str, str]  # why something cannot be told, by what that is


def read_shares(cell: MatrixRunCell) -> FloatArray:
    """Return the recorded probabilities of actions, (N, n); without, 1 for the one taken."""
    size, store = cell.game.n, cell.store
    steps = store.read("steps", ("own_action", "own_probs"), cell.number, complete=True)
    try:
        shares = [np.eye(size)[own] if probs is None else probs for own, probs in steps]
        found = np.array(shares, dtype=np.float64)
    except (TypeError, ValueError, IndexError) as error:
        raise store.damaged(f"own_probs: {error}") from None
    fits = found.shape == (len(shares), size) and (found >= 0).all()
    if not (fits and np.allclose(found.sum(axis=1), 1, atol=1e-6)):
        raise store.damaged("own_probs are no probabilities")
    return found


def _response(cell: MatrixRunCell, cluster: IntArray, why: Why) -> Iterator[Row]:
    shares = read_shares(cell)
    lacks = {"said": "nothing was predicted", "true": "the partner's policy is not known"}
    for name, worth in (("said", worth_said(cell.played)), ("true", worth_true(cell.played))):
        found = fit(worth, shares, np.repeat(cluster, cell.played.lengths))
        if math.isnan(found[0]):
            known = np.isfinite(worth).any()
            why[f"lambda {name}"] = "all actions are worth the same" if known else lacks[name]
        yield interval_columns(f"lambda_{name}", *found)


def _levels(cell: MatrixRunCell, cluster: IntArray, why: Why) -> Iterator[Row]:
    found = level_mixture(cell.played, cluster)
    if isinstance(found, str):
        why["level"], found = found, {}
    most, name = max(((ends[0], name) for name, ends in found.items()), default=(0.0, ""))
    yield {"level": f"{name} ({100 * most:.0f} %)" if name else ""}
    for name, ends in found.items():
        column = f"level_{name.partition('/')[0]}_percent"
        yield interval_columns(column, *(100 * float(end) for end in ends))


def _reciprocity(cell: MatrixRunCell, cluster: IntArray, why: Why) -> Iterator[Row]:
    roles, by_step = cooperation(cell.game), np.repeat(cluster, cell.played.lengths)
    if roles is None:
        why["class"] = "no action of the game is cooperation"
        yield {"class": ""}
        return
    own, before = moves(cell.played, roles)
    payoffs = cell.game.own[np.ix_([roles[0], 1 - roles[0]], [roles[1], 1 - roles[1]])]
    name, reason = classify(payoffs, own, before, by_step)
    yield {"class": name}
    why |= {"class": reason} if reason else {}
    among = {"cooperates": before >= -1, "c_first": before == -1}
    among |= {f"c_after_{name}": before == at for at, name in enumerate(OUTCOMES)}
    among |= {"forgives": np.isin(before, (1, 3)), "retaliates": before == 1}
    for name, here in among.items():
        hits = own[here] ^ (name == "retaliates")
        yield flat_share(f"{name}_percent", clustered_share(hits, by_step[here]))


def _policies(cell: MatrixRunCell, cluster: IntArray, why: Why) -> Iterator[Row]:
    found = policies(cell.played)
    alike = [name for name, likely, _ in found if likely == found[0][1]]
    columns = {"policy": 0, "runner_up": len(alike)} if len(alike) < len(found) else {"policy": 0}
    for column, place in columns.items():
        name, _, hits = found[place]
        share = clustered_share(hits, np.repeat(cluster, cell.played.lengths))
        if 0 < hits.min() == hits.max() < 1:  # a uniform policy: the same whoever moves
            share = share._replace(low=math.nan, high=math.nan)
        more = f" +{len(alike) - 1}" if place == 0 and alike[1:] else ""
        yield {column: name + more} | flat_share(f"{column}_percent", share)
    yield {"policy_ties": ", ".join(alike[1:])}


def _unsaid(cell: MatrixRunCell, cluster: IntArray, why: Why) -> Iterator[Row]:
    found = unsaid(cell.played, cluster)
    if isinstance(found, str):
        why["unsaid plays"] = found
    else:
        yield flat(["unsaid_plays"], cell.mean(found[0])) | {"unsaid_p": found[1]}


def _row(cell: MatrixRunCell) -> tuple[Row, Why]:
    """Return the row of a cell with episodes, and why what it lacks cannot be told."""
    units = (
        np.zeros(len(cell.episodes)) if cell.each_once else cell.clusters
    )  # if they are a sample
    cluster = np.unique(units, return_inverse=True)[1]
    row: Row = {**cell.columns, "episodes": len(cell.episodes)}
    why: Why = {}
    for part in (_response, _levels, _reciprocity, _policies, _unsaid):
        for columns in part(cell, cluster, why):
            row |= columns
    return row, why


@once_each
def _told(run: Run) -> tuple[list[Row], list[str]]:
    """Return the rows of a run, and a sentence on each thing that cannot be told in some."""
    games = defaultdict[tuple[str, str], list[str]](list)
    told = [(_row(cell), cell.game.name) for cell in matrix_cells(run) if len(cell.episodes)]
    for (_, why), game in told:
        for reason in why.items():
            games[reason].append(game)
    notes = [
        f"no {what} in {len(some)} of {len(told)} rows ({', '.join(dict.fromkeys(some))}): {why}"
        for (what, why), some in games.items()
    ]
    return filled([row for (row, _), _ in told]), notes


TABLES = {
    "character": Table(
        "character: how sharply it replies, levels, reciprocity, named policies, what is unsaid",
        fixed(lambda run: [dict(row) for row in _told(run)[0]]),
        notes=lambda run: list(_told(run)[1]),
        brief=BRIEF,
        asked=True,
    ),
}
