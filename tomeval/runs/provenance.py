"""Where the episodes of a run were played, as exports, closing lines and reports tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tomeval.runs import tallies

if TYPE_CHECKING:
    from tomeval.runs.origins import Origin
    from tomeval.runs.results import Run

PLACE = ("origin", "replica", "host", "device")
"""Columns of exported steps and episodes; empty where it was not recorded, or has no name."""

PLACE_SQL = ", ".join(["o.origin", *(f"NULLIF(o.{name}, '') AS {name}" for name in PLACE[1:])])
"""These columns of the table ``origins o``."""


def used(run: Run) -> list[tuple[int, Origin, int]]:
    """Return number, origin and episodes of every origin that a run's cells have episodes of."""
    counts = tallies.by_origin(run.store, [cell.number for cell in run.cells])
    known = run.store.origins()
    return [(number, known[number], count) for number, count in counts]


def table(run: Run) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return column names and rows of the origins: a row each, a column for each library."""
    found = used(run)
    libraries = list(dict.fromkeys(name for _, origin, _ in found for name in origin.versions))

    def rows() -> Iterator[tuple[Any, ...]]:
        for number, origin, count in found:
            place = (value or None for value in (origin.replica, origin.host, origin.device))
            yield (number, *place, count, *(origin.versions.get(name) for name in libraries))

    return [*PLACE, "episodes", *libraries], rows()


def closing_lines(run: Run) -> Iterator[str]:
    """Yield that episodes were played in several places, and which libraries differ there."""
    origins = [origin for _, origin, _ in used(run)]
    if len(origins) < 2:
        return
    replicas, hosts = ({o[place] for o in origins} - {""} for place in (0, 1))
    counts = [f"{len(replicas):,} replicas"] * (len(replicas) > 1)
    counts += [f"{len(hosts):,} hosts"] * (len(hosts) > 1)
    devices = _joined([origin.device for origin in origins])
    said = "; ".join(filter(None, (", ".join(counts), devices)))
    yield f"origins: {len(origins):,} ({said}), see tomeval export {run.folder} --what origins"
    known = [origin.versions for origin in origins if origin.versions]
    for name in dict.fromkeys(name for found in known for name in found):
        each = [found.get(name, "none") for found in known]
        if len(set(each)) > 1:
            yield f"warning: versions of {name} differ: {_joined(each)}"


def report_rows(run: Run) -> list[dict[str, str]]:
    """Return the recorded origins for a report, which is made to be shown: hosts have numbers."""
    found = [(origin, count) for _, origin, count in used(run) if any(origin)]
    hosts = list(dict.fromkeys(origin.host for origin, _ in found if origin.host))
    return [
        {
            "replica": origin.replica,
            "host": str(hosts.index(origin.host) + 1) if origin.host else "",
            "device": origin.device,
            "episodes": f"{count:,}",
            "versions": ", ".join(f"{name} {v}" for name, v in origin.versions.items()),
        }
        for origin, count in found
    ]


def _joined(values: Sequence[str]) -> str:
    return ", ".join(sorted({value or "not recorded" for value in values}))
