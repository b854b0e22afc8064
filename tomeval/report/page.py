"""Put a report together and write it."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import INVALID_REASONS
from tomeval.report import facts, notices
from tomeval.report.blocks import Block
from tomeval.report.drawings import Figures
from tomeval.report.episodes import Episodes
from tomeval.report.meanings import meanings
from tomeval.report.sentences import COMPARED, compared_by, statements, summary
from tomeval.report.sentences_table import comparison_table
from tomeval.report.table import main_table
from tomeval.runs.results import Run

_HERE = Path(__file__).parent
_SCRIPTS = ("theme", "dom", "tables", "calling", "transcript", "browser")


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Attributes
    ----------
    interval : {"normal", "t", "bca"}
        How the table's intervals are made, see `tomeval.statistics.estimate`.
    reference : {"horizon", "stationary"}, optional
        What ΔFunctional is measured from; overrides the cells' own.
    by, baseline : str, optional
        What is compared, and with which; see `tomeval.comparing.compare`. Default: strategies where
        there are several, else models, else label sets; the first of them.
    transcripts : int, optional
        Of how many episodes per cell prompts and replies are included. Default: see
        `tomeval.report.episodes.Episodes`.
    figures : bool
        Whether figures are drawn.
    workers : int
        Processes that draw the figures of a large run beside this one; the page does not depend on
        it. More than 1 needs a script that guards its main part, as multiprocessing does.
    """

    interval: str = "normal"
    reference: str | None = None
    by: str | None = None
    baseline: str | None = None
    transcripts: int | None = None
    figures: bool = True
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
    draft = out.with_name(f".{out.name}.new")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for part in _pieces(run, options):
                file.write(part)
        os.replace(draft, out)
    except OSError as error:
        raise TomevalError(f"{out}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            draft.unlink()
    return out


def _pieces(run: Run, options: ReportOptions) -> Iterator[str]:
    """Yield the page's text; the blocks of episodes are made one by one as they are written."""
    if not run.cells:
        raise TomevalError(f"{run.folder}: has no cell, nothing to report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html.j2")
    rows = run.rows(options.interval, options.reference)
    figures = None
    if options.figures and any(row["episodes"] for row in rows):
        figures = Figures(run, options.interval, options.reference, options.workers)
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
    style, script = _asset("report.css"), "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    comparison = _comparison(run, options)
    blocks = _marked(episodes.blocks())
    if figures is not None and figures.beside:
        blocks = iter(list(blocks))  # packed while the figures are drawn
    drawings, glyphs = figures.page() if figures is not None else ([], Markup())
    return {
        "policy": _policy(style, script),
        "style": Markup(style),
        "script": Markup(script),
        "blocks": blocks,
        "version": __version__,
        "name": str(run.store.meta().get("name", run.folder.name)),
        "sizes": facts.sizes(run, episodes),
        "notices": notices.notices(run, episodes, options.interval),
        "invalid": notices.invalid_rows(run),
        "reasons": [reason.replace("_", " ") for reason in INVALID_REASONS],
        "table": main_table(rows, run.metric_names),
        "numbers": [cell.number for cell in run.cells],
        "interval": _INTERVALS[options.interval],
        "comparison": comparison,
        "drawings": drawings,
        "glyphs": glyphs,
        "settings": facts.settings(run),
        "subjects": facts.subjects(run),
        "partners": facts.partners(run),
        "payoffs": facts.payoffs(run),
        "sessions": facts.sessions(run),
        "meanings": meanings(run.metric_names),
    }


_INTERVALS = {
    "normal": "mean over complete episodes, ± 1.96 standard errors (95 %)",
    "t": "mean over complete episodes, ± half of Student's 95 % interval",
    "bca": "mean over complete episodes weighted by partner, with its 95 % BCa bootstrap interval",
}


def _asset(name: str) -> str:
    """Return a style sheet or script; what would end its element early must not be in it."""
    text = (_HERE / "assets" / name).read_text(encoding="utf-8")
    for end in ("</script", "</style", "<!--"):
        if end in text.lower():
            raise ValueError(f"{name} holds {end!r}")
    return text


def _policy(style: str, script: str) -> str:
    """Return the content security policy: nothing but this very script and style sheet."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _marked(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks whose text, base64 alone, is not escaped again: that takes long for nothing."""
    for block in blocks:
        yield block._replace(text=Markup(block.text))


def _comparison(run: Run, options: ReportOptions) -> dict[str, Any]:
    """Return the comparison for the template, or why there is none."""
    from tomeval.comparing.comparison import compare

    by = options.by or compared_by(run)
    if by is None:
        return {"reason": "The run has one subject only: there is nothing to compare."}
    try:
        found = compare(run, by, options.baseline, metrics=COMPARED, reference=options.reference)
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
        "table": comparison_table(found),
    }
