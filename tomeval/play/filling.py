"""Play what a store lacks: which episodes are left, who plays them, when a cell stops."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tomeval.core.outcomes import FAILED, VALID, VOID
from tomeval.core.printing import wrapped
from tomeval.core.text import both_ends
from tomeval.models import is_served, open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.models.served import Budget
from tomeval.play.closing import FIRST, Unread, explained, last_unread, stopped_at_first, unread_yet
from tomeval.play.engine import spec_key
from tomeval.play.engines import Engine, Task
from tomeval.play.live import Live, Stopping
from tomeval.play.schedule import Job, Schedule, without
from tomeval.runs import tallies
from tomeval.runs.domain import cell_names
from tomeval.runs.experiment import Experiment
from tomeval.runs.record import Record, Spent, total
from tomeval.runs.writing import WritableStore

logger = logging.getLogger(__name__)


class Filler:
    """Plays the episodes that the store lacks, and watches them.

    Parameters
    ----------
    store, experiment, stopping, live
        What is played, into what, what stops it, and what displays read.
    engine, budget
        As for `tomeval.play.runner.run_experiment`.
    go_on : bool
        Else a run stops if the first questions to a model of which no answer is stored that could
        be read cannot be read either.
    """

    def __init__(
        self,
        store: WritableStore,
        experiment: Experiment,
        stopping: Stopping,
        live: Live,
        engine: Engine,
        budget: Budget | None = None,
        go_on: bool = False,
    ) -> None:
        self.store, self.stopping, self.live = store, stopping, live
        self._engine, self._budget = engine, budget
        self._base = experiment.base
        self._opened: dict[tuple[str, bool], Model | LocalModel] = {}  # by key, and if it scores
        self.domain, self.cells = store.domain, experiment.cells
        self.names = cell_names(self.domain, [cell.definition for cell in self.cells])
        self.stop_after_voids, self._go_on = experiment.stop_after_voids, go_on
        self.keys = [
            {seat: spec_key(spec) for seat, spec in cell.models.items()} for cell in self.cells
        ]
        self.wanted: Sequence[Sequence[int]] = [()] * len(self.cells)
        self.missing: list[Sequence[int]] = []
        self.played = 0
        self.schedules: dict[int, Schedule] = {}  # by cell, of those that play
        self._first: dict[str, list[tuple[Job, Unread]]] = {}
        self._replies: dict[str, list[tuple[Job, Unread]]] = {}  # to questions that are not over

    def play(self, wanted: Sequence[Sequence[int]]) -> None:
        """Play what is missing of these episodes by cell, in cells that need more than before."""
        self.missing = [
            without(episodes, self.store.finished(number))
            if len(episodes) > len(self.wanted[number])
            else range(0)
            for number, episodes in enumerate(wanted)
        ]
        self.wanted, self.schedules = wanted, {}
        self._begin()
        self._engine.play(self)

    def _begin(self) -> None:
        """Show what the store holds."""
        lengths = [cell.length for cell in self.cells]
        steps, lacks = (
            sum(length * len(episodes) for length, episodes in zip(lengths, some, strict=True))
            for some in (self.wanted, self.missing)
        )
        spent: dict[str, list[Spent]] = {key: [] for mine in self.keys for key in mine.values()}
        for number, mine in enumerate(self.keys):
            for (seat, _), part in self.store.summary(number).spent.items() if mine else ():
                if seat in mine:
                    spent[mine[seat]].append(part)
        before = {key: total(parts) for key, parts in spent.items()}
        self.live.begin(list(before), steps - lacks, steps)
        self.live.spent = total([Spent(), *before.values()])
        self._first = {
            key: [] for key, of in before.items() if not self._go_on and of.answers == of.unreadable
        }
        self._replies = {key: [] for key in self._first}
        counts = tallies.episodes(self.store).values()
        self.live.ended = sum((Counter(count) for count in counts), Counter[str]())
        self.live.tell_steps()

    def stretches(self) -> list[Task]:
        """Return what is to be played of the cells that ask no model."""
        return [
            (number, first, count)
            for number, cell in enumerate(self.cells)
            if not cell.models
            for first, count in _stretches(self.missing[number], max(1, self.domain.together(cell)))
        ]

    def groups(self) -> Iterator[tuple[tuple[str, ...], Schedule]]:
        """Yield what language models are still to play: cells with the same models together.

        They are played episode by episode over all cells: a run that is stopped has some of
        everything, and every kind of cell is soon seen, so that the time left is known.
        """
        groups: dict[tuple[str, ...], dict[int, Sequence[int]]] = {}
        cells = sorted(
            (episodes[0], number)
            for number, episodes in enumerate(self.missing)
            if len(episodes) and self.cells[number].models
        )
        for _, number in cells:
            specs = tuple(sorted(set(self.keys[number].values())))
            groups.setdefault(specs, {})[number] = self.missing[number]
        for specs, mine in groups.items():
            schedule = Schedule(mine, self.stop_after_voids)
            self.schedules = dict.fromkeys(schedule.cells, schedule)
            self.live.asking = True
            self.live.tell_steps()
            yield specs, schedule

    def open(self, specs: Sequence[str], schedule: Schedule) -> dict[str, Model | LocalModel]:
        """Return models, opened, in place of those of another group."""
        scored = {
            key
            for number, keys in enumerate(self.keys)
            if self.cells[number].scores and self.missing[number]
            for key in keys.values()
        }
        wanted = [(key, key in scored) for key in specs]
        self._opened = {one: self._opened[one] for one in wanted if one in self._opened}
        for key, scores in wanted:
            if (key, scores) not in self._opened:
                spec = json.loads(key)
                self._opened[key, scores] = open_model(
                    spec,
                    scores=scores,
                    budget=self._budget if is_served(spec) else None,
                    base=self._base,
                )
        opened = {key: self._opened[key, scores] for key, scores in wanted}
        if any(key in self._first and isinstance(opened[key], Model) for key in specs):
            schedule.limit(FIRST)  # local models are asked in batches, which cost nothing
        return opened

    # What happens while language models play

    def ready(self) -> None:
        """Try again the cells that were stopped before: the models have started."""
        self.store.note_stops(dict.fromkeys(self.schedules, ""))

    def judged(
        self, number: int, episode: int, key: str, outcome: str, call: Mapping[str, Any]
    ) -> None:
        """Tell once if none of the first replies to a question could be read."""
        if (first := self._replies.get(key)) is None:
            return
        first.append(((number, episode), Unread(outcome, call)))
        said = unread_yet(self.live.names[key], first, self.name)
        if outcome == VALID or self._first.get(key):  # or the run soon stops, which tells more
            del self._replies[key]
        elif said:
            del self._replies[key]
            logger.warning("%s", said)

    def settled(
        self, number: int, episode: int, key: str, outcome: str, call: Mapping[str, Any]
    ) -> None:
        """Stop the run if none of the first questions to a model could be read."""
        if (first := self._first.get(key)) is None:
            return
        schedule = self.schedules[number]
        if outcome == VALID:
            del self._first[key]
            schedule.limit(0)
            return
        first.append(((number, episode), Unread(outcome, call)))
        if schedule.most:
            schedule.limit(max(1, FIRST - len(first)))
        if len(first) == FIRST:
            model = self.live.names[key]
            self.stopping.stop(lambda: stopped_at_first(model, first, self.name))

    def on_step(self, number: int, episode: int) -> None:
        """Count a step of a language model: these take long enough to be shown."""
        self.live.steps += 1
        self.schedules[number].stepped(number)
        self.live.tell_steps()

    def done(self, number: int, record: Record, under_way: int, unusable: str) -> None:
        """Store an episode that is over; stop its cell if that makes too many bad ones in a row."""
        self.live.steps -= under_way
        self.together(number, [record])
        episode, status = record.episode, record.status
        if status == FAILED and unusable:
            status = VOID  # also what the model or its server makes of this cell's prompts
        if row := self.schedules[number].ended(number, episode, status):
            what = f"{len(row)} {'unusable' if unusable else 'void'} episodes in a row"
            head = f"{self.name(number)} has {what}"
            if left := self._stop(number, what):
                head = f"{self.name(number)} stops after {what}; {left} more will not be played"
            last = last_unread(self.store, number, episode)
            if unusable or last is None:
                head, last = f"{head}; the last: {both_ends(unusable)}", None
            logger.warning("%s", explained(head, [("the last", last)] if last else []))

    def too_long(self, number: int, episode: int, under_way: int, error: ContextExceeded) -> None:
        """Stop the cell: its other episodes would come to prompts of that length too."""
        self.live.steps -= under_way
        stopped = number in self.schedules[number].reasons
        what = "a prompt is longer than the model's context"
        left = self._stop(number, f"{what}: {error}", broken_off=1)
        if not stopped:
            text = (
                f"{self.name(number)} stops: {what} ({error}); episode {episode} is broken off, "
                f"{left} more will not be played; if the prompt alone would fit, lower max_tokens "
                "or thinking_budget"
            )
            logger.warning("%s", wrapped(text))

    def _stop(self, number: int, reason: str, broken_off: int = 0) -> int:
        """Stop a cell; return how many of its episodes are left out."""
        schedule = self.schedules[number]
        left = schedule.stop(number, reason)
        if left + broken_off:
            self.store.note_stops({number: schedule.reasons[number]})
        self.live.total -= (left + broken_off) * self.cells[number].length
        self.live.tell_steps()
        return left

    def together(self, number: int, records: Sequence[Record]) -> None:
        """Store episodes of a cell that are over, and count them."""
        earlier = (self.store.status(number, record.episode) for record in records)
        self.live.ended[FAILED] -= sum(status == FAILED for status in earlier)
        self.store.add(number, records)
        self.played += len(records)
        self.live.steps += len(records) * self.cells[number].length
        self.live.ended.update(record.status for record in records)
        if self.keys[number]:
            spent = (part for record in records for part in record.spent.values())
            self.live.spent = total([self.live.spent, *spent])
        self.live.tell_steps()

    def name(self, number: int) -> str:
        """Return what messages call a cell."""
        return f"cell {number} ({self.names[number]})"


def _stretches(numbers: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of runs of consecutive numbers, at most `most` long."""
    start = 0
    for index in range(1, len(numbers) + 1):
        ends = index == len(numbers) or numbers[index] != numbers[index - 1] + 1
        if ends or index - start == most:
            yield numbers[start], index - start
            start = index
