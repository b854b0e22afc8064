"""Tables for pages and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tomeval.core.numbers import typeset
from tomeval.core.text import in_line
from tomeval.report.tables import Grid
from tomeval.report.text import VALUE, is_numeric


def grid_html(grid: Grid, caption: str = "", most: int | None = None) -> Markup:
    """Return a table, its texts escaped; of more than `most` rows the first ones.

    Values of columns of numbers hold their interval in small below them.
    """
    numeric = list(map(is_numeric, grid.columns))

    def line(texts: Sequence[Markup], head: bool = False) -> Markup:
        cells = Markup("")
        for column, text in enumerate(texts):
            tag = "th" if head or column == 0 else "td"
            scope = f' scope="{"col" if head else "row"}"' if tag == "th" else ""
            kind = ' class="number"' if numeric[column] else ""
            cells += Markup(f"<{tag}{scope}{kind}>%s</{tag}>") % text
        return Markup("<tr>%s</tr>") % cells

    heads = [Markup("<br>").join(map(in_line, head.split("\n"))) for head in grid.heads]
    body = [
        line([_value(text, (number, at) in grid.best) for at, text in enumerate(cells)])
        for number, cells in enumerate(grid.body[:most])
    ]
    titled = Markup("<caption><span>%s</span></caption>") % in_line(caption) if caption else ""
    head, rows = line(heads, head=True), Markup("").join(body)
    return Markup('<table class="sortable">%s<thead>%s</thead><tbody>%s</tbody></table>') % (
        titled,
        head,
        rows,
    )


def _value(text: str, best: bool) -> Markup:
    """Return a cell: a number with a true minus sign, its interval in small."""
    value = VALUE.fullmatch(text)
    if value is None:
        shown = Markup("%s") % in_line(text)
    else:
        number, rest = typeset(value[1]), typeset(text[len(value[1]) :].strip())
        shown = Markup("%s") % number + (Markup(" <small>%s</small>") % rest if rest else "")
    return Markup("<b>%s</b>") % shown if best else shown
