"""Tables for LaTeX, with booktabs rules, and for pages and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from tomeval.core.numbers import typeset
from tomeval.core.text import in_line, visible
from tomeval.report.tables import VALUE, Grid, is_numeric

ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "–": "--",
    "−": r"$-$",
    "√": r"$\surd$",
}


def escape(text: str) -> str:
    r"""Return text with LaTeX's special characters written out; a line break becomes a space.

    What acts or is not seen stands as an escape, see `tomeval.core.text.visible`.

    Examples
    --------
    >>> print(escape("50 %\n\x1b"))
    50 \% \textbackslash{}x1b
    """
    return "".join(ESCAPES.get(char, char) for char in " ".join(visible(text).split()))


def latex_table(caption: str, grid: Grid) -> str:
    r"""Return a table in booktabs style: a longtable, which goes on over pages.

    Columns of numbers stand at the right.

    Examples
    --------
    >>> print(latex_table("", Grid([], ["x"], [["1.5 ± 0.25"]])).splitlines()[-2])
    1.5 $\pm$ 0.25 \\
    """
    import pandas

    body = [list(map(escape, cells)) for cells in grid.body]
    frame = pandas.DataFrame(body, columns=list(map(_heading, grid.heads)))
    sides = "".join("r" if is_numeric(cells) else "l" for cells in grid.columns)
    made = frame.to_latex(
        index=False,
        escape=False,
        longtable=True,
        column_format=sides,
        caption=escape(caption) or None,
    )
    return f"% needs: \\usepackage{{booktabs, longtable}}\n{made.strip()}"


def _heading(text: str) -> str:
    """Return a heading, its levels below each other."""
    levels = [escape(level) for level in text.split("\n") if level]
    stacked = r" \\ ".join(levels)
    return stacked if len(levels) == 1 else rf"\shortstack{{{stacked}}}"


def grid_html(grid: Grid, caption: str) -> Markup:
    """Return a table, its texts escaped.

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
    body = [line(list(map(_value, cells))) for cells in grid.body]
    titled = Markup("<caption><span>%s</span></caption>") % in_line(caption)
    head, rows = line(heads, head=True), Markup("").join(body)
    return Markup("<table>%s<thead>%s</thead><tbody>%s</tbody></table>") % (
        titled,
        head,
        rows,
    )


def _value(text: str) -> Markup:
    """Return a cell: a number with a true minus sign, its interval in small."""
    value = VALUE.fullmatch(text)
    if value is None:
        return Markup("%s") % in_line(text)
    number, rest = typeset(value[1]), typeset(text[len(value[1]) :].strip())
    return Markup("%s") % number + (Markup(" <small>%s</small>") % rest if rest else "")
