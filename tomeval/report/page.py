"""Put a report together and write it."""

from __future__ import annotations

import base64
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.core.text import in_line, visible
from tomeval.report import facts
from tomeval.report.comparisons import Section, compared
from tomeval.report.rows import Rows, grid_of, is_number
from tomeval.report.tables import Grid, is_numeric
from tomeval.report.transcripts import games as shown_games
from tomeval.report.views import Asked, cells_view, measures_view
from tomeval.runs.notes import mass_notes
from tomeval.runs.results import Run
from tomeval.runs.selection import first_part

_HERE = Path(__file__).parent


def write_report(
    run: Run, out: Path, *, by: str | None = None, games: bool = True, figures: bool = True
) -> Path:
    """Write the report of a run as one HTML file.

    The file loads nothing from elsewhere and runs no script: its content security policy allows
    none. It is replaced in one step when it is complete. The same run and options
    give the same file.

    Parameters
    ----------
    run, out
    by : str, optional
        What is compared. Default: see `tomeval.comparing.sides.compared_by`.
    games, figures : bool
        Whether it shows a few games with their prompts and replies, and the first figures.

    Raises
    ------
    TomevalError
        A run that is damaged or has no cell; a wrong option; a file that cannot be written.
    """
    if not run.cells:
        raise TomevalError(f"{run.folder}: has no cells to report")
    context = _context(run, by, games, figures)
    page = _environment().get_template("page.html.j2")
    with replacing(out) as draft:
        draft.write_text(page.render(context), encoding="utf-8", newline="\n")
    return out


def _environment() -> jinja2.Environment:
    """Return what renders the page: every text is escaped, and made visible before that."""

    def seen(value: Any) -> Any:
        plain = isinstance(value, str) and not isinstance(value, Markup)
        return visible(value) if plain else value

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=seen,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"in_line": in_line, "numeric": is_numeric}
    environment.globals["grid_of_rows"] = _plain
    return environment


def _plain(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return rows of texts as a table, every column of them."""
    return Grid([], list(rows[0]), [list(map(str, row.values())) for row in rows])


def _context(run: Run, by: str | None, games: bool, figures: bool) -> dict[str, Any]:
    """Return what the template reads."""
    whole, left_out = first_part(run)
    rows = whole.rows()
    valued = [n for n in whole.measures if any(is_number(row[n]) for row in rows)]
    measures = [whole.measures[name] for name in valued or whole.measures]
    view = cells_view([whole], Asked())
    judged = [whole.measures[name] for name in whole.headline]
    style = (_HERE / "assets" / "report.css").read_text(encoding="utf-8")
    return {
        "version": __version__,
        "style": Markup(style),
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii"),
        "name": run.name,
        "kind": whole.domain.title,
        "headline": facts.headline(whole),
        "notes": list(map(sentence, [*_more_notes(whole, left_out), *view.notes])),
        "tables": view.grids,
        "further": _further(whole, rows),
        "interval": facts.interval_words(whole),
        "comparison": compared(whole, by, whole.scores or whole.headline),
        "drawings": _figures(whole) if figures else [],
        "games": shown_games(whole, judged) if games else [],
        "settings": facts.settings(whole),
        "facts": whole.domain.facts(whole),
        "meanings": facts.meanings(measures),
    }


def _further(run: Run, rows: Rows) -> list[Section]:
    """Return the table of every measure, and further ones that a report shows of this run."""
    [every] = measures_view(run, rows, Asked(whole=True), str).grids
    tables = ((table, table.rows(run, [])) for table in run.tables.values() if table.reported(run))
    return [Section("every measure, a row per cell", "", "", every)] + [
        Section(table.about, "", "", grid_of(rows, run.measures), table.notes(run))
        for table, rows in tables
        if rows
    ]


def _more_notes(run: Run, left_out: str) -> list[str]:
    """Return what a table does not tell: what the page lacks, scores without mass, revisions."""
    unknown = [name for name, revision in facts.revisions(run).items() if not revision]
    more = [f"the revision of a model was not recorded: {name}" for name in unknown]
    return [*filter(None, [left_out]), *mass_notes(run), *more]


def sentence(text: str) -> str:
    """Return a note as a sentence."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


# A browser tells a picture whether the page around it is dark.
_DARK = (
    "<style>@media (prefers-color-scheme: dark) "
    "{ svg { filter: invert(1) hue-rotate(180deg) } }</style>"
)


def _figures(run: Run) -> list[dict[str, Any]]:
    """Return the figures of a run for the template, each with the address that holds its SVG.

    They are drawn as for one of two columns: a narrow screen shows these without scaling down.
    """
    from tomeval.plots import Options, draw, picture

    figures: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        # A label may have characters that the font lacks; a box stands for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        try:
            drawings = draw(run, options=Options("single"))
        except TomevalError:  # the data supports none
            drawings = []
        for drawing in drawings:
            drawn = picture(drawing, "svg", transparent=True).decode("utf-8")
            start, end = drawn.index("<svg"), drawn.index(">", drawn.index("<svg")) + 1
            data = base64.b64encode((drawn[start:end] + _DARK + drawn[end:]).encode("utf-8"))
            figures.append(
                {
                    "caption": drawing.caption,
                    "description": drawing.description,
                    "source": f"data:image/svg+xml;base64,{data.decode('ascii')}",
                }
            )
    return figures
