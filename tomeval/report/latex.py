"""Tables for LaTeX: booktabs rules, ± aligned, the best value of a task bold."""

from __future__ import annotations

from collections.abc import Sequence

from tomeval.core.text import visible
from tomeval.report.tables import Grid
from tomeval.report.text import VALUE

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
PAGE = 88
"""About how many characters a line of a page holds; a wider table goes on below itself."""


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
    r"""Return a table in booktabs style.

    Parameters
    ----------
    caption : str
        Plain text; empty for none.
    grid : Grid
        Its cells as they are read: ``97.41 ± 0.40``, ``0.5``, ``–`` for nothing, or text.

    Notes
    -----
    A column of numbers stands at the right; one with ± is two, with the sign between them, so that
    decimal points and signs align. Best values are bold. It is a longtable, which goes on over
    pages; one of more than about `PAGE` characters goes on below itself, each part with the columns
    that tell rows apart.

    Examples
    --------
    >>> grid = Grid([], ["x"], [["1.5 ± 0.25"]], best={(0, 0)})
    >>> print(latex_table("", grid).splitlines()[-3])
    \textbf{1.5} & \textbf{0.25} \\
    """
    columns = list(zip(*grid.body, strict=True)) or [() for _ in grid.heads]
    sizes = [
        2 + max(len(text) for text in (*head.split("\n"), *cells))
        for head, cells in zip(grid.heads, columns, strict=True)
    ]
    said = [rf"\caption{{{escape(caption)}}} \\"] if caption else []
    lines = [r"% needs: \usepackage{booktabs, longtable}"]
    for number, part in enumerate(grid.parts(sizes, PAGE)):
        lines += [] if number == 0 else [""]
        lines += _longtable(grid.of(part), said if number == 0 else [])
    return "\n".join(lines)


def _longtable(grid: Grid, caption: list[str]) -> list[str]:
    """Return the lines of one part."""
    kinds = [_kind([row[i] for row in grid.body]) for i in range(len(grid.heads))]
    heads = []
    for head, kind in zip(grid.heads, kinds, strict=True):
        levels = [escape(level) for level in head.split("\n") if level]
        stacked = r" \\ ".join(levels)
        text = stacked if len(levels) == 1 else rf"\shortstack{{{stacked}}}"
        columns, side = (2, "c") if "@" in kind else (1, kind)
        heads.append(rf"\multicolumn{{{columns}}}{{{side}}}{{{text}}}")
    rows = [
        " & ".join(
            _cell(text, kind, (number, i) in grid.best)
            for i, (text, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + r" \\"
        for number, row in enumerate(grid.body)
    ]
    return [
        rf"\begin{{longtable}}{{{' '.join(kinds)}}}",
        *caption,
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        r"\endhead",
        *rows,
        r"\bottomrule",
        r"\end{longtable}",
    ]


def _kind(cells: Sequence[str]) -> str:
    """Return how a column is set: text at the left, numbers at the right, with ± as two columns."""
    values = [VALUE.fullmatch(cell) for cell in cells if cell not in ("", "–")]
    if not values or any(value is None or value[3] == " [" for value in values):
        return "l"
    return r"r@{ $\pm$ }r" if any(value and value[3] for value in values) else "r"


def _cell(text: str, kind: str, bold: bool) -> str:
    """Return one cell."""

    def weighted(part: str) -> str:
        return rf"\textbf{{{escape(part)}}}" if bold else escape(part)

    value = VALUE.fullmatch(text)
    if "@" not in kind:
        return weighted(text)
    if value and value[3]:
        return f"{weighted(value[1])} & {weighted(value[4])}"
    return rf"\multicolumn{{2}}{{l}}{{{weighted(text)}}}"
