"""Put a report together and write it."""

from __future__ import annotations

import base64
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.core.text import UNSEEN, visible
from tomeval.report import facts, notices
from tomeval.report.blocks import Block, asset
from tomeval.report.compared import comparisons
from tomeval.report.episodes import Episodes
from tomeval.report.table import results, valued
from tomeval.runs.results import Run
from tomeval.runs.selection import choose_measures, first_part
from tomeval.statistics.estimates import AUTO

_HERE = Path(__file__).parent
_FRAME = ("theme", "dom", "file", "tables", "calling")
_SCRIPTS = (*_FRAME, "transcript", "browser", "start")
# The same rule for what the script shows; JavaScript writes characters beyond 16 bits otherwise.
UNSEEN_SCRIPT = "const UNSEEN = /[" + re.sub(r"\\U000(\w{5})", r"\\u{\1}", UNSEEN) + "]/gu;"


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Attributes
    ----------
    interval : {"auto", "normal", "t", "bca", "sequence"}
        How the table's intervals are made, see `tomeval.statistics.estimate`.
    reference : str, optional
        What regret is measured from, if the domain knows several; overrides the cells' own.
    by, baseline : str, optional
        What is compared, and with which level; see `tomeval.comparing.compare`. Default: the first
        of `Compare.by` that has several levels, and the first of these.
    transcripts : int, optional
        Number of episodes per cell whose prompts and replies are included. Default: see
        `tomeval.report.episodes.Episodes`.
    figures : bool
    only : sequence of str
        Names of the figures to draw; default: `Show.first_figures`.
    all_figures : bool
        Draw all figures that the run supports.
    metrics : sequence of str
        The measures of the tables, as `tomeval.runs.selection.choose_measures` reads them; default:
        the headline ones. All others are in a table that opens on demand.
    """

    interval: str = AUTO
    reference: str | None = None
    by: str | None = None
    baseline: str | None = None
    transcripts: int | None = None
    figures: bool = True
    only: Sequence[str] = ()
    all_figures: bool = False
    metrics: Sequence[str] = ()


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
    run, left_out = first_part(run)
    with replacing(out) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for part in _pieces(run, options, left_out):
            file.write(part)
    return out


def _pieces(run: Run, options: ReportOptions, left_out: str) -> Iterator[str]:
    """Yield the page's text; the blocks of episodes are made one by one as they are written."""
    if not run.cells:
        raise TomevalError(f"{run.folder}: has no cells to report")
    page = environment().get_template("page.html.j2")
    names = choose_measures(run.measures, options.metrics) or list(run.shown)
    rows = run.rows(options.interval, options.reference)
    yield from page.generate(**_context(run, rows, names, options, left_out))


def environment(*more: Path) -> jinja2.Environment:
    """Return what renders the page's templates, and those in `more` folders."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*more, _HERE / "templates"]),
        autoescape=True,
        finalize=_seen,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _context(
    run: Run,
    rows: list[dict[str, Any]],
    names: list[str],
    options: ReportOptions,
    left_out: str,
) -> dict[str, Any]:
    """Return what the template reads."""
    episodes = Episodes(run, options.transcripts, options.reference, names)
    comparison = comparisons(
        run, names, options.by, options.baseline, options.reference, options.interval
    )
    # Base64 needs no escaping, which would take long.
    blocks: Iterable[Block] = (b._replace(text=Markup(b.text)) for b in episodes.blocks())
    drawings: list[dict[str, Any]] = []
    if options.figures and any(row["episodes"] for row in rows):
        drawings = page_figures(
            run, options.interval, options.reference, options.only, options.all_figures
        )
    return {
        **frame_of(_SCRIPTS),
        "blocks": blocks,
        "name": run.name,
        "kind": run.domain.title,
        "sizes": facts.sizes(run, episodes.total, episodes.steps),
        "headline": facts.headline(run, rows, names),
        "notices": notices.notices(run, episodes, options.interval, left_out),
        **notices.of_answers(run),
        **results(run, rows, names, options.interval),
        "comparison": comparison,
        "drawings": drawings,
        "rest": drawings[1:],
        "settings": facts.settings(run),
        "facts": run.domain.show.facts(run),
        "sessions": facts.sessions(run),
        "meanings": facts.meanings(run, valued(run, rows)),
        "listed": [run.measures[name] for name in names],
        "drawn": episodes.drawn,
    }


def frame_of(scripts: Sequence[str]) -> dict[str, Any]:
    """Return what every page's template reads: its style sheet, its scripts, what may run in it."""
    style = _sealed(asset("report.css"))
    script = _sealed("\n".join((UNSEEN_SCRIPT, *(asset(f"{one}.js") for one in scripts))))
    return {
        "policy": _policy(style, script),
        "style": Markup(style),
        "script": Markup(script),
        "version": __version__,
    }


# A browser tells a picture whether the page around it is dark.
_DARK = (
    "<style>@media (prefers-color-scheme: dark) "
    "{ svg { filter: invert(1) hue-rotate(180deg) } }</style>"
)


def page_figures(
    run: Run,
    interval: str,
    reference: str | None = None,
    only: Sequence[str] = (),
    every: bool = False,
) -> list[dict[str, Any]]:
    """Return the figures of a run for the template, each with the address that holds its SVG.

    They are drawn as for one of two columns: a narrow screen shows these without scaling down.
    `only` and `every` choose as in `tomeval.plots.registry.chosen`.
    """
    from tomeval.plots import Options, chosen, draw_one, picture, plain_style

    figures: list[dict[str, Any]] = []
    how = Options("single", interval, reference)
    with warnings.catch_warnings(), plain_style():
        # A label may have characters that the font lacks; a box stands for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for name in chosen(run, only, every=every):
            # Of `Show.first_figures`, files that this run has not are left out.
            for drawing in draw_one(run, name, how, asked=bool(only)):
                drawn = picture(drawing, "svg", transparent=True).decode("utf-8")
                start, end = drawn.index("<svg"), drawn.index(">", drawn.index("<svg")) + 1
                data = base64.b64encode((drawn[start:end] + _DARK + drawn[end:]).encode("utf-8"))
                figures.append(
                    {
                        "id": f"figure-{len(figures)}",
                        "title": drawing.title,
                        "caption": drawing.caption,
                        "description": drawing.description,
                        "source": f"data:image/svg+xml;base64,{data.decode('ascii')}",
                    }
                )
    return figures


def _seen(value: Any) -> Any:
    """Return what the template puts in, made visible: the one place for all of the page's text."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
        "img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
