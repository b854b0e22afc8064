"""What a reader must know before any number of a report: what is missing, invalid or replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.report import facts
from tomeval.report.facts import counted
from tomeval.report.views import cells_notes
from tomeval.runs import tallies
from tomeval.runs.columns import INVALID
from tomeval.runs.results import Run


class Notice(NamedTuple):
    """A warning: `level` is ``serious`` or ``note``, `text` one or two sentences."""

    level: str
    text: str


def notices(run: Run, left_out: str = "") -> list[Notice]:
    """Return the warnings of a run, serious ones first; `left_out` says what the page lacks."""
    notes = [*cells_notes(run, ()), *run.domain.show.notes(run)]
    notes += [
        f"the revision of a model was not recorded: {name}"
        for name, revision in facts.revisions(run).items()
        if not revision
    ]
    serious = [left_out] * bool(left_out) + list(_serious(run))
    return [
        Notice(level, f"{text[0].upper()}{text[1:].rstrip('.')}.")
        for level, texts in (("serious", serious), ("note", notes))
        for text in texts
    ]


def _serious(run: Run) -> Iterator[str]:
    """Yield what is missing, and what was done about answers that could not be used."""
    every = tallies.episodes(run.store)
    counts = {cell.number: Counter(every.get(cell.number, {})) for cell in run.cells}
    of = sum(counts.values(), Counter[str]())
    missing = sum(max(0, (run.wanted(c) or 0) - counts[c.number].total()) for c in run.cells)
    random = [cell.number for cell in run.cells if cell.definition["on_invalid"] == "random"]
    # Answers of all seats: any of them moves the measures.
    said = (tallies.rates_of(run.store, [cell], lambda seat, question: True) for cell in random)
    rates = [rate for one in said if (rate := one[INVALID.name]) > 0]
    low, scored = tallies.low_mass(run.store, list(counts))
    empty = sum(not count[COMPLETE] for count in counts.values())
    for count, text in (
        (empty, f"{counted(empty, 'cell')} without a complete episode, and so without a measure"),
        (
            of[FAILED],
            f"{counted(of[FAILED], 'episode')} failed because the model gave no reply; they count "
            "in no measure, and resuming the run plays them again",
        ),
        (missing, f"the run is not finished: {counted(missing, 'episode')} not played yet"),
        (
            of[VOID],
            f"{counted(of[VOID], 'episode')} of {of.total():,} are void: an invalid answer ended "
            "them; measures describe only the completed episodes",
        ),
        (
            len(rates),
            f"in {counted(len(rates), 'cell')} invalid answers were replaced by random legal "
            "actions, which the measures include: up to "
            f"{100 * max(rates, default=0):.1f} % of the answers",
        ),
        (
            low,
            f"in {low:,} of {counted(scored, 'scored answer')} all labels together have little "
            "probability: the model would hardly have given any of them",
        ),
    ):
        if count:
            yield text
