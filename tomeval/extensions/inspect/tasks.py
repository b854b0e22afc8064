"""Tasks of inspect_ai: a sample is an episode, which tomeval's own engine plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import EarlyStop
from rich.markup import escape

from tomeval import __version__
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import FAILED
from tomeval.core.resources import read_toml, shipped_path
from tomeval.extensions.inspect import InspectModel
from tomeval.extensions.inspect import episodes as episodes_
from tomeval.extensions.inspect.episodes import KEPT
from tomeval.models.base import BackendError
from tomeval.runs.domain import cell_names, get_domain
from tomeval.runs.experiment import Experiment

Names = str | list[str]

NO_MODEL = "none/none"
"""The name that inspect_ai gives to a missing model."""

_OURS = (
    *("temperature", "top_p", "top_k", "max_tokens", "seed", "stop_seqs", "system_message"),
    *("frequency_penalty", "presence_penalty", "logit_bias", "num_choices", "best_of"),
    *("response_schema", "fallback_models"),
)


class Session:
    """The models of a task's evals, tested before the first sample as those of a run are.

    inspect_ai tells of that moment only who can stop samples early; this one stops none.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.models: dict[str, InspectModel] = {}

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """Check the eval's settings, and test the model."""
        model = get_model()
        if str(model) == NO_MODEL:
            raise TomevalError("tomeval's tasks need a chat model: name one with --model")
        config = model.config.merge(active_generate_config())
        set_there = [name for name in _OURS if getattr(config, name, None) is not None]
        if set_there:
            raise TomevalError(
                f"{', '.join(set_there)}: is set for the model, but tomeval's tasks set it; for "
                "temperature use -T temperature=..."
            )
        if epochs > 1:
            raise TomevalError("epochs: an episode is played once; raise -T episodes=...")
        experiment = episodes_.experiment_of(self.data, f"inspect:{model}")
        scores = any(cell.scores for cell in experiment.cells)
        asked = InspectModel(f"inspect:{model}", scores=scores, given=model)
        self.models[str(model)] = asked
        await asked.start()
        return KEPT

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Play every sample."""
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        """Keep nothing."""

    async def complete_task(self) -> dict[str, Any]:
        """Display nothing."""
        return {}


@task
def repeated_games(
    games: Names = ["RPS", "IBS", "IPD"],  # noqa: B006 (inspect_ai shows it)
    partners: Names = ["single_action", "tit_for_tat"],  # noqa: B006
    strategies: Names = "QA",
    horizon: int = 20,
    episodes: int = 15,
    seed: int = 1,
    temperature: float | None = None,
    **rest: Any,
) -> Task:
    """Repeated matrix games: regret per step against known partners, and predictions of them.

    The parameters are the keys of experiments of matrix games, see docs/runs.md.
    """
    _check_names(repeated_games, rest)
    more = {} if temperature is None else {"temperature": temperature}
    data = {
        "domain": "matrix",
        "games": _listed(games),
        "partners": _listed(partners),
        "subjects": [{"name": s, "strategy": s, **more} for s in _listed(strategies)],
        **{"horizon": horizon, "episodes": episodes, "seed": seed},
    }
    return _task("repeated_games", data)


@task
def decrypto(
    partners: Names = "minilm",
    strategies: Names = "CoT",
    horizon: int = 8,
    episodes: int = 32,
    seed: int = 1,
    temperature: float = 0.6,
    **rest: Any,
) -> Task:
    """Decrypto: the model gives hints to a known partner, and listens in on a known team.

    `partners` are embeddings, which play the other seats; a game has at most `horizon` turns.
    """
    _check_names(decrypto, rest)
    players = {s: {"strategy": s} for s in _listed(strategies)}
    others = {name: {"embedding": name, "matching": "greedy"} for name in _listed(partners)}
    seats = ("encoder", "decoder", "interceptor")
    data = {
        "domain": "decrypto",
        "players": {**players, **others},
        "pairings": [
            {seat: list(players) if seat == mine else [name] for seat in seats}
            for name in others
            for mine in ("encoder", "interceptor")
        ],
        "rules": {"turns": horizon},
        "probes": {"eve": True, "bob": True},
        "best_turn": True,
        **{"temperature": temperature, "episodes": episodes, "seed": seed},
    }
    return _task("decrypto", data)


@task
def arena_reference(
    games: Names | None = None,
    strategies: str = "QA",
    episodes: int | None = None,
    temperature: float | None = None,
    **rest: Any,
) -> Task:
    """Play a newcomer against the frozen pool of the experiment ``arena_reference``.

    Who meets whom in how many games is fixed, so that ratings hold; `games` plays only some of its
    games, and `episodes` only so many of every line-up.
    """
    _check_names(arena_reference, rest)
    data = read_toml(shipped_path("arena_reference")) | {"strategy": strategies}
    data |= {} if temperature is None else {"temperature": temperature}
    chosen = list(data["games"]) if games is None else _listed(games)
    for name in chosen:
        if name not in data["games"]:
            wrong = unknown("game", name, data["games"], "arena_reference")
            raise PrerequisiteError(escape(str(wrong)))
    return _task("arena_reference", data, games=chosen, limit=episodes)


def _check_names(task: Callable[..., Task], rest: Mapping[str, Any]) -> None:
    """Refuse parameters that a task has not; inspect_ai would play without them."""
    known = [name for name in signature(task).parameters if name != "rest"]
    for name in rest:
        raise PrerequisiteError(escape(str(unknown("parameter", name, known, task.__name__))))


def _listed(names: Any) -> list[Any]:
    return list(names) if isinstance(names, list | tuple) else [names]


def _task(
    name: str, data: dict[str, Any], games: Sequence[str] = (), limit: int | None = None
) -> Task:
    """Return the task of an experiment, given as raw data without a model."""
    data["name"] = name
    try:
        dataset = _samples(episodes_.experiment_of(data, f"inspect:{NO_MODEL}"), games, limit)
    except TomevalError as error:
        raise PrerequisiteError(escape(str(error))) from None
    session = Session(data)
    return Task(
        dataset=dataset,
        solver=engine(session),
        scorer=episode(data),
        metrics=[cells(data)],
        early_stopping=session,
        version=__version__,
        metadata={KEPT: {"version": __version__, "experiment": data}},
    )


def _samples(experiment: Experiment, games: Sequence[str], limit: int | None) -> MemoryDataset:
    """Return the episodes, in turns over the cells."""
    domain = get_domain(experiment.domain)
    rows = [domain.columns(cell.definition) for cell in experiment.cells]
    names = cell_names(domain, [cell.definition | {"model": ""} for cell in experiment.cells])
    samples: list[tuple[int, int, Sample]] = []
    for number, cell in enumerate(experiment.cells):
        if games and rows[number].get("game") not in games:
            continue
        count = cell.wanted(experiment.per_cell)
        for turn in range(count if limit is None else min(count, limit)):
            about = {k: v for k, v in rows[number].items() if v != "" and k != "model"}
            text = ", ".join(f"{key}: {value}" for key, value in about.items())
            title = f"{names[number]}, episode {turn}".replace(", ", "; ")  # --sample-id splits
            place = {"cell": number, "episode": turn, **about}
            samples.append((turn, number, Sample(input=text, id=title, metadata=place)))
    ordered = sorted(samples, key=lambda entry: entry[:2])
    return MemoryDataset([sample for *_, sample in ordered], name=experiment.name)


@solver
def engine(session: Session) -> Solver:
    """Play the sample's episode with tomeval's engine: its prompts, reader, attempts, streams."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        number, turn = state.metadata["cell"], state.metadata["episode"]
        experiment = episodes_.experiment_of(session.data, f"inspect:{state.model}")
        model = session.models[str(state.model)]
        record = await episodes_.play(experiment, number, turn, model)
        if record.status == FAILED:
            raise BackendError(model.last_error or "no reply")
        rows = {"cell": number, "rows": episodes_.packed(record), "revision": model.revision}
        state.store.set(KEPT, rows | {"digest": episodes_.digest(experiment)})
        text = episodes_.measure(experiment, number, record).text
        state.messages = [*state.messages, ChatMessageAssistant(content=text)]
        return state

    return solve


