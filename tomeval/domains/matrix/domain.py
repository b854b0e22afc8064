"""Matrix games as a domain: a subject against finite-state partners."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tomeval.domains.matrix import listing
from tomeval.domains.matrix.aids.computing import PAYOFF, payoff_rounds
from tomeval.domains.matrix.attained import attained, is_attainable, predicted_right
from tomeval.domains.matrix.batch import BATCH_KINDS, simulate
from tomeval.domains.matrix.blind_spots import blind_sentences
from tomeval.domains.matrix.browsing import StepBrowser
from tomeval.domains.matrix.described import described_keys
from tomeval.domains.matrix.experiment import MatrixCell, MatrixExperiment
from tomeval.domains.matrix.facts import (
    blind_notes,
    people_notes,
    player_notes,
    recorded_notes,
    run_facts,
    told_notes,
    tom_notes,
)
from tomeval.domains.matrix.measures import GROUPS, MEASURES, measures_for
from tomeval.domains.matrix.optima import REFERENCES
from tomeval.domains.matrix.partner_files import kind_of_file
from tomeval.domains.matrix.partner_players import PartnerPlayer, two_players
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.play import play_episode_async
from tomeval.domains.matrix.preview import (
    example_cell,
    prompts_of_round,
    prompts_of_rounds,
)
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cell
from tomeval.domains.matrix.steps import DRAW, REACT
from tomeval.domains.matrix.storing import (
    SCHEMA,
    SEAT,
    as_block,
    has_beliefs,
    has_probabilities,
    has_reactions,
    has_unknown_partners,
    partners_known,
    partners_react,
)
from tomeval.domains.matrix.subjects.llm import draws_of
from tomeval.domains.matrix.tables import TABLES
from tomeval.domains.matrix.transcripts import episode_lines
from tomeval.domains.matrix.worded import worded
from tomeval.models.base import Model, Prompt
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import (
    Block,
    Browser,
    Doing,
    Domain,
    Facts,
    Line,
    Parts,
    Score,
    Worded,
)
from tomeval.runs.measures import Measure
from tomeval.runs.rates import REACTION_INVALID
from tomeval.runs.results import Run
from tomeval.runs.store import Store

STEPS_PER_CHUNK = 100_000
"""How many steps a batch holds at most: what is lost when a run is killed, and its memory."""


class Matrix(Domain):
    """Repeated matrix games; see `tomeval.runs.domain.Domain`."""

    name = "matrix"
    title = "repeated matrix games against finite-state partners"
    experiment = MatrixExperiment
    schema = SCHEMA
    measures = MEASURES
    headline = (
        "delta_functional_per_step",
        "tom_percent",
        "delta_tom_best_response_per_step",
    )
    by = ("strategy", "subject", "model", "labels", "condition")
    task = ("game", "labels", "partners", "horizon", "reference", "on_invalid")
    panel = ("game", "labels")
    paired = "game, partner"
    baseline = "tabular baseline"
    shares_draws = ("game", "partners")
    references = REFERENCES
    figures: ClassVar = {
        name: f"tomeval.domains.matrix.figures.{where}"
        for name, where in {
            "regret": "curves:regret_curves",
            "tom": "curves:tom_curves",
            "literal_against_functional": "scatter:scatter",
            "decomposition": "decomposition:decomposition",
            "label_bias": "label_bias:label_bias",
            "sensitivity": "sensitivity:sensitivity",
            "adaptation": "adaptation:adaptation_figures",
            "reasoning": "consistency:consistency",
            "aids": "aids:aids",
        }.items()
    }
    first_figures = (
        *("forest", "literal_against_functional", "decomposition"),
        "aids",  # of runs that have the data
    )
    figures_by = ("regret", "tom")
    lists = listing.LISTS
    data: ClassVar = {
        "beliefs": has_beliefs,
        "probabilities": has_probabilities,
        "unknown partners": has_unknown_partners,
    }
    tables = TABLES
    first_table = "cells"
    scores: ClassVar = {
        "attained": Score(
            "reward attained, from 0, the worst response, to 1, the best",
            "reward attained",
            attained,
            is_attainable,
        ),
        "tom": Score("share of right predictions", "share predicted right", predicted_right),
    }
    parts = Parts(
        "delta_functional_per_step",
        {
            "belief": "delta_tom_best_response_per_step",
            "response": "response_gap_per_step",
            "foresight": "foresight_gap_per_step",
        },
    )

    async def play(
        self,
        cell: MatrixCell,
        episode: int,
        models: Mapping[str, Model],
        on_step: Callable[[], None],
    ) -> Block:
        """Play one episode."""
        if isinstance(cell.setup.partners, PartnerPlayer):
            steps = await two_players().play(cell.setup, episode, models, on_step)
        else:
            steps = await play_episode_async(cell.setup, episode, models.get(SEAT), on_step)
        return as_block(steps, cell.setup.game)

    def together(self, cell: MatrixCell) -> int:
        """Return how many episodes fit a batch; subjects without a batch form play one by one."""
        if cell.setup.kind not in BATCH_KINDS or isinstance(cell.setup.partners, PartnerPlayer):
            return 0
        return max(1, STEPS_PER_CHUNK // cell.setup.horizon)

    def play_many(self, cell: MatrixCell, first: int, count: int) -> Block:
        """Play consecutive episodes in batch."""
        return as_block(simulate(cell.setup, first, count), cell.setup.game)

    def columns(self, definition: Mapping[str, Any]) -> dict[str, str | int]:
        """Return the columns that tell a cell from others."""
        said = ("condition",) if "condition" in definition else ()  # recorded games only
        return {
            "subject": definition["subject"],
            **{name: definition[name] for name in said},
            "model": definition.get("model", ""),
            "strategy": definition.get("strategy", ""),
            "game": definition["game"]["name"],
            "labels": definition["labels"]["name"],
            "partners": definition["partners"]["name"],
            "horizon": definition["horizon"],
        }

    def read(self, store: Store, number: int, definition: dict[str, Any]) -> RunCell:
        """Return a cell of a run."""
        return MatrixRunCell(store, number, definition)

    def lines(self, run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
        """Yield an episode: moves, predictions and rewards."""
        return episode_lines(run.store, matrix_cell(cell), episode)

    def measured(self, run: Run) -> Mapping[str, Measure]:
        """Return the measures that the run's partners and questions allow."""
        store = run.store
        names = measures_for(partners_known(store), has_reactions(store), partners_react(store))
        found = {name: self.measures[name] for name in names}
        for group in GROUPS:
            if group.present(run.store):
                found |= {measure.name: measure for measure in group.measures}
        return found

    def rates(self, run: Run) -> Mapping[str, str]:
        """Return the rate of the conditional probe, if it was asked."""
        if has_reactions(run.store):
            return {REACTION_INVALID.name: f"question LIKE '{REACT} %'"}
        return {}

    def facts(self, run: Run) -> list[Facts]:
        """Return subjects, games and partners."""
        return run_facts(run)

    def notes(self, run: Run) -> list[str]:
        """Tell of subjects that were told, what stands below tables, and of what cannot be told."""
        return told_notes(run) + self.table_notes(run) + blind_notes(run)

    def table_notes(self, run: Run) -> list[str]:
        """Tell of recorded games, of players in the partner's seat, and of people."""
        return recorded_notes(run) + player_notes(run) + people_notes(run)

    def notes_of_measures(self, run: Run, names: Collection[str]) -> list[str]:
        """Tell where the one-step rules of ΔToM are blind, and of what the T-step rule is."""
        return tom_notes(run, names)

    def figures_for(self, run: Run) -> list[str]:
        """Return the figures; that of a table needs what the table needs."""
        shown = [name for name, table in run.tables.items() if table.reported(run)]
        return [name for name in self.figures if name not in self.tables or name in shown]

    def browser(self, run: Run, reference: str | None) -> Browser:
        """Return the packed steps."""
        return StepBrowser(run, reference)

    def preview(
        self, cell: MatrixCell, seat: str, form: str, step: int, note: str = ""
    ) -> Sequence[tuple[Doing, Prompt]]:
        """Return the prompts of one round."""
        return prompts_of_round(cell.seen_from(seat), form, step, note)

    def previews(
        self, cell: MatrixCell, seat: str, wanted: Mapping[str, Collection[int]], note: str = ""
    ) -> Mapping[tuple[str, int], Sequence[tuple[Doing, Prompt]]]:
        """Return the prompts of several rounds of one play."""
        return prompts_of_rounds(cell.seen_from(seat), wanted, note)

    def forms(self, cell: MatrixCell, seat: str) -> dict[str, range]:
        """Return when a seat acts, predicts, and is asked the questions beside these."""
        horizon = cell.setup.horizon
        found = {"act": range(1, horizon + 1)}
        if cell.predicts(seat):
            found["predict"] = range(1, horizon + 1)
        if cell.seats[seat].options.get("conditional", False):
            found["react"] = range(1, horizon)  # nothing follows the last round
        if draws_of(cell.seats[seat].options):
            found[DRAW] = range(1, horizon + 1)
        computing = payoff_rounds(cell.seats[seat].options.get("computing", "never"), horizon)
        if computing:
            found[PAYOFF] = computing
        return found

    def example(self, strategy: str, seat: str, settings: Mapping[str, Any]) -> MatrixCell:
        """Return a cell that shows a strategy."""
        return example_cell(strategy, settings)

    def cannot_tell(self, cells: Sequence[MatrixCell]) -> list[str]:
        """Tell what regret, predictions or their cost cannot show in the cells' tasks."""
        setups = [cell.setup for cell in cells if isinstance(cell.setup.partners, PartnerSet)]
        return blind_sentences((setup.game, setup.tables, setup.horizon) for setup in setups)

    def describe_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Describe games, subjects with their options, and partners."""
        return described_keys()

    def other_file(self, data: Mapping[str, Any]) -> str:
        """Tell games and partners from experiments."""
        return kind_of_file(data)

    def task_words(self, task: Mapping[str, Any]) -> str:
        """Return a task in words, such as "IPD (canonical), tit_for_tat, T = 10"."""
        labels = f" ({task['labels']})" if "labels" in task else ""
        said = [f"{task['game']}{labels}"] if "game" in task else []
        said += [str(task["partners"])] if "partners" in task else []
        said += [f"T = {task['horizon']}"] if "horizon" in task else []
        return ", ".join(said)

    def level(self, cell: RunCell, by: str) -> str:
        """Return a cell's level: a tabular subject has neither model nor strategy, but its name."""
        return str(cell.columns.get(by) or cell.columns["subject"])

    def held(self, cell: RunCell, by: str) -> str:
        """Return the model, or the subject where models or label sets are compared."""
        subject, model = str(cell.columns["subject"]), str(cell.columns["model"])
        if matrix_cell(cell).recorded:
            return self._held_of_recorded(cell, by)
        if by == "model":
            return subject if model else ""
        if by in ("labels", "run"):
            return ", ".join(filter(None, (subject, model)))
        return model

    def _held_of_recorded(self, cell: RunCell, by: str) -> str:
        """Return all that says who played and how, but what is compared."""
        compared = by if by == "run" or cell.columns.get(by) else "subject"
        told = ["subject", "condition", "model", "strategy"]
        people = matrix_cell(cell).definition.get("participants")
        if people is not None and set(people) == {cell.columns["subject"]}:
            told.remove("subject")  # one of the people that are compared as groups
        words = [str(cell.columns.get(name, "")) for name in told if name != compared]
        return ", ".join(filter(None, words))

    def held_name(self, by: str) -> str:
        """Return what `held` is called in tables."""
        return "subject" if by in ("model", "labels", "condition", "run") else "model"

    def worded(self, cell: RunCell) -> Worded | None:
        """Return a language model's labels and options of wording."""
        return worded(cell.definition)

    def content(self, cell: RunCell) -> dict[tuple[str, ...], str]:
        """Return payoffs and partner tables by name."""
        game, partners = cell.definition["game"], cell.definition["partners"]
        tables = [table["sha256"] for table in partners["tables"]]
        said = [partners["weights"], tables]
        if "player" in partners:
            said.append(partners["player"])
        return {
            ("game", game["name"]): json.dumps(game["payoffs"]),
            ("partner set", game["name"], partners["name"]): json.dumps(said),
        }


MATRIX = Matrix()
