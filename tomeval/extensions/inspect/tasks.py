"""Tasks of inspect_ai: a sample is an episode, which tomeval's own engine plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter
from rich.markup import escape

from tomeval import __version__
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import experiment_path, read_toml
from tomeval.extensions.inspect import replies, scored
from tomeval.extensions.inspect.importing import KEPT
from tomeval.extensions.inspect.session import NO_MODEL, Session, check_model, rows_of
from tomeval.runs.domain import cell_names, get_domain
from tomeval.runs.experiment import Experiment

Names = str | list[str]


@task
def repeated_games(
    games: Names = ["RPS", "IBS", "IPD"],  # noqa: B006 (inspect_ai shows it)
    partners: Names = ["single_action", "tit_for_tat"],  # noqa: B006
    strategies: Names = "QA",
    horizon: int = 20,
    episodes: int = 15,
    seed: int = 1,
    temperature: float | None = None,
    until: str = "",
    max_episodes: int | None = None,
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
    return _task("repeated_games", data, until, max_episodes)


@task
def decrypto(
    partners: Names = "minilm",
    strategies: Names = "CoT",
    horizon: int = 8,
    episodes: int = 32,
    seed: int = 1,
    temperature: float = 0.6,
    until: str = "",
    max_episodes: int | None = None,
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
    return _task("decrypto", data, until, max_episodes)


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
    data = read_toml(experiment_path("arena_reference")) | {"strategy": strategies}
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
    name: str,
    data: dict[str, Any],
    until: str = "",
    max_episodes: int | None = None,
    games: Sequence[str] = (),
    limit: int | None = None,
) -> Task:
    """Return the task of an experiment, given as raw data without a model."""
    data["name"] = name
    data |= {"until": until} if until else {}
    data |= {} if max_episodes is None else {"max_episodes": max_episodes}
    try:
        check_model()
        dataset = _samples(replies.experiment_of(data, f"inspect:{NO_MODEL}"), games, limit)
    except TomevalError as error:
        raise PrerequisiteError(escape(str(error))) from None
    session = Session(data, {s.id: (s.metadata or {}) for s in dataset})
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
    """Return the episodes, in turns over the cells: a batch of all of them is begun together."""
    from tomeval.runs.allocation import most_episodes

    domain = get_domain(experiment.domain)
    planned = most_episodes(experiment) if experiment.until else experiment.per_cell
    rows = [domain.read.columns(cell.definition) for cell in experiment.cells]
    names = cell_names(domain, [cell.definition | {"model": ""} for cell in experiment.cells])
    samples: list[tuple[int, int, Sample]] = []
    for number, cell in enumerate(experiment.cells):
        if games and rows[number].get("game") not in games:
            continue
        count = cell.wanted(planned)
        for turn in range(count if limit is None else min(count, limit)):
            about = {k: v for k, v in rows[number].items() if v != "" and k != "model"}
            sample = Sample(
                input=", ".join(f"{key}: {value}" for key, value in about.items()),
                id=f"{names[number]}, episode {turn}".replace(
                    ", ", "; "
                ),  # --sample-id splits at commas
                metadata={"cell": number, "episode": turn, **about},
            )
            samples.append((turn, number, sample))
    ordered = sorted(samples, key=lambda entry: entry[:2])
    return MemoryDataset([sample for *_, sample in ordered], name=experiment.name)


@solver
def engine(session: Session) -> Solver:
    """Play the sample's episode with tomeval's engine: its prompts, reader, attempts, streams."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        number, turn = state.metadata["cell"], state.metadata["episode"]
        block, kept = await session.play(number, turn)
        state.store.set(KEPT, kept)
        experiment = replies.experiment_of(session.data, f"inspect:{state.model}")
        told = scored.measure(experiment, number, block).messages
        state.messages = TypeAdapter(list[ChatMessage]).validate_python(told)
        return state

    return solve


@scorer(metrics=[])
def episode(data: dict[str, Any]) -> Scorer:
    """Score an episode again from its replies, with the measures of its domain."""

    async def score(state: TaskState, target: Target) -> Score:
        kept = state.store.get(KEPT)
        if not kept:
            return Score(value=math.nan, explanation="the episode did not finish")
        experiment = replies.experiment_of(data, f"inspect:{state.model}")
        block = await replies.replay(experiment, kept)
        measured = scored.measure(experiment, kept["cell"], block)
        return Score(
            value=measured.values,
            answer=measured.status,
            explanation=measured.reason or None,
            metadata={
                "model": str(state.model),
                "cell": kept["cell"],
                "rows": scored.packed(block),
            },
        )

    return score


@metric
def cells(data: dict[str, Any]) -> Metric:
    """Means over the complete episodes of every cell, with tomeval's 95 % intervals."""

    def estimated(scores: list[SampleScore]) -> Value:
        blocks, model = {}, NO_MODEL
        for one in scores:
            if (block := rows_of(one.score)) is not None and one.score.metadata:
                model, cell = one.score.metadata["model"], one.score.metadata["cell"]
                blocks[cell, block.episodes[0][0]] = block
        experiment = replies.experiment_of(data, f"inspect:{model}")
        return scored.estimates(experiment, blocks)

    return estimated
