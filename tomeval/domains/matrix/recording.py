"""A log of matches as a run: definitions of cells and the rows of their episodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tomeval.core.errors import unknown
from tomeval.domains.matrix.experiment import game_data, labels_data, partners_data
from tomeval.domains.matrix.log_fields import UNKNOWN, Reading
from tomeval.domains.matrix.log_matches import LogCell, Match
from tomeval.domains.matrix.logs import read_log
from tomeval.domains.matrix.optima import REFERENCES
from tomeval.domains.matrix.steps import NONE
from tomeval.domains.matrix.storing import RECORDED
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.runner import Recorded, import_games

SEED = 0
"""The seed of recorded cells: they have none, and it has to be the same in all of them."""


def import_matches(
    path: Path, out: Path, reading: Reading, reference: str = "horizon"
) -> list[str]:
    """Make a run of the matches of a log in the folder `out`, which must not exist.

    `reference` is what ΔFunctional is measured from. Returns lines for the user: what was read, and
    what was left out.
    """
    domain = get_domain("matrix")
    return import_games(domain, lambda: _recorded(path, reading, reference), out).notes


def _recorded(path: Path, reading: Reading, reference: str) -> Recorded:
    """Read a log as cells with their episodes."""
    if reference not in REFERENCES:
        raise unknown("reference", reference, REFERENCES)
    log = read_log(path, reading)
    source = {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    same = {"seed": SEED, "reference": reference, "on_invalid": "void", "source": source}
    longest: dict[tuple[str, str], int] = {}
    cells = []
    for cell in log.cells:
        definition = _definition(cell, reading)
        task = (cell.game.name, definition["partners"]["name"])
        lengths = [len(match.steps) for match in cell.matches.values()]
        longest[task] = max(longest.get(task, 0), *lengths)
        cells.append((task, definition, _block(cell)))
    return Recorded(
        [(told | {"horizon": longest[task]} | same, block) for task, told, block in cells],
        log.notes(),
    )


def _definition(cell: LogCell, reading: Reading) -> dict[str, Any]:
    """Return what a cell is, complete enough to be measured again."""
    unknown_partner = {"name": UNKNOWN, "weights": [], "tables": []}
    definition: dict[str, Any] = {
        "subject": cell.subject,
        "kind": RECORDED,
        "model": "",
        "strategy": "",
        "templates": "",
        "options": {},
        "game": game_data(cell.game),
        "labels": labels_data(cell.game.label_set(reading.labels)),
        "partners": partners_data(cell.partners) if cell.partners else unknown_partner,
        "matches": list(cell.matches),
    }
    if cell.condition is not None:
        definition["condition"] = cell.condition
    for name, field in (("participants", "participant"), ("seeds", "seed")):
        texts = [getattr(match, field) for match in cell.matches.values()]
        if all(texts):
            definition[name] = texts
    return definition


def _block(cell: LogCell) -> Block:
    """Return the episodes of a cell as rows of the store."""
    episodes: list[tuple[Any, ...]] = []
    steps: list[tuple[Any, ...]] = []
    for episode, match in enumerate(cell.matches.values()):
        episodes.append((episode, match.status, len(match.steps), match.which))
        steps += _rows(cell, episode, match)
    return Block(episodes, steps)


def _rows(cell: LogCell, episode: int, match: Match) -> Iterator[tuple[Any, ...]]:
    """Yield the steps of a match, in the columns of `tomeval.domains.matrix.storing.SCHEMA`."""
    states = [NONE] * len(match.steps) if match.states is None else match.states.tolist()
    for number, (step, state) in enumerate(zip(match.steps, states, strict=True), 1):
        rewards: list[float | None] = [None, None]
        if step.own != NONE:
            rewards = cell.game.payoffs[step.own, step.partner].tolist()
        yield (
            *(episode, number, state),
            *(None if step.own == NONE else step.own, step.partner, *rewards),
            *(None if step.predicted == NONE else step.predicted, None, None),
            *(step.act, step.predict, 0, 0),  # a record does not say how often it was asked
            *(0, None, None, None),
        )
