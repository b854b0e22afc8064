"""Episodes whose replies are kept with them: played, and played again; needs no inspect_ai.

What is kept of an episode (`Kept`) is its cell, its number and the replies. The rows follow from
these, so a log holds none that would have to be believed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import cache
from typing import Any, TypedDict

from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect import stored
from tomeval.models.base import (
    BackendError,
    Capabilities,
    GenerateRequest,
    Model,
    Reply,
    ScoreRequest,
    Scores,
    Unlisted,
)
from tomeval.models.batching import RememberingModel, request_hash
from tomeval.runs.domain import Block, Cell, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.strategies.asking import overhearing


class Kept(TypedDict):
    """What is kept of an episode, JSON-ready.

    `definition` is a hash of the cell's; `model` says what it could do, which decides what it was
    asked; `replies` are those to a seat, by request, and `errors` what was said where none came.
    """

    cell: int
    episode: int
    definition: str
    model: dict[str, Any]
    replies: dict[str, dict[str, str]]
    errors: dict[str, list[str]]


@cache
def _experiment(text: str, model: str) -> Experiment:
    data = json.loads(text)
    get_domain(data["domain"]).experiment.use_model(data, model)
    return make_experiment(data, where=str(data["name"]))


def experiment_of(data: Mapping[str, Any], model: str) -> Experiment:
    """Return an experiment by its raw data, with one model in place of all that it names."""
    return _experiment(json.dumps(data), model)


def definition_of(experiment: Experiment, number: int) -> dict[str, Any]:
    """Return what a run's cell says of itself."""
    definition: dict[str, Any] = experiment.identity()["cells"][number]
    return definition


Naming = Callable[[str], AbstractAsyncContextManager[Any]]
"""Opens what a question and its replies stand under, by its name."""


@asynccontextmanager
async def _unnamed(name: str) -> AsyncIterator[None]:
    yield


async def play(
    experiment: Experiment, number: int, episode: int, model: Model, naming: Naming = _unnamed
) -> tuple[Block, Kept]:
    """Play one episode of a cell, every language model in it being `model`."""
    cell = experiment.cells[number]
    can = {"generate": model.capabilities.generate, "score": model.capabilities.score}
    kept = Kept(
        cell=number,
        episode=episode,
        definition=stored.digest(definition_of(experiment, number)),
        model=can | {"seeded": model.capabilities.seeded, "revision": model.revision},
        replies={seat: {} for seat in cell.models},
        errors={},
    )
    with overhearing() as heard:

        def named(request: GenerateRequest | ScoreRequest) -> str:
            said = (one for one in reversed(heard) if one.prompt is request.prompt)
            return next((f"step {one.step}: {one.purpose}" for one in said), "question")

        lines = {
            seat: _Line(model, kept["replies"][seat], kept["errors"], lambda r: naming(named(r)))
            for seat in cell.models
        }
        block = await _block(experiment, cell, episode, lines)
    return block, kept


async def replay(experiment: Experiment, kept: Kept) -> Block:
    """Play an episode again from its replies, without a model.

    Raises
    ------
    TomevalError
        It is of another cell, or its replies are not those that its questions lead to.
    """
    number = kept["cell"]
    if kept["definition"] != stored.digest(definition_of(experiment, number)):
        raise TomevalError("was played with games, partners or prompts other than those named")
    cell, name = experiment.cells[number], experiment.cells[number].models
    lines = {
        seat: RememberingModel(
            _Nobody(str(name[seat]), kept["model"], kept["errors"]),
            kept["replies"].get(seat, {}),
            lambda request, reply: None,
        )
        for seat in cell.models
    }
    return await _block(experiment, cell, kept["episode"], lines)


async def _block(
    experiment: Experiment, cell: Cell, episode: int, lines: Mapping[str, Model]
) -> Block:
    block = await get_domain(experiment.domain).play.episode(cell, episode, lines, lambda: None)
    block.steps = list(block.steps)  # which may be read once only
    return block


class _Line(RememberingModel):
    """A seat's line to the model, which keeps each question's name and replies."""

    def __init__(
        self,
        model: Model,
        replies: dict[str, str],
        errors: dict[str, list[str]],
        naming: Callable[[Any], AbstractAsyncContextManager[Any]],
    ) -> None:
        super().__init__(model, {}, replies.__setitem__)
        self._errors, self._naming = errors, naming

    async def generate(self, request: GenerateRequest) -> Reply:
        """Ask, under the question's name."""
        with self._noting(request):
            async with self._naming(request):
                return await super().generate(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Ask, under the question's name."""
        with self._noting(request):
            async with self._naming(request):
                return await super().score(request)

    @contextmanager
    def _noting(self, request: GenerateRequest | ScoreRequest) -> Iterator[None]:
        try:
            yield
        except BackendError as error:
            key = request_hash(self.name, self.revision, request)
            self._errors[key] = [type(error).__name__, str(error)]
            raise


class _Nobody(Model):
    """In place of a model that was asked before: knows what failed, and answers nothing else."""

    def __init__(
        self, name: str, about: Mapping[str, Any], errors: Mapping[str, list[str]]
    ) -> None:
        self.name, self._errors = name, errors
        said = dict(about)
        self.revision = str(said.pop("revision"))
        self.capabilities = Capabilities(**said)

    async def generate(self, request: GenerateRequest) -> Reply:
        """Raise what was raised then."""
        raise self._error(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Raise what was raised then."""
        raise self._error(request)

    def _error(self, request: GenerateRequest | ScoreRequest) -> Exception:
        said = self._errors.get(request_hash(self.name, self.revision, request))
        if said is None:
            return TomevalError("lacks the reply to a question that its other replies lead to")
        return (Unlisted if said[0] == Unlisted.__name__ else BackendError)(said[1])
