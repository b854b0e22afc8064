"""Put a report together and write it."""

from __future__ import annotations

import base64
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from tomeval import __version__
from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.core.text import visible
from tomeval.report import facts
from tomeval.report.comparisons import report_rows
from tomeval.report.facts import counted
from tomeval.report.markup import grid_html
from tomeval.report.rows import Rows, grid_of, is_number
from tomeval.report.tables import Grid
from tomeval.report.transcripts import games as shown_games
from tomeval.report.views import cells_notes
from tomeval.runs import tallies
from tomeval.runs.columns import ATTAINABLE, RATES
from tomeval.runs.measures import Measure
from tomeval.runs.notes import mass_notes, random_notes
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
    environment.globals |= {"grid_html": grid_html, "grid_of_rows": _plain}
    return environment


def _plain(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Return rows of texts as a table, every column of them."""
    return Grid([], list(rows[0]), [list(map(str, row.values())) for row in rows])


def _context(run: Run, by: str | None, games: bool, figures: bool) -> dict[str, Any]:
    """Return what the template reads."""
    whole, left_out = first_part(run)
    names = whole.shown
    rows = whole.rows()
    valued = [n for n in whole.measures if any(is_number(row[n]) for row in rows)]
    measures = [whole.measures[name] for name in valued or whole.measures]
    others = [one.name for one in measures if one.name not in names]
    words = "more measures of the same cells"
    more = [Further(words, _cells(rows, whole.measures, others), [])] if others else []
    judged = [whole.measures[name] for name in whole.headline]
    style = (_HERE / "assets" / "report.css").read_text(encoding="utf-8")
    return {
        "version": __version__,
        "style": Markup(style),
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii"),
        "name": run.name,
        "kind": whole.domain.title,
        "headline": facts.headline(whole),
        "notices": notices(whole, left_out),
        "table": _cells(rows, whole.measures, names),
        "further": [*more, *_further(whole)],
        "interval": facts.interval_words(whole),
        "compared": _compared(whole, by),
        "drawings": _figures(whole) if figures and any(row["episodes"] for row in rows) else [],
        "games": shown_games(whole, judged) if games else [],
        "settings": facts.settings(whole),
        "facts": whole.domain.facts(whole),
        "meanings": facts.meanings(measures),
    }


class Further(NamedTuple):
    """A table besides the first one: what it shows, or why there is none; sentences below it."""

    about: str
    table: Grid | None
    notes: list[str]


def _compared(run: Run, by: str | None) -> Further:
    """Return the differences between players."""
    rows, above, notes = report_rows(run, by, run.scores or run.headline)
    return Further(". ".join([*above, ""]).strip(), grid_of(rows) if rows else None, notes)


def _further(run: Run) -> list[Further]:
    """Return the further tables that a run has data for and a report shows."""
    tables = ((table, table.rows(run, [])) for table in run.tables.values() if table.reported(run))
    return [
        Further(table.about, grid_of(rows, run.measures), table.notes(run))
        for table, rows in tables
        if rows
    ]


def _cells(rows: Rows, measures: Mapping[str, Measure], shown: Collection[str]) -> Grid:
    """Return the table of cells, of the measures only those that are `shown`."""
    out = tuple(name for name in measures if name not in shown)
    kept = [
        {
            name: value
            for name, value in row.items()
            if re.sub(rf"(_ci95.*|{ATTAINABLE})$", "", name) not in out
        }
        for row in rows
    ]
    return grid_of(kept, measures, keep=(next(iter(rows[0])), *RATES, "episodes"))


# A browser tells a picture whether the page around it is dark.
_DARK = (
    "<style>@media (prefers-color-scheme: dark) "
    "{ svg { filter: invert(1) hue-rotate(180deg) } }</style>"
)


def _figures(run: Run) -> list[dict[str, Any]]:
    """Return the figures of a run for the template, each with the address that holds its SVG.

    They are drawn as for one of two columns: a narrow screen shows these without scaling down.
    """
    from tomeval.plots import Options, chosen, draw_one, picture

    figures: list[dict[str, Any]] = []
    how = Options("single")
    with warnings.catch_warnings():
        # A label may have characters that the font lacks; a box stands for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for name in chosen(run):
            # What this run has no data for is left out.
            for drawing in draw_one(run, name, how):
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


class Notice(NamedTuple):
    """A warning: `level` is ``serious`` or ``note``, `text` one or two sentences."""

    level: str
    text: str


def notices(run: Run, left_out: str = "") -> list[Notice]:
    """Return the warnings of a run, serious ones first; `left_out` says what the page lacks."""
    serious = [left_out] * bool(left_out) + [*_serious(run), *random_notes(run), *mass_notes(run)]
    notes = [note for note in cells_notes(run, ()) if note not in serious]
    notes += [
        f"the revision of a model was not recorded: {name}"
        for name, revision in facts.revisions(run).items()
        if not revision
    ]
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
    ):
        if count:
            yield text
