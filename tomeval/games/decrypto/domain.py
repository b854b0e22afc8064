"""Decrypto as a domain: Alice gives hints that Bob must understand and Eve must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tomeval.games.answer import score_notes, verdict
from tomeval.games.decrypto.cells import DecryptoCell
from tomeval.games.decrypto.experiment import DecryptoExperiment
from tomeval.games.decrypto.measures import (
    BRIER_MEASURES,
    MEASURES,
    PLANTED_MEASURES,
    REPLAY_MEASURES,
    for_interceptor,
)
from tomeval.games.decrypto.results import (
    DecryptoRunCell,
    game_lines,
    gives_probabilities,
    has_beliefs,
)
from tomeval.games.decrypto.scripts import SCRIPTS
from tomeval.games.decrypto.seats import BELIEFS, ENCODER_QUESTIONS, NAMES, ROLES
from tomeval.games.decrypto.tables import TABLES, table_rows
from tomeval.games.decrypto.turns import SCHEMA, as_record, step_records
from tomeval.games.played import PlayedGame
from tomeval.games.players import worded
from tomeval.games.running import play_of
from tomeval.runs.capabilities import Worded, later
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import Table, always, never
from tomeval.runs.domain import Domain
from tomeval.runs.measures import Measure
from tomeval.runs.record import Record
from tomeval.runs.results import Run

TEAM, STRATEGY = "team", "strategy"

_DESCRIBED = "tomeval.games.decrypto.described"

_BELIEVED = 'strategies with belief(...) for Alice: docs/measures/planted.md, "Planted beliefs"'


def _probed(questions: Sequence[str], run: Run) -> bool:
    """Return whether any of some literal questions is asked."""
    return any(told["probes"].get(name) for _, told in run.store.cells() for name in questions)


_ABOUT = {
    "outcomes": "how games ended, by players",
    "perspective": "what encoders expect of the other seats, and how often that is right",
    "beliefs": "what interceptors believe the keywords are, and how often that is right",
    "functional": "what hints were worth, and what better ones would have been",
    "planted": "planted beliefs: use, compliance and what hints were worth",
    "turns": "predictions and outcomes by turn",
    "replay": "how guesses at recorded games agree with the record",
}
_NEEDS: dict[str, tuple[str, Callable[[Run], bool]]] = {
    "perspective": ("probes of Alice: eve, eve_reminded, bob", partial(_probed, ENCODER_QUESTIONS)),
    "beliefs": ("probes of Eve: beliefs, beliefs_in_view", partial(_probed, tuple(BELIEFS))),
    "planted": (_BELIEVED, lambda run: has_beliefs(run.store)),
}
_TABLES = {
    name: Table(
        _ABOUT[name],
        partial(table_rows, name),
        present=_NEEDS[name][1] if name in _NEEDS else always,
        reported=always if name == "planted" else never,
        needs=_NEEDS[name][0] if name in _NEEDS else "",
    )
    for name in TABLES
}


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    return {role: definition["players"][role]["name"] for role in ROLES}


def _measured(run: Run) -> Mapping[str, Measure]:
    """Return the measures, those of replays only if a record is replayed."""
    replayed = any(definition["records"] for _, definition in run.store.cells())
    of_replays = {f"{name}_percent" for name in REPLAY_MEASURES}
    left_out = set() if replayed else of_replays
    if not has_beliefs(run.store):
        left_out |= {*PLANTED_MEASURES}
    if not gives_probabilities(run.store):
        left_out |= {*BRIER_MEASURES}
    return {n: m for n, m in MEASURES.items() if n not in left_out}


def _side(measure: Measure, by: str) -> Measure:
    """Return a measure from the side of Alice and Bob, or of the interceptors compared."""
    return for_interceptor(measure) if by == "interceptor" else measure


def _level(cell: RunCell, by: str) -> str:
    """Return who sits in a seat, or Alice and Bob together; or how models are asked."""
    if by == STRATEGY:
        return cell.prompted[STRATEGY] or cell.name
    if by == TEAM:
        return f"{cell.columns['encoder']} + {cell.columns['decoder']}"
    return str(cell.columns[by])


def _task_of(cell: RunCell, by: str) -> dict[str, Any]:
    """Return the other seats, and what games are played with.

    Where strategies are compared, a seat is that of its model, whatever its player is called.
    """
    if by == STRATEGY:
        return {**cell.task, **cell.models}
    gone = ("encoder", "decoder") if by == TEAM else (by,)
    return {name: value for name, value in cell.task.items() if name not in gone}


def _words(task: Mapping[str, Any]) -> str:
    """Return who else plays, such as "Bob minilm, Eve wordnet"."""
    return ", ".join(f"{NAMES[seat]} {name}" for seat, name in task.items() if seat in NAMES)


def _worded(cell: RunCell) -> Worded | None:
    """Return how Alice is asked."""
    return worded(cell.definition["players"]["encoder"])


def _record(cell: DecryptoCell, game: PlayedGame) -> Record:
    deal, record, rules = cell.deal(game.index)
    return as_record(game, deal, rules, record)


DECRYPTO = Domain(
    name="decrypto",
    title="the word game of hints and codes, with a team and an interceptor",
    experiment=DecryptoExperiment,
    measures=MEASURES,
    **play_of(_record),
    schema=SCHEMA,
    columns=_columns,
    run_cell=DecryptoRunCell,
    step_records=step_records,
    measured=_measured,
    headline=(
        "delta_functional_per_turn",
        "tom_eve_percent",
        "interception_percent",
        "miscommunication_percent",
    ),
    lines=game_lines,
    tables=_TABLES,
    figures={"plane": "tomeval.games.plane:plane"},
    verdict=verdict(
        (
            *("tom_eve_percent", "delta_functional_per_turn"),
            *("interception_percent", "miscommunication_percent"),
        ),
        ("miscommunication_percent", "interception_percent", "tom_eve_percent"),
    ),
    facts=later(f"{_DESCRIBED}:run_facts"),
    table_notes=lambda run, names: score_notes(run),
    by=(*ROLES, TEAM, STRATEGY),
    task=("decoder", "interceptor", "encoder", "rules", "words", "records", "on_invalid"),
    unit="deal",
    shares_draws=("rules", "words", "records"),
    task_words=_words,
    level=_level,
    side=_side,
    task_of=_task_of,
    worded=_worded,
    questions=later(f"{_DESCRIBED}:episodes"),
    example=later(f"{_DESCRIBED}:example_cell"),
    lists={
        "players": f"{_DESCRIBED}:listed_players",
        "embeddings": f"{_DESCRIBED}:listed_embeddings",
    },
    scripts=SCRIPTS,
)
