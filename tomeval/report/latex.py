"""Tables for LaTeX, with booktabs rules."""

from __future__ import annotations

from tomeval.core.text import visible
from tomeval.report.tables import Grid, is_numeric

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
