"""The arena as a domain: games of two or more, with talk, hidden roles and teams."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tomeval.domains.arena.bounds import bounds_rows
from tomeval.domains.arena.browsing import GameBrowser
from tomeval.domains.arena.cells import SUBJECT, ArenaCell
from tomeval.domains.arena.described import described_keys
from tomeval.domains.arena.experiment import ArenaExperiment
from tomeval.domains.arena.facts import run_facts, run_notes
from tomeval.domains.arena.listing import listed_games, listed_players
from tomeval.domains.arena.measures import MEASURES, PLANTED
from tomeval.domains.arena.players import together
from tomeval.domains.arena.rating_tables import RATED, rating_tables
from tomeval.domains.arena.results import ArenaRunCell
from tomeval.domains.arena.scripts import SCRIPTS
from tomeval.domains.arena.seating import play_many, play_one
from tomeval.domains.arena.storing import SCHEMA, as_block
from tomeval.domains.arena.tables import ASIDE, result_rows
from tomeval.domains.arena.transcripts import game_lines
from tomeval.models.base import Model, Prompt
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import (
    Block,
    Browser,
    Doing,
    Domain,
    Facts,
    Line,
    Rated,
    Rows,
    Score,
    Worded,
)
from tomeval.runs.measures import FloatArray, Measure
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.runs.tables import Table, never
from tomeval.strategies.wording import WITH_MEMORY, split_wording

GAMES_PER_CHUNK = 50
"""Games without a language model that are played and stored together."""


def _won(cell: RunCell) -> FloatArray:
    return cell.totals("win_percent").values / 100


def _meets_models(store: Store) -> bool:
    """Tell whether any of the other players is a language model, whose policy is not known."""
    return any(
        player["model"] for _, definition in store.cells() for player in definition["players"][1:]
    )


class Arena(Domain):
    """Games of two or more seats; see `tomeval.runs.domain.Domain`."""

    name = "arena"
    title = "games of two or more players, with talk, hidden roles and teams"
    experiment = ArenaExperiment
    schema = SCHEMA
    measures = MEASURES
    headline = (
        "delta_functional_per_decision",
        "tom_percent",
        "reward",
        "win_percent",
    )
    by = ("player", "strategy", "model", "game", "others")
    task = ("game", "others", "on_invalid", "attempts")
    panel = ("game", "others")
    paired = "game, others and deals"
    shares_draws = ("game",)
    drawn = "seating"
    unit = "deal"
    own_seat = SUBJECT
    rated: ClassVar = RATED
    tables: ClassVar = {
        "results": Table("the measures that say most, and errors", result_rows, reported=never),
    }
    first_table = "results"
    data: ClassVar = {"unknown players": _meets_models}
    aside = ASIDE
    figures: ClassVar = {
        name: f"tomeval.domains.arena.figures.{where}"
        for name, where in {
            "ratings": "ratings:ratings",
            "errors": "errors:error_flow",
            "literal_against_functional": "roles:roles",
            "belief": "beliefs:belief_by_day",
        }.items()
    }
    first_figures = ("forest", "literal_against_functional", "ratings")
    lists: ClassVar = {"arena_games": listed_games, "arena_players": listed_players}
    scripts: ClassVar = SCRIPTS
    scores: ClassVar = {"won": Score("share of wins", "won", _won)}

    async def play(
        self, cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Block:
        """Play one game."""
        return as_block([await play_one(cell, episode, models, on_step)])

    def together(self, cell: ArenaCell) -> int:
        """Return how many games without a language model are played at a time."""
        return 0 if cell.models else GAMES_PER_CHUNK

    def play_many(self, cell: ArenaCell, first: int, count: int) -> Block:
        """Play consecutive games without a language model."""
        return as_block(play_many(cell, first, count))

    def columns(self, definition: Mapping[str, Any]) -> dict[str, str | int]:
        """Return who is measured, what is played, and with whom."""
        subject, *others = definition["players"]
        return {
            "player": subject["name"],
            "model": subject["model"],
            "strategy": subject["strategy"],
            "game": definition["game"]["name"],
            "others": together([player["name"] for player in others]),
        }

    def read(self, store: Store, number: int, definition: dict[str, Any]) -> RunCell:
        """Return a line-up of a run at one seed."""
        return ArenaRunCell(store, number, definition)

    def measured(self, run: Run) -> Mapping[str, Measure]:
        """Return the measures, those of planted beliefs only if anybody was told any."""
        told = any(_believes(definition) for _, definition in run.store.cells())
        return {n: m for n, m in self.measures.items() if told or n not in PLANTED}

    def lines(self, run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
        """Yield a game: who sat where, every event with who knew of it, and how it ended."""
        assert isinstance(cell, ArenaRunCell)
        return game_lines(run.store, cell, episode)

    def ratings(
        self, run: Run, names: Sequence[str], interval: str, openskill: bool
    ) -> Iterator[Rated]:
        """Yield tables of ratings, payoffs and errors."""
        return rating_tables(run, names, interval, openskill)

    def facts(self, run: Run) -> list[Facts]:
        """Return players, games and line-ups."""
        return run_facts(run)

    def notes(self, run: Run) -> list[str]:
        """Tell of lost games, of bounds, and of what is not known."""
        return run_notes(run)

    def table_notes(self, run: Run) -> list[str]:
        """Tell the same below tables."""
        return run_notes(run)

    def browser(self, run: Run, reference: str | None) -> Browser:
        """Return the packed games."""
        return GameBrowser(run)

    def describe_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Describe players and games with their options."""
        return described_keys()

    def preview(
        self, cell: ArenaCell, seat: str, form: str, step: int, note: str = ""
    ) -> Sequence[tuple[Doing, Prompt]]:
        """Return the prompts of one decision, or of a probe beside one."""
        return self.previews(cell, seat, {form: [step]}, note)[form, step]

    def previews(
        self, cell: ArenaCell, seat: str, wanted: Mapping[str, Collection[int]], note: str = ""
    ) -> Mapping[tuple[str, int], Sequence[tuple[Doing, Prompt]]]:
        """Return the prompts of several decisions of the same made-up games."""
        from tomeval.domains.arena.preview import prompts_of

        return prompts_of(cell, seat, wanted, note)

    def forms(self, cell: ArenaCell, seat: str) -> dict[str, range]:
        """Return what a seat is asked."""
        from tomeval.domains.arena.preview import forms_of

        return forms_of(cell, seat)

    def asked_share(self, cell: ArenaCell, seat: str) -> dict[str, float]:
        """Return in which share of games a seat, which has roles in turn, is asked."""
        from tomeval.domains.arena.preview import share_of

        return share_of(cell, seat)

    def example(self, strategy: str, seat: str, settings: Mapping[str, Any]) -> ArenaCell:
        """Return a cell that shows a strategy."""
        from tomeval.domains.arena.preview import example_cell

        return example_cell(strategy, seat, settings)

    def bounds(self, cells: Sequence[ArenaCell]) -> Rows:
        """Return V* by line-up and the subject's seat."""
        return bounds_rows(list(cells))

    def content(self, cell: RunCell) -> dict[tuple[str, ...], str]:
        """Return the parameters of the game by its name."""
        game = cell.definition["game"]
        return {("game", game["name"]): json.dumps([game["kind"], game["rules"]], sort_keys=True)}

    def worded(self, cell: RunCell) -> Worded | None:
        """Return how the subject is asked."""
        subject = cell.definition["players"][0]
        if not subject["model"]:
            return None
        found = split_wording(subject["options"], subject["strategy"], WITH_MEMORY)
        return Worded(found[0], subject["model"], found[1])

    def task_words(self, task: Mapping[str, Any]) -> str:
        """Return a task in words, such as "ipd3 with grim + tft"."""
        shown = {name: value for name, value in task.items() if name in ("game", "others")}
        return " with ".join(str(value) for value in shown.values() if value != "")


def _believes(definition: Mapping[str, Any]) -> bool:
    """Tell whether the subject of a line-up is given beliefs."""
    return "Belief " in str(definition["players"][0].get("strategy", ""))


ARENA = Arena()
