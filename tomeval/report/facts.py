"""What a report says of the run itself: sizes, settings, meanings, sessions and versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tomeval.runs import folder
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import INVALID, LENIENT, RATES, REASK, heading
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.runs.tallies import usage


def read_json(run: Run, name: str) -> Any:
    """Return a JSON file of the run folder; None without it or, with a warning, if damaged.

    An analysis only needs the store; the page tells of the gap.
    """
    return folder.read_json(run.folder / name)


def sizes(run: Run, total: int, steps: int) -> list[tuple[str, str]]:
    """Return the figures at the top of the page, as (number, of what), given those of episodes."""
    players = len({cell.title for cell in run.cells})  # one asked of two models is two
    rows = [
        (players, "player"),
        (
            len(
                {
                    str(run.domain.compare.task_of(cell, run.domain.compare.by[0]))
                    for cell in run.cells
                }
            ),
            "task",
        ),
        (len(run.cells), "cell"),
        (total, "episode"),
        (steps, "step"),
    ]
    numbers = {cell.number for cell in run.cells}
    calls = sum(row["calls"] for number, row in usage(run.store).items() if number in numbers)
    if calls:
        rows.append((int(calls), "model call"))
    return [(f"{count:,}", what if count == 1 else f"{what}s") for count, what in rows]


def task_text(cell: RunCell) -> str:
    """Return a cell's task in a few words."""
    return cell.domain.compare.words(cell.shown_task)


def settings(run: Run) -> list[tuple[str, str]]:
    """Return what was run, as (what, values)."""
    names = [name for name in run.cells[0].facts if name not in ("reference", "on_invalid")]
    rows = [(heading(name), [cell.facts[name] for cell in run.cells]) for name in names]
    if len(run.domain.read.references) > 1:
        rows.append(("regret is measured from", [cell.reference for cell in run.cells]))
    policies = [_POLICIES.get(cell.definition["on_invalid"], "") for cell in run.cells]
    rows.append(("an invalid answer", policies))
    known = revisions(run).items()
    rows.append(("revision of a model", [f"{name}: {said}" for name, said in known if said]))
    said = {what: "; ".join(dict.fromkeys(str(v) for v in vs if v != "")) for what, vs in rows}
    return [
        ("experiment", run.name),
        *((what, values) for what, values in said.items() if values),
        ("identity (SHA-256)", str(run.store.meta().get("sha256", ""))),
    ]


def revisions(run: Run) -> dict[str, str]:
    """Return the revisions of the run's models; with `Run.where`, of those that its cells name."""
    if not run.where:
        return run.revisions
    playing = {name for cell in run.cells for name in cell.models.values()}
    return {name: said for name, said in run.revisions.items() if name in playing}


_POLICIES = {
    "void": "ends its episode, which counts in no measure (void)",
    "random": "is replaced by a random legal action (random)",
    "stop": "stops the run (stop)",
}


def meanings(run: Run, measures: Iterable[Measure]) -> list[tuple[str, str]]:
    """Return (heading, meaning) of a run's rates and of measures."""
    names = (INVALID.name, REASK.name, LENIENT.name, *run.domain.show.rates(run))
    rates = [RATES[name] for name in names]
    said = [(measure.heading, measure.meaning) for measure in measures]
    return [(rate.heading, rate.meaning) for rate in rates] + said


def sessions(run: Run) -> list[dict[str, str]]:
    """Return when, with what and from which commit the run was started and resumed."""
    return [
        {
            "started": str(entry.get("started", "")),
            "python": str(entry.get("python", "")),
            "versions": ", ".join(f"{name} {v}" for name, v in entry.get("versions", {}).items()),
            "commit": str(entry.get("tomeval_commit") or ""),
        }
        for entry in read_json(run, "sessions.json") or []
    ]
