"""Tables of what states hold and whether it is used: the chain, and every exchange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.extensions.internal.chain import shares, sites, verdict
from tomeval.extensions.internal.findings import Found, Held, kept, why_not
from tomeval.extensions.internal.keys import BEST_REPLY, NEXT_MOVE, STATE, TYPE, settings_of
from tomeval.extensions.internal.reading import found
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.results import Run
from tomeval.statistics import Estimate

Rows = list[dict[str, Any]]

_SIDE_BY_SIDE = {"says": "says_percent", "does": "does_percent", "holds": "holds_percent"}
_PROBES = {
    "holds": "holds_percent",
    "shuffled": "shuffled_percent",
    "bag": "history_percent",
    "embedding": "embedding_percent",
    "untrained": "untrained_percent",
}

NOTE = (
    "the steps from the second on. says: predictions that were right; does: actions that were a "
    "best reply to what the partner did, or, beside best reply, the best one; holds: how often a "
    "linear probe, fitted to other episodes, reads what is decoded from the state at the action's "
    "token (--what internal_probe); its interval is of these probes on other episodes: probes "
    "fitted to others, or in other folds, differ by more. used: how many actions follow when the "
    "state is taken from an episode that differs in the partner's moves alone (--what "
    "internal_use): here, where the probe reads, and at the moves, at the layer where most follow. "
    "Regret per step in payoff units: of what was done (stepwise), of believing what was said "
    "(ΔToM), of a rational reader of what is held (ΔInternal)"
)
_WHY_SAME = {
    NEXT_MOVE: "the partner makes the same move in all steps",
    TYPE: "there is only one partner in cells that share everything else",
    STATE: "no partner's table has more states than one from step 2 on",
    BEST_REPLY: "one action is the best in all steps",
}


def cells_of(run: Run) -> list[MatrixRunCell]:
    """Return the cells whose states can be read."""
    return [cell for cell in matrix_cells(run) if not why_not(cell)]


def _truths(run: Run) -> Iterator[tuple[MatrixRunCell, Found, str]]:
    """Yield each cell with what was found of it, by what was to be decoded."""
    for cell in cells_of(run):
        told = found(cell)
        for truth in settings_of(cell.definition).truth:
            yield cell, told, truth


def rows(run: Run) -> Rows:
    """Return what each cell says, does, holds and uses, by truth, and where the chain breaks."""
    return [_row(*one) for one in _truths(run)]


def _row(cell: MatrixRunCell, told: Found, truth: str) -> dict[str, Any]:
    held = told.held.get(truth)
    row = _decoded(cell, truth) | _means(cell, held, _SIDE_BY_SIDE)
    for site in sites(told, truth):
        row |= flat_share(f"used_{site.word}_percent", site.share)
    regrets = {
        "regret_done": told.regrets["step_regret"],
        "regret_said": told.regrets["tom_regret"],
        "regret_held": held.by_episode["internal_regret"] if held else [np.nan],
    }
    row |= {name: round(float(np.mean(values)), 3) for name, values in regrets.items()}
    row |= {"chain": verdict(cell, told, truth), "steps": told.steps}
    return row | {"episodes": len(cell.episodes)}


def _decoded(cell: MatrixRunCell, truth: str) -> dict[str, Any]:
    return dict(cell.columns) | {"decoded": _words(truth)}


def _words(truth: str) -> str:
    return truth.replace("_", " ")


def _means(cell: MatrixRunCell, held: Held | None, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return shares with their intervals over episodes; NaN where there is nothing."""
    row: dict[str, Any] = {}
    for name, column in columns.items():
        values = held.of(name) if held else np.array([np.nan])
        if np.isfinite(values).all():
            row |= flat([column], cell.mean(values[:, None], bounds=(0.0, 100.0)))
        else:
            row |= flat([column], Estimate(*[np.array([np.nan])] * 4))
    return row


