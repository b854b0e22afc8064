"""Decrypto as a domain: Alice gives hints that Bob must understand and Eve must not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.games.answer import score_notes, verdict
from tomeval.games.cells import play_of
from tomeval.games.decrypto.experiment import DecryptoExperiment
from tomeval.games.decrypto.game import UNDECIDED
from tomeval.games.decrypto.measures import (
    BRIER_MEASURES,
    MEASURES,
    for_interceptor,
)
from tomeval.games.decrypto.results import (
    STRATEGY,
    TEAM,
    DecryptoRunCell,
    game_lines,
    gives_probabilities,
    replays,
)
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.decrypto.tables import TABLES
from tomeval.games.decrypto.turns import SCHEMA, as_record, step_records
from tomeval.runs.domain import Domain, later
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

_DESCRIBED = "tomeval.games.decrypto.described"


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    return {role: definition["players"][role]["name"] for role in ROLES}


def _measured(run: Run) -> Mapping[str, Measure]:
    """Return the measures, those of replays only if a record is replayed."""
    left_out = set() if replays(run.store) else {f"{UNDECIDED}_percent"}
    if not gives_probabilities(run.store):
        left_out |= {*BRIER_MEASURES}
    return {n: m for n, m in MEASURES.items() if n not in left_out}


def _side(measure: Measure, by: str) -> Measure:
    """Return a measure from the side of Alice and Bob, or of the interceptors compared."""
    return for_interceptor(measure) if by == "interceptor" else measure


def _words(task: Mapping[str, Any]) -> str:
    """Return who else plays, such as "Bob minilm, Eve wordnet"."""
    return ", ".join(f"{NAMES[seat]} {name}" for seat, name in task.items() if seat in NAMES)


DECRYPTO = Domain(
    name="decrypto",
    title="the word game of hints and codes, with a team and an interceptor",
    experiment=DecryptoExperiment,
    measures=MEASURES,
    **play_of(as_record),
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
    tables=TABLES,
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
    side=_side,
    questions=later("tomeval.games.sampled:episodes"),
    example=later(f"{_DESCRIBED}:example_cell"),
    lists={"players": f"{_DESCRIBED}:listed_players"},
)
