"""What a reader must know before any number of a report: what is missing, invalid or replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, INVALID_REASONS, VOID
from tomeval.core.text import both_ends
from tomeval.report import facts
from tomeval.report.episodes import Episodes
from tomeval.report.facts import counted
from tomeval.runs import tallies
from tomeval.runs.columns import INVALID, LENIENT
from tomeval.runs.folder import planned
from tomeval.runs.notes import (
    copies_notes,
    enforced_notes,
    interval_notes,
    looked_notes,
    stop_notes,
    unanswered_notes,
    weight_notes,
)
from tomeval.runs.outside import lacking
from tomeval.runs.results import Run
from tomeval.statistics.estimates import FEW

REASONS = [reason.replace("_", " ") for reason in INVALID_REASONS]
"""Kinds of invalid answers, as headings of the counts of `invalid_rows`."""


_EXAMPLES = 5


class Notice(NamedTuple):
    """A warning: `level` is ``serious`` or ``note``, `text` one or two sentences."""

    level: str
    text: str


def notices(
    run: Run, episodes: Episodes, interval: str, left_out: str = "", transcripts: bool = True
) -> list[Notice]:
    """Return the warnings of a run, serious ones first; `left_out` says what the page lacks.

    `transcripts`: whether the page is to hold games at all.
    """
    counts = {cell.number: episodes.counts(cell.number) for cell in run.cells}
    sampled = [cell for cell in run.cells if not cell.each_once]
    warnings = [
        *([Notice("serious", _sentence(left_out))] if left_out else []),
        *_unfinished(run, counts),
        *_invalid(run, counts, episodes.total),
        *_intervals([counts[c.number].get(COMPLETE, 0) for c in sampled], interval),
        *(Notice("note", _sentence(text)) for text in stop_notes(run)),
        *(Notice("note", _sentence(text)) for text in copies_notes(run)),
        *(Notice("note", _sentence(text)) for text in enforced_notes(run)),
        *(Notice("note", _sentence(text)) for text in looked_notes(run, interval)),
        *(Notice("note", _sentence(text)) for text in unanswered_notes(run)),
        *(Notice("note", _sentence(text)) for text in weight_notes(run, interval)),
        *(Notice("note", _sentence(text)) for text in interval_notes(run, None, interval)),
        *(Notice("serious", text) for text in lacking(run.domain, run.store)),
        *(Notice("note", text) for text in run.domain.show.notes(run)),
        *(Notice("note", text) for text in run.domain.show.notes_of_measures(run, run.measures)),
        *_provenance(run),
        *(_transcripts(episodes) if transcripts else ()),
    ]
    return sorted(warnings, key=lambda notice: notice.level != "serious")


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."


def invalid_rows(run: Run) -> list[dict[str, Any]]:
    """Return, for every cell with invalid answers, its rate in percent and the counts by kind."""
    outcomes, rates = tallies.own_invalid_answers(run.store), tallies.invalid_rates(run.store)
    rows = [
        {
            "cell": cell.number,
            "player": cell.title,
            "task": facts.task_text(cell),
            "rate": 100 * rates.get(cell.number, float("nan")),
            "policy": cell.definition["on_invalid"],
            "counts": [outcomes[cell.number][reason] for reason in INVALID_REASONS],
        }
        for cell in run.cells
        if any(outcomes.get(cell.number, {}).values())
    ]
    return sorted(rows, key=lambda row: -row["rate"])


def of_answers(run: Run) -> dict[str, Any]:
    """Return what the first page says of answers that were invalid, or read leniently."""
    return {"invalid": invalid_rows(run), "lenient": lenient_rows(run), "reasons": REASONS}


def lenient_rows(run: Run) -> list[dict[str, Any]]:
    """Return the longest replies that were read leniently, one of each cell, the longest first."""
    cells = {cell.number: cell for cell in run.cells}
    rates, replies = tallies.rates(run.store), tallies.lenient_replies(run.store, _EXAMPLES)
    return [
        {
            "cell": cell.number,
            "player": cell.title,
            "task": facts.task_text(cell),
            "rate": 100 * rates[cell.number][LENIENT.name],
            "said": both_ends(reply, 600),
        }
        for cell, reply in ((cells[number], reply) for number, reply in replies.items())
    ]


def _cells_have(count: int, what: str) -> str:
    """Say how many cells have something."""
    return f"{counted(count, 'cell')} {'has' if count == 1 else 'have'} {what}"


def _unfinished(run: Run, counts: dict[int, dict[str, int]]) -> Iterator[Notice]:
    """Tell of episodes that are missing or got no reply, given the episodes by cell and status."""
    failed = sum(count.get(FAILED, 0) for count in counts.values())
    if failed:
        yield Notice(
            "serious",
            f"{counted(failed, 'episode')} failed because the model gave no reply. They count "
            "in no measure; resuming the run plays them again.",
        )
    each = planned(run.folder)
    if each is None:
        yield Notice("note", "The folder holds no readable experiment.json.")
        return
    cells = {cell.number: cell for cell in run.cells}
    short = [(run.wanted(cells[n]) or 0) - sum(count.values()) for n, count in counts.items()]
    missing = [value for value in short if value > 0]
    if missing:
        yield Notice(
            "serious",
            f"The run is not finished: {counted(sum(missing), 'planned episode')} in "
            f"{counted(len(missing), 'cell')} not played yet.",
        )


def _invalid(run: Run, counts: dict[int, dict[str, int]], total: int) -> Iterator[Notice]:
    """Tell of answers that could not be used, and what was done about them."""
    void = sum(count.get(VOID, 0) for count in counts.values())
    if void:
        yield Notice(
            "serious",
            f"{counted(void, 'episode')} of {total:,} are void: an invalid answer ended them. They "
            "count in no measure, so measures describe only the completed episodes.",
        )
    invalid = tallies.invalid_answers(run.store)
    random = [cell.number for cell in run.cells if cell.definition["on_invalid"] == "random"]
    some = [number for number in random if any(invalid.get(number, {}).values())]
    answers = tallies.answers(run.store, some)  # of all seats: any of them moves the measures
    rates = {number: said.rates()[INVALID.name] for number, said in answers.items()}
    drawn = [cell for cell in run.cells if rates.get(cell.number, 0) > 0]
    if drawn:
        worst = max(drawn, key=lambda cell: rates[cell.number])
        yield Notice(
            "serious",
            f"In {counted(len(drawn), 'cell')} invalid answers were replaced by random legal "
            f"actions, which the measures include: up to {100 * rates[worst.number]:.1f} % of "
            f"the answers ({worst.name}).",
        )
    low, scored = tallies.low_mass(run.store, list(counts))
    if low:
        yield Notice(
            "serious",
            f"In {low:,} of {counted(scored, 'scored answer')} all labels together have little "
            "probability: the model would hardly have given any of them.",
        )


def _intervals(complete: list[int], interval: str) -> Iterator[Notice]:
    """Tell of cells with too few complete episodes, given their number in each cell."""
    if cells := complete.count(0):
        text = "no complete episode and therefore no measure"
        yield Notice("serious", f"{_cells_have(cells, text)}.")
    few = sum(1 < count < FEW for count in complete)
    if few and interval == "normal":
        yield Notice(
            "note",
            f"{_cells_have(few, f'fewer than {FEW} complete episodes')}: published-form intervals "
            "(± 1.96 sd/√n) are too narrow there; use --interval t.",
        )


def _provenance(run: Run) -> Iterator[Notice]:
    """Tell of gaps in what is known of models and versions."""
    unknown = [name for name, revision in facts.revisions(run).items() if not revision]
    if unknown:
        yield Notice("note", f"The revision of a model was not recorded: {', '.join(unknown)}.")
    sessions = facts.sessions(run)
    if not sessions:
        yield Notice("note", "No session was recorded, so versions are unknown.")
    if len({session["versions"] for session in sessions}) > 1:
        yield Notice("note", f"The {len(sessions)} sessions of this run used different versions.")
    if any(session["commit"].endswith("-dirty") for session in sessions):
        yield Notice("note", "tomeval itself had uncommitted changes.")


def _transcripts(episodes: Episodes) -> Iterator[Notice]:
    """Tell how many episodes come without their prompts and replies."""
    if episodes.included < episodes.with_calls:
        yield Notice(
            "note",
            f"Prompts and replies of {episodes.included:,} of "
            f"{counted(episodes.with_calls, 'episode')} are in this file, the first of each cell "
            "(--transcripts all includes every one); the steps of all are.",
        )