@scorer(metrics=[])
def episode(data: dict[str, Any]) -> Scorer:
    """Score an episode from its rows, with the measures of its domain."""

    async def score(state: TaskState, target: Target) -> Score:
        kept = state.store.get(KEPT)
        if not kept:
            return Score(value=math.nan, explanation="the episode did not finish")
        experiment = episodes_.experiment_of(data, f"inspect:{state.model}")
        measured = episodes_.measure(experiment, kept["cell"], episodes_.unpacked(kept["rows"]))
        return Score(
            value=measured.values,
            answer=measured.status,
            explanation=f"{measured.status}: {measured.reason}" if measured.reason else None,
            metadata={"model": str(state.model), "cell": kept["cell"], "rows": kept["rows"]},
        )

    return score


@metric
def cells(data: dict[str, Any]) -> Metric:
    """Means over the complete episodes of every cell, with tomeval's 95 % intervals."""

    def estimated(scores: list[SampleScore]) -> Value:
        played, model = {}, NO_MODEL
        for about in (one.score.metadata or {} for one in scores):
            if "rows" in about:
                model, record = about["model"], episodes_.unpacked(about["rows"])
                played[about["cell"], record.episode] = record
        return episodes_.estimates(episodes_.experiment_of(data, f"inspect:{model}"), played)

    return estimated
