"""How much of the gap between literal and functional measure is due to the wording."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tomeval.comparing.sensitivity import place_words
from tomeval.comparing.sides import Runs, opened
from tomeval.comparing.wordings import Grid, read_panels
from tomeval.core.errors import TomevalError
from tomeval.runs.domain import Domain
from tomeval.statistics.choosing import Chosen, choose_least

EVERY = "all together"


@dataclass(frozen=True, eq=False)
class WordingGap:
    """The gap of one player, or of all with one wording for all, under all wordings and the best.

    `best` is the wording of the least gap, in words.
    """

    laid: Grid
    player: str
    chosen: Chosen
    best: str


def literal_functional_names(domain: Domain) -> tuple[str, str]:
    """Return the measures whose difference is the gap: functional, and belief.

    Raises
    ------
    TomevalError
        The domain's functional measure has no such part.
    """
    if domain.compare.parts is None or "belief" not in domain.compare.parts.part:
        raise TomevalError(
            f"domain {domain.name!r}: its functional measure has no part that belief costs, so "
            "there is no literal-functional gap"
        )
    return domain.compare.parts.whole, domain.compare.parts.part["belief"]


def wording_gap(runs: Runs, reference: str | None = None) -> tuple[list[WordingGap], list[str]]:
    """Return which share of the literal-functional gap disappears under the best wording.

    The gap of an episode is its functional regret less what acting on its own predictions would
    have cost: knowing without using. The share explained is how much smaller its mean is under the
    best of the swept wordings than over all of them, each the same, by
    `tomeval.statistics.choosing.choose_least`. It is not the share of the gap's *variance* that
    lies between wordings (`sensitivity` has that): a gap that is the same under every wording but
    for a hundredth has all of its variance there, and none of its size.

    Raises
    ------
    TomevalError
        The wording varies nowhere, or the domain has no such gap.
    """
    with opened(runs) as listed:
        domain = listed[0].domain
        names = literal_functional_names(domain)
        panels, _ = read_panels(listed, names, reference)
        found: list[WordingGap] = []
        notes: list[str] = []
        for panel in panels:
            where = place_words(domain, panel.model, panel.task)
            try:
                laid = panel.grid(0, names[0])
                belief = panel.grid(1, names[1])
            except TomevalError as error:
                notes.append(f"{where}: {error}")
                continue
            notes += [f"{where}: {note}" for note in laid.notes]
            if belief.values.shape != laid.values.shape:
                notes.append(f"{where}: predictions are missing in some cells: no gap")
                continue
            found += _of(replace(laid, values=laid.values - belief.values))
    if not found:
        raise TomevalError("; ".join(dict.fromkeys(notes)))
    for one in found:
        if one.chosen.reason:
            where = place_words(domain, one.laid.model, one.laid.task)
            notes.append(f"{where}, {one.player}, gap: {one.chosen.reason}")
    return found, list(dict.fromkeys(notes))


def _of(laid: Grid) -> list[WordingGap]:
    """Return the players of a grid, and all of them together."""
    values = laid.by_wording()
    rows = dict(zip(laid.players, values, strict=True))
    if len(rows) > 1:
        missing = np.isnan(values).any(axis=0)
        rows[EVERY] = np.where(missing, np.nan, np.nan_to_num(values).mean(axis=0))
    found = []
    for player, mine in rows.items():
        need = 1 if laid.exact else 2
        if np.isfinite(mine).sum(axis=1).min() < need:
            continue  # no two episodes that all players have
        chosen = choose_least(mine, laid.exact)
        found.append(WordingGap(laid, player, chosen, laid.wordings[chosen.best]))
    return found
