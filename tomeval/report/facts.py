"""What a report says of the run itself: verdicts, sizes, settings, meanings, sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.plots import drawing
from tomeval.runs import tallies
from tomeval.runs.columns import RATES, heading
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO, SEQUENCE


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "cell"), counted(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def settings(run: Run) -> list[dict[str, str]]:
    """Return what was run: a row per setting, with all its values."""
    names = [name for name in run.cells[0].facts if name != "reference"]
    rows = [(heading(name), [cell.facts[name] for cell in run.cells]) for name in names]
    if len(run.domain.experiment.REFERENCES) > 1:
        rows.append(("regret is measured from", [cell.reference for cell in run.cells]))
    known = [f"{name}: {said}" for name, said in revisions(run).items() if said]
    rows.append(("revision of a model", known))
    rows.append(("identity (SHA-256)", [run.store.meta().get("sha256", "")]))
    values = {what: dict.fromkeys(str(v) for v in vs if v != "") for what, vs in rows}
    return [{"setting": what, "values": "; ".join(said)} for what, said in values.items() if said]


def revisions(run: Run) -> dict[str, str]:
    """Return the revisions of the models that a run's cells name."""
    playing = {name for cell in run.cells for name in cell.models.values()}
    return {name: said for name, said in run.store.revisions().items() if name in playing}


def meanings(measures: Iterable[Measure]) -> list[dict[str, str]]:
    """Return what rates and measures mean, a row for each."""
    pairs = [(rate.heading, rate.meaning) for rate in RATES.values()]
    pairs += [(measure.heading, measure.meaning) for measure in measures]
    return [{"measure": what, "meaning": meaning} for what, meaning in pairs]


def interval_words(run: Run) -> str:
    """Explain how the numbers of the table of cells are computed."""
    words = f"means over complete episodes, with {drawing.interval_words(run.cells[0])}"
    shares = any(cell.totals(name).share for cell in run.cells for name in run.measures)
    wilson = shares and run.method(AUTO) != SEQUENCE
    return words + "; shares of items have Wilson intervals" * wilson


SAID = 12
"""Players of whom is said whether they use what they know."""
MOST_CELLS = 100
"""Cells of a run of whose players that is said: every one is read for it."""


def headline(run: Run) -> list[str]:
    """Return what a run amounts to: its size, and whether each player uses what it knows."""
    return [_played(run), *verdicts(run)]


def verdicts(run: Run) -> list[str]:
    """Describe whether each player uses what it knows, for a few players."""
    verdict = run.domain.verdict
    said = verdict.lines(run) if len(run.cells) <= MOST_CELLS else []
    more = [f"{len(said) - SAID} more players"] if len(said) > SAID else []
    return [*said[:SAID], *more]


def _played(run: Run) -> str:
    """Describe who played what, how many episodes there are, and how they ended."""
    counts = Counter[str]()
    by_cell = tallies.episodes(run.store)
    for cell in run.cells:
        counts.update(by_cell.get(cell.number, {}))
    players = len({cell.title for cell in run.cells})  # one asked of two models is two
    tasks = len({cell.domain.task_words(cell.shown_task) for cell in run.cells})
    wanted = sum(run.wanted(cell) or 0 for cell in run.cells)
    left = max(0, wanted - counts.total())
    return (
        f"{counted(players, 'player')} in {counted(tasks, 'task')}; "
        f"{counted(counts[COMPLETE], 'complete episode')}, "
        f"{counts[VOID]:,} void, {counts[FAILED]:,} failed"
        + f", {left:,} not played yet" * bool(left)
        + "."
    )
