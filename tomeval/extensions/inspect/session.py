"""One eval: its model, how an episode is played in it, and which samples are still needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.model import Model, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.util import EarlyStop, LimitExceededError, span

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.extensions.inspect import replies, scored
from tomeval.extensions.inspect.importing import KEPT
from tomeval.extensions.inspect.model import InspectModel
from tomeval.models.base import BackendError
from tomeval.runs.allocation import Allocation
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import begin_or_resume
from tomeval.runs.schedule import without
from tomeval.runs.store import Store

NO_MODEL = "none/none"
"""The name that inspect_ai gives to a missing model."""

_OURS: tuple[str, ...] = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "stop_seqs",
    "system_message",
)
_OURS += ("frequency_penalty", "presence_penalty", "logit_bias", "num_choices", "best_of")
_OURS += ("response_schema", "fallback_models")


def check_model() -> None:
    """Refuse to play without a model, where it is known already."""
    try:
        name = str(get_model())
    except ValueError:  # none was named yet: the task is made in Python
        return
    if name == NO_MODEL:
        raise TomevalError("tomeval's tasks need a chat model: name one with --model")


def rows_of(score: Score) -> Block | None:
    """Return the rows that an episode was scored by; None if it was not."""
    rows = (score.metadata or {}).get("rows")
    return None if rows is None else scored.unpacked(rows)


class _EvalModel(InspectModel):
    """The model of an eval, with inspect_ai's own settings of caches, retries and limits."""

    _caching: Mapping[str, Any] = {}

    def __init__(self, model: Model, scores: bool) -> None:
        self._given = model
        super().__init__(f"inspect:{model}", scores=scores)

    def _open(self) -> Any:
        return self._given

    def _explained(self, error: Exception) -> Exception:
        return error if isinstance(error, LimitExceededError) else super()._explained(error)


@dataclass
class _Eval:
    experiment: Experiment
    model: _EvalModel
    halting: Halting | None


class Session:
    """The evals of a task, one for each model; tells inspect_ai, as `EarlyStopping`, what to skip.

    Parameters
    ----------
    data : dict
        The experiment, raw and without a model.
    places : mapping
        Cell and episode of every sample, in the order of the samples.
    """

    def __init__(self, data: dict[str, Any], places: Mapping[Any, Mapping[str, Any]]) -> None:
        self.data, self._places = data, places
        self._evals: dict[str, _Eval] = {}

    @property
    def _mine(self) -> _Eval:
        return self._evals[str(get_model())]

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """Check the eval's settings, and test the model as a run does."""
        check_model()
        model = get_model()
        told = model.config.merge(active_generate_config())
        set_there = [name for name in _OURS if getattr(told, name, None) is not None]
        if set_there:
            raise TomevalError(
                f"{', '.join(set_there)}: is set for the model, but tomeval's tasks set it; for "
                "temperature use -T temperature=..."
            )
        if epochs > 1:
            raise TomevalError("epochs: an episode is played once; raise -T episodes=...")
        experiment = replies.experiment_of(self.data, f"inspect:{model}")
        if experiment.until and [sample.id for sample in samples] != list(self._places):
            raise TomevalError("until cannot be combined with --limit, --sample-id or shuffling")
        asked = _EvalModel(model, any(cell.scores for cell in experiment.cells))
        await asked.start()
        halting = Halting(experiment) if experiment.until else None
        self._evals[str(model)] = _Eval(experiment, asked, halting)
        return KEPT

    async def play(self, number: int, turn: int) -> tuple[Block, replies.Kept]:
        """Play one episode of a cell; each question and its replies stand under its name."""
        mine = self._mine
        try:
            played = await replies.play(mine.experiment, number, turn, mine.model, span)
            if played[0].episodes[0][1] == FAILED:
                said = [text for _, text in played[1]["errors"].values()]
                raise BackendError("; ".join(said) or "the model gave no reply")
        except BaseException:
            if mine.halting:
                mine.halting.lost(number)
            raise
        return played

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Wait until it is known whether the sample is needed."""
        if (halting := self._mine.halting) is None:
            return None
        place = self._places[id]
        why = await halting.needless(place["cell"], place["episode"])
        return EarlyStop(id=id, epoch=epoch, reason=why) if why else None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        """Record a finished sample."""
        if halting := self._mine.halting:
            for one in scores.values():
                halting.take(self._places[id]["cell"], rows_of(one.score))

    async def complete_task(self) -> dict[str, Any]:
        """Return what a run keeps of the condition."""
        halting = self._mine.halting
        return halting.close() if halting else {}


_LOST = "waits for episodes of its cell that were lost; inspect eval-retry plays them"


class Halting:
    """Looks at the episodes as a run with the condition does: when a batch is complete.

    An episode that may turn out needless waits. Episodes are begun in the order of their numbers,
    so those that it waits for are under way.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment, self._cells = experiment, experiment.cells
        self._folder = TemporaryDirectory(prefix="tomeval-")
        path = Path(self._folder.name)
        self._store = Store(path, get_domain(experiment.domain))
        begin_or_resume(self._store, path, experiment.identity(), experiment.per_cell)
        self._allocation = Allocation(experiment, self._store)
        self._lost: set[int] = set()
        self._changed = asyncio.Event()

    async def needless(self, number: int, episode: int) -> str:
        """Return why an episode is not played, once that is known; empty: it is."""
        while True:
            if episode < self._allocation.episodes[number]:
                return ""
            stopped = self._store.until()["cells"].get(str(number), {}).get("stopped", "")
            if stopped or self._lost:
                return str(stopped or _LOST)
            await self._changed.wait()

    def take(self, number: int, block: Block | None) -> None:
        """Take an episode that is over, and look if that completes a batch."""
        if block is None or block.episodes[0][1] == FAILED:
            self.lost(number)
            return
        self._store.add(number, block)
        while self._whole() and self._allocation.look([True] * len(self._cells)):
            pass
        self._wake()

    def lost(self, number: int) -> None:
        """Record a lost episode; its batch will not complete."""
        self._lost.add(number)
        self._wake()

    def close(self) -> dict[str, Any]:
        """Return what a run keeps of its condition."""
        said = dict(self._store.until())
        self._store.close()
        self._folder.cleanup()
        return said

    def _whole(self) -> bool:
        """Tell whether every cell holds the episodes that it was given."""
        return not any(
            len(without(self._wanted(number), self._store.finished_of(number)))
            for number in range(len(self._cells))
        )

    def _wanted(self, number: int) -> Any:
        cell = self._cells[number]
        return range(cell.wanted(self._allocation.episodes[number]))

    def _wake(self) -> None:
        """Let those who wait look again."""
        before, self._changed = self._changed, asyncio.Event()
        before.set()
