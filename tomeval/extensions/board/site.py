"""The board as a static site: one page and the reports of its runs, which load nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tomeval.core.csv_files import csv_rows
from tomeval.core.files import write_text
from tomeval.core.resources import results_path
from tomeval.domains.matrix.auditing import COLUMNS, FUNCTIONAL, LITERAL
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.limits import attainable
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.extensions.board.checking import Accepted, Refused, Row
from tomeval.extensions.board.playing import words
from tomeval.extensions.board.scores import Ranked, ranks
from tomeval.extensions.board.suite import PARTS, suite_sha256
from tomeval.report import ReportOptions, exchange, write_report
from tomeval.report.page import environment, frame_of
from tomeval.runs.results import Run

TITLES = {
    "matrix": "Repeated matrix games",
    "decrypto": "Decrypto: hints for one listener, against another",
    "arena": "The arena: against the frozen pool",
}
PAGE = "index.html"
_PUBLISHED_STEPS = 100
"""Of the episodes behind the published rows."""
_ALIKE = 3
"""How many rows that one cannot be told apart from are named."""

Result = Accepted | Refused


class Published(NamedTuple):
    """What a source reports of a player: means in percent, NaN where it has none, and of what."""

    model: str
    strategy: str
    lost: float
    right: float
    tasks: str


class Line(NamedTuple):
    """One row of a table of the page, in words."""

    row: Row
    lost: str
    right: str
    unused: str
    invalid: str
    rank: str
    right_rank: str
    alike: str
    report: str


def without_copies(results: Sequence[Result]) -> list[Result]:
    """Refuse runs of a model and strategy that an earlier run has rows of already."""
    kept: list[Result] = []
    taken: dict[tuple[str, str], Path] = {}
    for one in results:
        keys = [] if isinstance(one, Refused) else [(row.table, row.name) for row in one.rows]
        other = next((taken[key] for key in keys if key in taken), None)
        if other is not None:
            one = Refused(one.folder, f"its rows are on the board already, from {other}")
            keys = []
        taken |= dict.fromkeys(keys, one.folder)
        kept.append(one)
    return kept


def write_site(
    results: Sequence[Result], runs: Path, out: Path, most_invalid: float, reports: bool
) -> list[Result]:
    """Write the page and reports beside it; return what is on it.

    A run whose report cannot be written is refused: what it says of itself is not what a run says.

    Parameters
    ----------
    results : sequence of Accepted or Refused
    runs : Path
        The folder in which the runs are: what the page calls them starts from it.
    out : Path
        Made if missing; a page that is there is replaced, other files are left.
    most_invalid : float
        The limit that was held, in percent; the page states it.
    reports : bool
        Write the reports too.

    Raises
    ------
    TomevalError
        The folder cannot be written.
    """
    called = {one.folder: _called(one.folder, runs) for one in results}
    links: dict[Path, str] = {}
    if reports:
        results, links = _with_reports(results, called, out)
    accepted = [one for one in results if isinstance(one, Accepted)]
    rows = [row for one in accepted for row in one.rows]
    context = {
        **frame_of(("theme",)),
        "suite": suite_sha256(),
        "parts": [(name, part.experiment, part.about) for name, part in PARTS.items()],
        "tables": [
            (name, title, lines)
            for name, title in TITLES.items()
            if (lines := _lines([row for row in rows if row.table == name], links))
        ],
        "runs": [(called[one.folder], links.get(one.folder, ""), one.settings) for one in accepted],
        "refused": [(called[r.folder], r.reason) for r in results if isinstance(r, Refused)],
        "published": published(),
        "most_invalid": f"{most_invalid:g}",
    }
    template = environment(Path(__file__).parent / "templates").get_template("board.html.j2")
    write_text(out / PAGE, template.render(context))
    return list(results)


def _called(folder: Path, runs: Path) -> str:
    return folder.relative_to(runs).as_posix() if folder != runs else folder.name


def _with_reports(
    results: Sequence[Result], called: dict[Path, str], out: Path
) -> tuple[list[Result], dict[Path, str]]:
    """Write the report of each run let in; return what is left, and addresses from the page."""
    accepted = [called[one.folder] for one in results if isinstance(one, Accepted)]
    names = exchange.folder_names(accepted)
    kept: list[Result] = []
    links = {}
    for one in results:
        if isinstance(one, Accepted):
            link = f"reports/{names[called[one.folder]]}.html"
            try:
                with Run(one.folder) as run:
                    write_report(run, out / link, ReportOptions())
                links[one.folder] = link
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 (files beside the store can hold anything)
                one = Refused(one.folder, f"its report cannot be written ({error!r:.80})")
        kept.append(one)
    return kept, links


def _lines(rows: Sequence[Row], links: dict[Path, str]) -> list[Line]:
    """Return the lines of a table, the best player first."""
    rows = sorted(rows, key=lambda row: (row.lost.mean, row.name))
    by_lost, by_right = ranks([r.lost for r in rows], -1), ranks([r.right for r in rows], 1)
    return [
        Line(
            row,
            words(row.lost),
            words(row.right),
            words(row.unused),
            "" if math.isnan(row.invalid) else f"{row.invalid:.1f}",
            _rank(lost),
            _rank(right),
            _alike(row, [rows[other] for other in lost.alike], len(rows)),
            links.get(row.folder, ""),
        )
        for row, lost, right in zip(rows, by_lost, by_right, strict=True)
    ]


def _rank(ranked: Ranked) -> str:
    return f"{ranked.first}" if ranked.first == ranked.last else f"{ranked.first} to {ranked.last}"


def _alike(row: Row, others: Sequence[Row], count: int) -> str:
    names = [
        one.strategy if one.model in ("", row.model) else f"{one.model}, {one.strategy}"
        for one in others
    ]
    if not names:
        return "told apart from all others" if count > 1 else ""
    more = f" and {len(names) - _ALIKE} more" if len(names) > _ALIKE else ""
    return f"cannot be told apart from {'; '.join(names[:_ALIKE])}{more}"


def published() -> list[Published]:
    """Return the published rows, the best player first.

    Means over the games and partners that a source reports of a player, regret in percent of what
    can be lost in them over the source's number of steps. Other settings than the suite's, so they
    are in no ranking. Where several tables report a number, the first one counts.
    """
    by_player: dict[tuple[str, str], dict[str, dict[tuple[str, str], float]]] = {}
    for _, row in csv_rows(results_path("reported_results"), COLUMNS):
        task, player = (row["game"], row["partner"]), (row["model"], row["prompting"])
        if row["metric"] in (FUNCTIONAL, LITERAL) and row["mean"]:
            mine = by_player.setdefault(player, {}).setdefault(row["metric"], {})
            value = float(row["mean"])
            if row["metric"] == FUNCTIONAL:
                value *= 100 / _range(*task)
            mine.setdefault(task, value)
    shown = [
        Published(*player, _mean(said.get(FUNCTIONAL)), _mean(said.get(LITERAL)), _tasks(said))
        for player, said in by_player.items()
    ]
    return sorted(shown, key=lambda line: (math.isnan(line.lost), line.lost, line.right))


def _range(game: str, partner: str) -> float:
    table = get_game(game)
    partners = get_partner_set(partner, table)
    said = (_PUBLISHED_STEPS, "stationary")  # what the published regret is measured from
    ends = attainable(table, tuple(partners.partners), tuple(partners.weights), *said)
    return float(ends.regret_max - ends.regret_min)


def _mean(values: Mapping[tuple[str, str], float] | None) -> float:
    return float(np.mean([*values.values()])) if values else math.nan


def _tasks(said: dict[str, dict[tuple[str, str], float]]) -> str:
    tasks = dict.fromkeys(task for values in said.values() for task in values)
    return ", ".join(f"{game} {partner}" for game, partner in tasks)
