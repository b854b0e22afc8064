"""Play what a store lacks: which episodes are left, who plays them, when a cell stops."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VALID, VOID
from tomeval.core.text import both_ends, wrapped
from tomeval.models import is_served, open_model
from tomeval.models.base import LOW_MASS, ContextExceeded, LocalModel, Model
from tomeval.models.served.limits import Budget
from tomeval.runs import tallies
from tomeval.runs.domain import cell_names
from tomeval.runs.engine import Watch, play_with_models, spec_key
from tomeval.runs.engines import Engine, Task
from tomeval.runs.experiment import Experiment
from tomeval.runs.live import Counts, Live, OnCounts, Progress
from tomeval.runs.record import Record
from tomeval.runs.replies import Unread, explained, last_unread
from tomeval.runs.schedule import Job, Schedule, without
from tomeval.runs.stopping import Stopping
from tomeval.runs.unread import FIRST, FirstQuestions, UnreadError
from tomeval.runs.writing import WritableStore

logger = logging.getLogger(__name__)


class Told(NamedTuple):
    """Who is told how a run goes."""

    live: Live
    progress: Progress | None
    on_counts: OnCounts | None


class How(NamedTuple):
    """How a run is played; `opening` has the other arguments of `tomeval.models.open_model`.

    `opened` are the models that are open, by `spec_key` and whether they score labels.
    """

    engine: Engine
    concurrency: int
    budget: Budget | None
    opening: dict[str, Any]
    opened: dict[tuple[str, bool], Model | LocalModel]


class Filler(Watch):
    """Plays the episodes that the store lacks, and watches them."""

    def __init__(
        self,
        store: WritableStore,
        experiment: Experiment,
        stopping: Stopping,
        told: Told,
        wanted: Sequence[Sequence[int]],
        beyond: Sequence[Sequence[int]] | None = None,
        go_on: bool = False,
    ) -> None:
        """`wanted` has the episodes of each cell; with `beyond`, play only cells that need more.

        Unless it is to `go_on`, a run stops if the first questions to a model of which no answer is
        stored that could be read cannot be read either.
        """
        self.store, self.stopping = store, stopping
        self._told, self.live = told, told.live
        self.domain, self.cells = store.domain, experiment.cells
        self.names = cell_names(self.domain, [cell.definition for cell in self.cells])
        self.stop_after_voids = experiment.stop_after_voids
        self.wanted = wanted
        before = beyond or [()] * len(self.cells)
        self.missing = [
            without(episodes, store.finished_of(number))
            if len(episodes) > len(before[number])
            else range(0)
            for number, episodes in enumerate(self.wanted)
        ]
        lengths = zip(self.cells, self.wanted, strict=True)
        self.total = sum(cell.length * len(episodes) for cell, episodes in lengths)
        lengths = zip(self.cells, self.missing, strict=True)
        self.steps_done = self.total - sum(cell.length * len(lacks) for cell, lacks in lengths)
        self.played = 0
        self.under_way = 0  # steps of episodes that are not finished
        self.keys = [
            {seat: spec_key(spec) for seat, spec in cell.models.items()} for cell in self.cells
        ]
        wanted_each = [len(numbers) for numbers in self.wanted]
        self.again = self.live.begin(store, self.keys, wanted_each, self.steps_done)
        self.first = {
            key: FirstQuestions()
            for key, count in self.live.models.items()
            if not go_on and count.spent.answers == count.spent.unreadable
        }
        self.failed = store.failed()
        counts = tallies.episodes(store).values()
        self.ended = sum((Counter(count) for count in counts), Counter[str]())
        self.schedules: dict[int, Schedule] = {}  # by cell, of those that play
        self.unread: dict[Job, Unread] = {}
        self.unusable: dict[Job, str] = {}
        self.advised: set[str] = set()
        self._tell_counts()
        self._tell_steps()

    def play(self, how: How) -> None:
        """Play all that is missing."""
        how.engine.play(self)
        self._play_with_models(how)

    def stretches(self) -> list[Task]:
        """Return what is to be played of the cells that ask no model."""
        return [
            (number, first, count)
            for number, cell in enumerate(self.cells)
            if not cell.models
            for first, count in _stretches(
                self.missing[number], max(1, self.domain.play.together(cell))
            )
        ]

    def groups(self) -> dict[tuple[str, ...], dict[int, Sequence[int]]]:
        """Return the episodes that language models are still to play, by models and by cell.

        They are played episode by episode over all cells: a run that is stopped has some of
        everything, and every kind of cell is soon seen, so that the time left is known.
        """
        groups: dict[tuple[str, ...], dict[int, Sequence[int]]] = {}
        cells = sorted(
            (episodes[0], number)
            for number, episodes in enumerate(self.missing)
            if len(episodes) and self.cells[number].models and number not in self.schedules
        )
        for _, number in cells:
            specs = tuple(sorted(set(self.keys[number].values())))
            groups.setdefault(specs, {})[number] = self.missing[number]
        return groups

    def _play_with_models(self, how: How) -> None:
        """Play what the engine left, cells with the same models together: these alone are open."""
        groups = self.groups()
        scored = {
            key
            for number, keys in enumerate(self.keys)
            if self.cells[number].scores and self.missing[number]
            for key in keys.values()
        }
        for specs, mine in groups.items():
            self.live.asking = True
            self._tell_steps()
            asked = [(key, key in scored) for key in specs]
            for gone in how.opened.keys() - set(asked):
                del how.opened[gone]
            for key, scores in asked:
                if (key, scores) not in how.opened:
                    spec = json.loads(key)
                    caps = how.budget if is_served(spec) else None
                    waiting = self.live.waiting[key]
                    how.opened[key, scores] = open_model(
                        spec, scores=scores, budget=caps, waiting=waiting, **how.opening
                    )
            opened = {key: how.opened[key, scores] for key, scores in asked}
            patience = [self.live.waiting[key].patience for key in specs]
            self.stopping.patience = max(patience)
            schedule = Schedule(mine, self.stop_after_voids)
            if any(key in self.first and isinstance(opened[key], Model) for key in specs):
                schedule.limit(FIRST)  # local models are asked in batches, which cost nothing
            self.schedules = dict.fromkeys(schedule.cells, schedule)
            play_with_models(opened, self, schedule, how.concurrency)
        if any(cell.models and lacks for cell, lacks in zip(self.cells, self.missing, strict=True)):
            self._warn()

    def _warn(self) -> None:
        """Warn of what may be wrong with the models' answers, of earlier sessions too."""
        lost = self.ended[FAILED]
        if lost:
            why = tallies.failures(self.store).most_common(1)
            logger.warning(
                "%d episodes failed because the model gave no reply: run the same command again to "
                "play them%s",
                lost,
                f"; most often: {both_ends(why[0][0])}" if why else "",
            )
        low, scored = tallies.low_mass(self.store)
        if low:
            logger.warning(
                "in %d of %d scored answers all labels together have less than %g of the "
                "probability: the model would hardly ever write one of them",
                *(low, scored, LOW_MASS),
            )

    # What happens while language models play

    def ready(self) -> None:
        """Try again the cells that were stopped before: the models have started."""
        self.store.note_stops(dict.fromkeys(self.schedules, ""))

    def settled(
        self, number: int, episode: int, key: str, outcome: str, call: Mapping[str, Any]
    ) -> None:
        """Stop the run if none of the first questions to a model could be read."""
        if (first := self.first.get(key)) is None:
            return
        schedule = self.schedules[number]
        if outcome == VALID:
            del self.first[key]
            schedule.limit(0)
            return
        first.add((number, episode), outcome, call)
        if schedule.most:
            schedule.limit(max(1, FIRST - len(first)))
        if len(first) == FIRST:
            name = self.live.models[key].name
            self.stopping.stop(lambda: UnreadError(first.screen(name, self.name)))

    def on_step(self, number: int, episode: int) -> None:
        """Count a step of a language model: these take long enough to be shown."""
        self.under_way += 1
        self.schedules[number].stepped(number)
        self._tell_steps()

    def done(self, number: int, record: Record, under_way: int, unusable: str) -> None:
        """Store an episode that is over; stop its cell if that makes too many bad ones in a row."""
        self.under_way -= under_way
        self._store(number, [record])
        episode, status = record.episode, record.status
        if status == VOID and (call := last_unread(self.store, number, episode)):
            self.unread[number, episode] = call
        if status == FAILED and unusable:
            self.unusable[number, episode] = unusable
            status = VOID  # also what the model or its server makes of this cell's prompts
        if row := self.schedules[number].ended(number, episode, status):
            lost = [self.unusable[number, e] for e in row if (number, e) in self.unusable]
            what = f"{len(row)} void episodes in a row"
            if lost:
                what = f"{len(row)} episodes in a row, {len(lost)} of them without usable replies"
            unread = [self.unread[number, e] for e in row if (number, e) in self.unread]

            head = f"{self.name(number)} has {what}"
            if left := self._stop(number, what):
                self.store.note_stops({number: what})
                head = f"{self.name(number)} stops after {what}; {left} more will not be played"
            if lost:
                head += f"; the last: {both_ends(lost[-1])}"
            if said := explained(head, unread, self.advised):
                logger.warning("%s", said)

    def too_long(self, number: int, episode: int, under_way: int, error: ContextExceeded) -> None:
        """Stop the cell: its other episodes would come to prompts of that length too."""
        self.under_way -= under_way
        self.total -= self.cells[number].length
        why = f"a prompt is longer than the model's context: {error}"
        if number not in self.schedules[number].reasons:
            left = self._stop(number, why)
            self.store.note_stops({number: why})
            logger.warning(
                "%s",
                wrapped(
                    f"{self.name(number)} stops: a prompt is longer than the model's context "
                    f"({error}); episode {episode} is broken off, {left} more will not be played; "
                    "if the prompt alone would fit, lower max_tokens or thinking_budget"
                ),
            )

    def _stop(self, number: int, reason: str) -> int:
        """Stop a cell; return how many of its episodes are left out."""
        left = self.schedules[number].stop(number, reason)
        self.total -= left * self.cells[number].length
        self._tell_steps()
        return left

    # What is stored and told

    def together(self, number: int, records: Sequence[Record]) -> None:
        """Store episodes of a cell without a model that were played at once."""
        self._store(number, records)

    def _store(self, number: int, records: Sequence[Record]) -> None:
        """Store episodes that are over, and count them."""
        self.store.add(number, records)
        self.played += len(records)
        self.steps_done += len(records) * self.cells[number].length
        self.ended.update(record.status for record in records)
        again = self.failed & {(number, record.episode) for record in records}
        self.ended[FAILED] -= len(again)
        self.failed -= again
        keys = self.keys[number]
        for key in set(keys.values()):
            self.live.models[key].ended += sum(r.status != FAILED for r in records)
        for record in records if keys else ():
            for seat, spent in record.spent.items():
                self.live.models[keys[seat]].add(spent)
                self.again += spent.again
        self._tell_steps()
        self._tell_counts()

    def name(self, number: int) -> str:
        """Return what messages call a cell."""
        return f"cell {number} ({self.names[number]})"

    def _tell_steps(self) -> None:
        self.live.steps, self.live.total = self.steps_done + self.under_way, self.total
        if self._told.progress:
            self._told.progress(self.live.steps, self.total)

    def _tell_counts(self) -> None:
        complete, void, failed = (self.ended[s] for s in (COMPLETE, VOID, FAILED))
        self.live.counts = Counts(complete, void, failed, self.again)
        if self._told.on_counts:
            self._told.on_counts(self.live.counts)


def _stretches(numbers: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of runs of consecutive numbers, at most `most` long."""
    start = 0
    for index in range(1, len(numbers) + 1):
        ends = index == len(numbers) or numbers[index] != numbers[index - 1] + 1
        if ends or index - start == most:
            yield numbers[start], index - start
            start = index
