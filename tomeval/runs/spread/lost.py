"""Episodes that lost their replica again and again: they fail, as without a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tomeval.core.outcomes import FAILED
from tomeval.models.base import (
    BackendError,
    GenerateRequest,
    Model,
    Reply,
    ScoreRequest,
    Scores,
)
from tomeval.models.naming import known_name
from tomeval.models.remembering import RememberingModel
from tomeval.runs.calling import run_loop
from tomeval.runs.domain import Block, Cell
from tomeval.runs.engine import spec_key
from tomeval.runs.jobs import Job
from tomeval.runs.store import Store


class LostModel(Model):
    """A model that is gone; `name` and `revision` are those that it had, which decide hashes."""

    def __init__(self, name: str, revision: str, why: str) -> None:
        self.name, self.revision, self._why = name, revision, why
        self.asked = False

    async def generate(self, request: GenerateRequest) -> Reply:
        """Refuse."""
        self.asked = True
        raise BackendError(self._why)

    async def score(self, request: ScoreRequest) -> Scores:
        """Refuse."""
        self.asked = True
        raise BackendError(self._why)


def failed_block(store: Store, cell: Cell, job: Job, models: Mapping[str, LostModel]) -> Block:
    """Return an episode up to its last kept reply, with the domain's rows for one that failed.

    `models` has those of the cell by `spec_key`. It failed even if it lacks only the answer to a
    probe, without which domains call it complete; if all replies were kept, it is over.
    """
    seats: dict[str, Model] = {}
    for seat, spec in cell.models.items():
        model, kept = models[spec_key(spec)], store.kept_replies(*job, seat)
        name = known_name(spec, model.name)
        seats[seat] = RememberingModel(model, kept, lambda request, reply: None, name)
    block = run_loop(store.domain.play(cell, job[1], seats, lambda: None))
    if not any(model.asked for model in models.values()):
        return block
    return replace(block, episodes=[(row[0], FAILED, *row[2:]) for row in block.episodes])