def probe_rows(run: Run) -> Rows:
    """Return what probes read of each cell, what controls give, and what taking it out costs."""
    rows: Rows = []
    for cell, told, truth in _truths(run):
        held = told.held.get(truth)
        row = _decoded(cell, truth) | _means(cell, held, _PROBES)
        row["p"] = round(held.p, 3) if held else float("nan")
        row["commonest_percent"] = round(held.commonest, 1) if held else float("nan")
        for word in ("read", "drawn"):
            taken = held.ablated if held and held.ablated else {word: np.nan, "before": np.nan}
            gap = np.subtract(taken[word], taken["before"])
            row[f"regret_without_{word}"] = round(float(np.mean(gap)), 3)
        folds = settings_of(cell.definition).folds
        rows.append(row | {"folds": folds, "layers_tried": len(told.layers) - 1})
    return rows


def _probe_notes(run: Run) -> list[str]:
    return [
        "the same probe with labels exchanged between episodes (shuffled; p: how often that does "
        "as well), on how often each move was made (history), on the embedding of the token, and "
        "on a twin with random weights. What an untrained twin also gives, the prompt already "
        "contains: only an exchange shows what is used. Regret without: what taking the probe's "
        "directions out of the state adds per step, and as many drawn ones; in payoff units"
    ]


def swap_rows(run: Run) -> Rows:
    """Return a row per question, position, layer and what was put in, of every cell."""
    return [
        dict(cell.columns)
        | {"question": key[0], "position": key[1], "layer": key[2], "put_in": key[3]}
        | flat_share("follows_percent", share)
        | {"pairs": share.items}
        for cell in cells_of(run)
        for key, share in shares(found(cell)).items()
    ]


def notes(run: Run) -> list[str]:
    """Say what the columns are, how exactly states were read, and what is left out and why."""
    said = [NOTE]
    for cell in matrix_cells(run):
        name = f"cell {cell.number}, {cell.title}"
        if why := why_not(cell):
            said.append(f"{name}: left out: {why}")
            continue
        told = found(cell)
        tried = ", ".join(
            f"{told.apart[form]} of {told.tried[form]} ({form})" for form in told.tried
        )
        tried = tried or "none tried"
        layers = "".join(
            f"; {_words(truth)}: layers chosen by fold {', '.join(str(n) for n, _ in held.chosen)}"
            for truth, held in told.held.items()
        )
        said.append(
            f"{name}: pairs with different answers {tried}; recorded log-probabilities were "
            f"reproduced within {told.off:.1g} nats{layers}"
        )
        said += [
            f"{name}: {_words(truth)} cannot be decoded: {_WHY_SAME[truth]}" for truth in told.same
        ]
    return said


def _swap_notes(run: Run) -> list[str]:
    return [
        "follows: share of pairs with different answers in which the exchange gives the other "
        "prompt's answer. twin: the state under the other partner's moves; random: one as far away "
        "in a random direction; third: that of a third episode, with another answer. moves: the "
        "partner's moves and what they paid; last: the token that the answer follows. At the "
        "highest layer the last token decides alone, and at layer 0 an exchange of moves is one of "
        "words: both check the exchange, and are no finding"
    ]


def _present(run: Run) -> bool:
    return bool(cells_of(run))


def _kept(run: Run) -> bool:
    """Tell whether all states were read: a report neither waits for a model nor needs one."""
    return all(kept(cell) for cell in cells_of(run))


_NEEDS = (
    "a local model (hf: or pocket) that answers by LM, QA or CoT, and at least ten complete "
    'episodes: docs/measures/internal.md, "What the model holds inside, and whether it uses it"'
)

TABLES = {
    "internal": Table(
        "says, does, holds, uses: what activations hold of the partner, and whether it is used",
        fixed(rows),
        _present,
        notes,
        reported=_kept,
        needs=_NEEDS,
    ),
    "internal_probe": Table(
        "what a probe of the state reads, beside controls, and what taking it out costs",
        fixed(probe_rows),
        _present,
        _probe_notes,
        reported=lambda run: False,
        needs=_NEEDS,
    ),
    "internal_use": Table(
        "states exchanged between episodes, by question, position and layer",
        fixed(swap_rows),
        _present,
        _swap_notes,
        reported=lambda run: False,
        needs=_NEEDS,
    ),
}
