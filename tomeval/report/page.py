"""Put a report together and write it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.core.outcomes import INVALID_REASONS
from tomeval.core.text import UNSEEN, visible
from tomeval.report import facts, notices
from tomeval.report.blocks import Block, asset
from tomeval.report.drawings import Figures
from tomeval.report.episodes import Episodes
from tomeval.report.sentences import compared_by, statements, summary
from tomeval.report.table import comparison_table, main_table
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO, FEW

_HERE = Path(__file__).parent
_SCRIPTS = ("theme", "dom", "tables", "calling", "transcript")
# The same rule for what the script shows; JavaScript writes characters beyond 16 bits otherwise.
_UNSEEN_SCRIPT = "const UNSEEN = /[" + re.sub(r"\\U000(\w{5})", r"\\u{\1}", UNSEEN) + "]/gu;"


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Attributes
    ----------
    interval : {"auto", "normal", "t", "bca"}
        How the table's intervals are made, see `tomeval.statistics.estimate`.
    reference : str, optional
        What regret is measured from, if the domain knows several; overrides the cells' own.
    by, baseline : str, optional
        What is compared, and with which level; see `tomeval.comparing.compare`. Default: the first
        of `Domain.by` that has several levels, and the first of these.
    transcripts : int, optional
        Number of episodes per cell whose prompts and replies are included. Default: see
        `tomeval.report.episodes.Episodes`.
    figures : bool
    only : sequence of str
        Names of the figures to draw; default: all that the run supports.
    workers : int
        Processes that draw the figures of a large run. The page does not depend on it. With more
        than one, a script must guard its main part, as always with multiprocessing.
    """

    interval: str = AUTO
    reference: str | None = None
    by: str | None = None
    baseline: str | None = None
    transcripts: int | None = None
    figures: bool = True
    only: Sequence[str] = ()
    workers: int = 1


def write_report(run: Run, out: Path, options: ReportOptions | None = None) -> Path:
    """Write the report of a run as one HTML file, replaced in one step when it is complete.

    The file loads nothing from elsewhere and runs only its own script: its content security policy
    allows nothing else. The same run and options give the same file.

    Raises
    ------
    TomevalError
        The run is damaged or has no cell; a wrong option; a file that cannot be written.
    """
    options = options or ReportOptions()
    with replacing(out) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for part in _pieces(run, options):
            file.write(part)
    return out


def _pieces(run: Run, options: ReportOptions) -> Iterator[str]:
    """Yield the page's text; the blocks of episodes are made one by one as they are written."""
    if not run.cells:
        raise TomevalError(f"{run.folder}: has no cell, nothing to report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=_seen,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html.j2")
    rows = run.rows(options.interval, options.reference)
    figures = None
    if options.figures and any(row["episodes"] for row in rows):
        figures = Figures(run, options.interval, options.reference, options.workers, options.only)
    try:
        yield from page.generate(**_context(run, rows, figures, options))
    finally:
        if figures is not None:
            figures.stop()


def _context(
    run: Run, rows: list[dict[str, Any]], figures: Figures | None, options: ReportOptions
) -> dict[str, Any]:
    """Return what the template reads."""
    episodes = Episodes(run, options.transcripts, options.reference)
    style = _sealed(asset("report.css"))
    scripts = [_UNSEEN_SCRIPT, *(asset(f"{name}.js") for name in _SCRIPTS)]
    script = _sealed("\n".join((*scripts, episodes.browser.script, asset("browser.js"))))
    comparison = _comparison(run, options)
    # Base64 needs no escaping, which would take long.
    blocks: Iterable[Block] = (b._replace(text=Markup(b.text)) for b in episodes.blocks())
    if figures is not None and figures.beside:
        blocks = list(blocks)  # packed while the figures are drawn
    table = main_table(rows, run.measures)
    keys = [column.key for column in table.columns]
    shown = [run.measures[key] for key in keys if key in run.measures]
    drawings, glyphs = figures.page() if figures is not None else ([], Markup())
    return {
        "policy": _policy(style, script),
        "style": Markup(style),
        "script": Markup(script),
        "blocks": blocks,
        "version": __version__,
        "name": run.name,
        "kind": run.domain.title,
        "sizes": facts.sizes(run, episodes.total, episodes.steps),
        "notices": notices.notices(run, episodes, options.interval),
        "invalid": notices.invalid_rows(run),
        "reasons": [reason.replace("_", " ") for reason in INVALID_REASONS],
        "table": table,
        "numbers": [cell.number for cell in run.cells],
        "interval": _interval(run, options.interval),
        "comparison": comparison,
        "paired": run.domain.paired,
        "drawings": drawings,
        "glyphs": glyphs,
        "settings": facts.settings(run),
        "facts": run.domain.facts(run),
        "sessions": facts.sessions(run),
        "meanings": facts.meanings(run, shown),
        "listed": [run.measures[name] for name in run.headline],
        "drawn": episodes.drawn,
    }


_INTERVALS = {
    AUTO: "mean over complete episodes with its 95 % interval: ± half of Student's below "
    f"{FEW} episodes, ± 1.96 standard errors from there on",
    "normal": "mean over complete episodes, ± 1.96 standard errors (95 %)",
    "t": "mean over complete episodes, ± half of Student's 95 % interval",
    "bca": "mean over complete episodes, weighted by what they drew (such as their partner), with "
    "its 95 % BCa bootstrap interval",
}


def _seen(value: Any) -> Any:
    """Return what the template puts in, made visible: the one place for all of the page's text."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _interval(run: Run, interval: str) -> str:
    """Say how the table's numbers are made."""
    shares = any(cell.totals(name).share for cell in run.cells for name in run.measures)
    return _INTERVALS[interval] + "; shares of items have Wilson's interval" * shares


def _sealed(text: str) -> str:
    """Return a style sheet or script, which must not hold anything that ends its element early."""
    for end in ("</script", "</style", "<!--"):
        if end in text.lower():
            raise ValueError(f"an asset holds {end!r}")
    return text


def _policy(style: str, script: str) -> str:
    """Return the content security policy: this script and this style sheet, nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _comparison(run: Run, options: ReportOptions) -> dict[str, Any]:
    """Return the comparison for the template, or why there is none."""
    from tomeval.comparing.comparison import compare

    by = options.by or compared_by(run)
    if by is None:
        return {"reason": f"The run has one {run.domain.by[0]} only: there is nothing to compare."}
    try:
        found = compare(
            run,
            by,
            options.baseline,
            metrics=run.headline,
            reference=options.reference,
            by_task=False,  # the page shows Student's intervals
        )
    except TomevalError as error:
        if options.by or options.baseline:
            raise
        return {"reason": f"No comparison: {error}."}
    return {
        "reason": "",
        "by": found.by,
        "baseline": found.baseline,
        "scope": found.scopes[0],
        "summary": summary(found),
        "statements": statements(found),
        "notes": found.notes,
        "family": found.family,
        "resamples": found.resamples,
        "table": comparison_table(found, run.measures),
    }
