"""Decrypto as a domain: Alice gives hints that Bob must understand and Eve must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from tomeval.core.errors import unknown
from tomeval.domains.decrypto.described import described_keys
from tomeval.domains.decrypto.experiment import DecryptoCell, DecryptoExperiment
from tomeval.domains.decrypto.facts import run_facts
from tomeval.domains.decrypto.measures import (
    MEASURES,
    PLANTED_MEASURES,
    REPLAY_MEASURES,
    for_interceptor,
)
from tomeval.domains.decrypto.players import listed_players
from tomeval.domains.decrypto.preview import example_cell, forms_of, prompts_of_turns
from tomeval.domains.decrypto.results import DecryptoRunCell, has_beliefs
from tomeval.domains.decrypto.scripts import SCRIPTS
from tomeval.domains.decrypto.seating import play_batch, play_one, plays_in_batch
from tomeval.domains.decrypto.seats import NAMES, ROLES
from tomeval.domains.decrypto.storing import SCHEMA, as_block
from tomeval.domains.decrypto.tables import TABLES, table_rows
from tomeval.domains.decrypto.transcripts import game_lines
from tomeval.lexicon.embeddings import SHIPPED
from tomeval.models.base import Model, Prompt
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import Block, Doing, Domain, Facts, Line, Parts, Score, Worded
from tomeval.runs.measures import FloatArray, Measure
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.runs.tables import Table, always, never
from tomeval.strategies.wording import WITH_MEMORY, split_wording

GAMES_PER_CHUNK = 1000
"""Games of embedding players that are played and stored together."""

TEAM = "team"

_BELIEVED = 'strategies with belief(...) for Alice: docs/measures.md, "Planted beliefs"'


def _survived(cell: RunCell) -> FloatArray:
    return cell.totals("survived_percent").values / 100


def _lasted(cell: RunCell) -> FloatArray:
    return cell.totals("turns_per_game").values / float(cell.definition["rules"]["turns"])


def _has_length(cell: RunCell) -> bool:
    """Tell whether games have a length of their own, which replays have not."""
    return not cell.definition["records"]


def _decided(cell: RunCell) -> bool:
    """Tell whether every game has an outcome; without those that have none, few games look lost."""
    return None not in cell.played.outcomes


def _has_beliefs(run: Run) -> bool:
    return has_beliefs(run.store)


def _has_levels(store: Store) -> bool:
    """Tell whether a run asks for levels of recursion, or has players that reason to one."""
    return any(
        "levels" in definition
        or any(player.get("kind") == "rsa" for player in definition["players"].values())
        for _, definition in store.cells()
    )


_ABOUT = {
    "outcomes": "how games ended, by who played",
    "perspective": "what encoders expect of the other seats, and how often that is right",
    "beliefs": "what interceptors take keywords for, and how often that is right",
    "functional": "what hints were worth, and what better ones would have been",
    "planted": "planted beliefs: use, compliance and what hints were worth",
    "turns": "predictions and outcomes by turn",
    "replay": "how guesses at recorded games agree with the record",
}
_TABLES = {
    name: Table(
        _ABOUT[name],
        partial(table_rows, name),
        present=_has_beliefs if name == "planted" else always,
        reported=always if name == "planted" else never,
        needs=_BELIEVED if name == "planted" else "",
    )
    for name in TABLES
}


class Decrypto(Domain):
    """The word game Decrypto; see `tomeval.runs.domain.Domain`."""

    name = "decrypto"
    title = "the word game of hints and codes, with a team and an interceptor"
    experiment = DecryptoExperiment
    schema = SCHEMA
    unit = "deal"
    measures = MEASURES
    headline = (
        "delta_functional_per_turn",
        "tom_eve_percent",
        "interception_percent",
        "miscommunication_percent",
    )
    by = (*ROLES, TEAM)
    task = ("decoder", "interceptor", "encoder", "rules", "words", "records", "on_invalid")
    shares_draws = ("rules", "words", "records")
    tables: ClassVar = _TABLES
    figures: ClassVar = {
        "pairings": "tomeval.domains.decrypto.figures.heat_maps:heat_maps",
        "perspective": "tomeval.domains.decrypto.figures.probes:perspective_by_turn",
        "probes": "tomeval.domains.decrypto.figures.probes:probe_rates",
    }
    first_figures = ("forest", "pairings_turns", "perspective", "probes")
    data: ClassVar = {"levels": _has_levels}
    lists: ClassVar = {
        "players": listed_players,
        "embeddings": lambda: [{"embedding": name} for name in SHIPPED],
    }
    scripts = SCRIPTS
    scores: ClassVar = {
        "lasted": Score(
            "share of the most turns that Alice and Bob got through",
            "share of turns",
            _lasted,
            _has_length,
        ),
        "survived": Score(
            "whether Alice and Bob survived the game", "survived", _survived, _decided
        ),
    }
    parts = Parts(
        "delta_functional_per_turn",
        {"belief": "delta_tom_per_turn", "response": "response_per_turn"},
    )

    async def play(
        self, cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Block:
        """Play one game."""
        return as_block([await play_one(cell, episode, models, lambda _: on_step())])

    def together(self, cell: DecryptoCell) -> int:
        """Return how many games of three embedding players fit a batch."""
        return GAMES_PER_CHUNK if plays_in_batch(cell) else 0

    def play_many(self, cell: DecryptoCell, first: int, count: int) -> Block:
        """Play consecutive games of three embedding players."""
        return as_block(play_batch(cell, first, count))

    def columns(self, definition: Mapping[str, Any]) -> dict[str, str | int]:
        """Return who sits where."""
        return {role: definition["players"][role]["name"] for role in ROLES}

    def read(self, store: Store, number: int, definition: dict[str, Any]) -> RunCell:
        """Return a pairing of a run at one seed."""
        return DecryptoRunCell(store, number, definition)

    def lines(self, run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
        """Yield a game: its turns with their probes, then the board."""
        assert isinstance(cell, DecryptoRunCell)
        return game_lines(run.store, cell, episode)

    def measured(self, run: Run) -> Mapping[str, Measure]:
        """Return the measures, those of replays only if a record is replayed."""
        replayed = any(definition["records"] for _, definition in run.store.cells())
        of_replays = {f"{name}_percent" for name in REPLAY_MEASURES}
        left_out = set() if replayed else of_replays
        if not has_beliefs(run.store):
            left_out |= {*PLANTED_MEASURES}
        return {n: m for n, m in self.measures.items() if n not in left_out}

    def facts(self, run: Run) -> list[Facts]:
        """Return players and rules."""
        return run_facts(run)

    def describe_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Describe players and games with their options."""
        return described_keys()

    def preview(
        self, cell: DecryptoCell, seat: str, form: str, step: int, note: str = ""
    ) -> Sequence[tuple[Doing, Prompt]]:
        """Return the prompts of one turn."""
        return self.previews(cell, seat, {form: [step]}, note)[form, step]

    def previews(
        self, cell: DecryptoCell, seat: str, wanted: Mapping[str, Collection[int]], note: str = ""
    ) -> Mapping[tuple[str, int], Sequence[tuple[Doing, Prompt]]]:
        """Return the prompts of several turns of one game."""
        return prompts_of_turns(cell, seat, wanted, note)

    def forms(self, cell: DecryptoCell, seat: str) -> dict[str, range]:
        """Return what a seat is asked."""
        return forms_of(cell, seat)

    def example(self, strategy: str, seat: str, settings: Mapping[str, Any]) -> DecryptoCell:
        """Return a cell with one language model."""
        if seat and seat not in ROLES:
            raise unknown("seat", seat, ROLES, "--seat")
        options = {key: value for key, value in settings.items() if key != "form"}
        return example_cell(strategy, seat, options)

    def compared(self, measure: Measure, by: str) -> Measure:
        """Return a measure from the side of Alice and Bob, or of the interceptors compared."""
        return for_interceptor(measure) if by == "interceptor" else measure

    def level(self, cell: RunCell, by: str) -> str:
        """Return who sits in a seat, or Alice and Bob together."""
        if by == TEAM:
            return f"{cell.columns['encoder']} + {cell.columns['decoder']}"
        return str(cell.columns[by])

    def worded(self, cell: RunCell) -> Worded | None:
        """Return how Alice is asked."""
        alice = cell.definition["players"]["encoder"]
        if not alice["model"]:
            return None
        strategy = alice["options"].get("strategy", "QA")
        shown = strategy if isinstance(strategy, str) else json.dumps(strategy)
        player, options = split_wording(alice["options"], shown, WITH_MEMORY)
        return Worded(player, alice["model"], options)

    def task_words(self, task: Mapping[str, Any]) -> str:
        """Return who else plays, such as "Bob minilm, Eve wordnet"."""
        return ", ".join(f"{NAMES[seat]} {name}" for seat, name in task.items() if seat in NAMES)

    def task_of(self, cell: RunCell, by: str) -> dict[str, Any]:
        """Return the other seats, and what games are played with."""
        gone = ("encoder", "decoder") if by == TEAM else (by,)
        return {name: value for name, value in cell.task.items() if name not in gone}


DECRYPTO = Decrypto()
