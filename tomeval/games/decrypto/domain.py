"""Decrypto as a domain: Alice gives hints that Bob must understand and Eve must not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tomeval.games.answer import score_notes, verdict
from tomeval.games.cells import play_of
from tomeval.games.decrypto.experiment import DecryptoExperiment
from tomeval.games.decrypto.game import UNDECIDED
from tomeval.games.decrypto.measures import (
    BELIEF_MEASURES,
    BRIER_MEASURES,
    FOR_EVE,
    MEASURES,
)
from tomeval.games.decrypto.results import (
    STRATEGY,
    TEAM,
    DecryptoRunCell,
    gives_probabilities,
    replays,
)
from tomeval.games.decrypto.seats import NAMES, ROLES
from tomeval.games.decrypto.tables import TABLES
from tomeval.games.decrypto.turns import SCHEMA, as_record
from tomeval.runs.domain import Domain, later
from tomeval.runs.measures import Measure

_DESCRIBED = "tomeval.games.decrypto.described"


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    return {role: definition["players"][role]["name"] for role in ROLES}


def _complete(measure: Measure) -> Measure:
    """Return a measure with the runs that have it, and its side where interceptors are compared."""
    some = {f"{UNDECIDED}_percent": replays} | dict.fromkeys(BRIER_MEASURES, gives_probabilities)
    kept = measure.name.removesuffix("_percent") in BELIEF_MEASURES
    eve = measure.better if kept else FOR_EVE.get(measure.name, 0)
    present = some.get(measure.name, measure.present)
    return replace(measure, present=present, better_by={"interceptor": eve})


def _words(task: Mapping[str, Any]) -> str:
    """Return who else plays, such as "Bob minilm, Eve wordnet"."""
    return ", ".join(f"{NAMES[seat]} {name}" for seat, name in task.items() if seat in NAMES)


DECRYPTO = Domain(
    name="decrypto",
    title="the word game of hints and codes, with a team and an interceptor",
    experiment=DecryptoExperiment,
    measures={name: _complete(measure) for name, measure in MEASURES.items()},
    **play_of(as_record),
    schema=SCHEMA,
    columns=_columns,
    run_cell=DecryptoRunCell,
    headline=(
        "delta_functional_per_turn",
        "tom_eve_percent",
        "interception_percent",
        "miscommunication_percent",
    ),
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
    questions=later("tomeval.games.sampled:episodes"),
    example=later(f"{_DESCRIBED}:example_cell"),
    lists={"players": f"{_DESCRIBED}:listed_players"},
)
