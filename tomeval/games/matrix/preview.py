"""What a model would read: an episode of matrix games against a partner that plays along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.games.matrix.steps import DRAW
from tomeval.play.engines import run_loop
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.recording import Overheard, record


def episodes(cell: MatrixCell, seat: str, note: str = "") -> list[list[Overheard]]:
    """Return what a seat is asked in an episode, see `Describe.episodes`."""
    return [asked(cell.seen_from(seat), note)]


def asked(setup: Setup, note: str = "") -> list[Overheard]:
    """Return what a subject that is a model is asked in its first episode; `note` as for `record`.

    In place of a player in the partner's seat one plays that takes its actions in turn.
    """
    if not isinstance(setup.partners, PartnerSet):
        setup = replace(setup, partners=_in_turn(setup))
    return record(partial(play_episode_async, setup, 0), run_loop, note)


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> MatrixCell:
    """Return the cell that ``tomeval prompt`` shows where no experiment is named.

    `settings` may hold ``game``, ``labels``, ``partners``, ``horizon`` and options of
    `tomeval.games.matrix.subjects.LLMSubject`; ``form`` "react" asks the conditional probe,
    "draw" the literal question again.
    """
    data: dict[str, Any] = dict(settings)
    keys = {key: data.pop(key) for key in ("labels", "partners", "horizon") if data.get(key)}
    data.pop("labels", None)
    form = data.pop("form", "")
    if form == "react":
        data["conditional"] = True
    if form == DRAW:
        data.setdefault("draws", 2)
    game = data.pop("game", None) or "RPS"
    keys.setdefault("partners", "tit_for_tat")
    # A prompt is shown and none is asked, so it needs no model; its text does not depend on one.
    subject = {"kind": "llm", "strategy": strategy, "model": "pocket", **data}
    data = {"domain": "matrix", "games": [game], "subjects": [subject], **keys}
    [cell] = make_experiment(data, where="prompt").cells
    assert isinstance(cell, MatrixCell)
    return cell


def _in_turn(setup: Setup) -> PartnerSet:
    """Return a partner that takes its actions in turn."""
    turns = np.arange(setup.game.m)
    after = np.broadcast_to(
        ((turns + 1) % len(turns))[:, None, None], (len(turns), setup.game.n, len(turns))
    )
    return PartnerSet("in turn", (Partner("in turn", np.eye(len(turns)), after),))
