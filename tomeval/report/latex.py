"""Tables for LaTeX: booktabs rules, siunitx columns, ± aligned, the best value of a task bold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tomeval.core.errors import TomevalError
from tomeval.core.text import visible
from tomeval.report.tables import Grid, sectioned, spans
from tomeval.report.text import heading_lines

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
NEEDS = r"""% needs: \usepackage{booktabs, siunitx, etoolbox}
%        \robustify\bfseries \sisetup{detect-weight = true}"""
PAGE = 345.0
"""Width of the text of a page, in points."""

ROWS = 45
"""Most rows of a float, those of all its parts together."""

_SEPARATION = 12.0
_LABEL = re.compile(r"[A-Za-z0-9:._/+-]+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_PAIR = re.compile(r"(-?\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)")


def escape(text: str) -> str:
    r"""Return text with LaTeX's special characters written out; a line break becomes a space.

    What acts or is not seen stands as an escape, see `tomeval.core.text.visible`.

    Examples
    --------
    >>> print(escape("50 %\n\x1b"))
    50 \% \textbackslash{}x1b
    """
    return "".join(ESCAPES.get(char, char) for char in " ".join(visible(text).split()))


def latex_table(caption: str, grid: Grid, label: str = "") -> str:
    r"""Return a table in booktabs style that fits a page.

    Parameters
    ----------
    caption : str
        Plain text; empty for none.
    grid : Grid
        Its cells as they are read: ``97.41 ± 0.40``, ``0.5``, ``–`` for nothing, or text.
    label : str
        For ``\ref``; empty for none.

    Raises
    ------
    TomevalError
        A label with characters other than letters, digits and ``:._/+-``.

    Notes
    -----
    A column of numbers is a siunitx ``S`` column; one with ± is two, with the sign between them, so
    that decimal points and signs align in every version of siunitx. Other columns are text. What is
    best of its task is bold. The comment in front names the packages.

    The text is taken to be `PAGE` points wide, as that of LaTeX's article class at 10 points. A
    wider table has a leading column's values above groups of rows, or goes on below itself, each
    part with the columns that tell rows apart. More than `ROWS` rows go on in further floats, whose
    labels end in ``-2``, ``-3`` and so on.

    Examples
    --------
    >>> grid = Grid([], [("x",)], [["1.5 ± 0.25"]], best={(0, 0)})
    >>> print(latex_table("", grid, "tab:one").splitlines()[-4])
    \bfseries 1.5 & \bfseries 0.25 \\
    """
    if label and not _LABEL.fullmatch(label):
        raise TomevalError(f"--label {label!r}: use letters, digits and : . _ / + - only")
    grid, parts = min(((g, _parts(g)) for g in (grid, *sectioned(grid))), key=lambda p: len(p[1]))
    most = max(1, ROWS // len(parts))
    order = [row for _, rows in grid.groups for row in rows]
    floats = [order[n : n + most] for n in range(0, len(order), most)]
    lines = [NEEDS]
    for number, rows in enumerate(floats or [[]], start=1):
        said = caption + " (continued)" * (number > 1 and bool(caption))
        reference = label + f"-{number}" * (number > 1 and bool(label))
        lines += [r"\begin{table}", r"\centering\small"]
        lines += [rf"\caption{{{escape(said)}}}"] if said else []
        lines += [rf"\label{{{reference}}}"] if reference else []
        for index, part in enumerate(parts):
            lines += ["", r"\medskip", ""] if index else []
            lines += _tabular(grid.of(part, rows))
        lines.append(r"\end{table}")
    return "\n".join(lines)


def _parts(grid: Grid) -> list[list[int]]:
    """Return the columns of the parts that stand below each other."""
    return grid.parts([_points(grid, column) for column in range(len(grid.heads))], PAGE)


def _points(grid: Grid, place: int) -> float:
    """Return about how wide a column is, in points, with the space around it."""
    cells = [row[place] for row in grid.body]
    head = heading_lines(grid.heads[place][-1], max(map(len, cells), default=0))
    texts = [*cells, *head]
    return _SEPARATION + max(sum(map(_width, text)) for text in texts)


def _width(char: str) -> float:
    """Return about how wide a character is in points; bold, as some of a column are."""
    if char in "iljtf.,:;'|!()[] ":
        return 3.0
    if char in "mwMWΔ±-–":
        return 8.0
    return 6.8 if char.isupper() else 5.3


def _tabular(grid: Grid) -> list[str]:
    """Return the lines of one part."""
    columns = [_column([row[i] for row in grid.body]) for i in range(len(grid.heads))]
    lines = [
        rf"\begin{{tabular}}{{{' '.join(column.spec for column in columns)}}}",
        r"\toprule",
        *_levels(grid, columns),
        _line(
            column.head(levels[-1], max((len(row[i]) for row in grid.body), default=0))
            for i, (column, levels) in enumerate(zip(columns, grid.heads, strict=True))
        ),
        r"\midrule",
    ]
    for name, rows in grid.groups:
        if name:
            width = sum(column.width for column in columns)
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{escape(name)}}}}} \\")
        for number in rows:
            cells = enumerate(zip(columns, grid.body[number], strict=True))
            texts = [column.cell(text, (number, i) in grid.best) for i, (column, text) in cells]
            lines.append(r"\quad " * bool(name) + _line(texts))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _levels(grid: Grid, columns: Sequence[_Column]) -> Iterator[str]:
    """Yield the lines of headings above several columns, with rules below them."""
    levels = [heads[:-1] for heads in grid.heads]
    ends = list(accumulate(column.width for column in columns))
    for level in range(len(levels[0])):
        cells, rules = [], []
        for first, last in spans(levels, level):
            text, end = levels[first][level], ends[last]
            begin = ends[first] - columns[first].width + 1
            cells.append(rf"\multicolumn{{{end - begin + 1}}}{{c}}{{{escape(text)}}}")
            rules += [rf"\cmidrule(lr){{{begin}-{end}}}"] if text else []
        yield _line(cells)
        yield " ".join(rules)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


@dataclass(frozen=True)
class _Column:
    """How one column is set: ``text``, ``number`` or ``pair``."""

    kind: str
    spec: str

    @property
    def width(self) -> int:
        """How many columns of LaTeX it takes."""
        return 2 if self.kind == "pair" else 1

    def head(self, text: str, room: int) -> str:
        """Return the heading, in several lines if it has more characters than `room`."""
        lines = [escape(line) for line in heading_lines(text, room)]
        stacked = r" \\ ".join(lines)
        text = lines[0] if len(lines) == 1 else rf"\shortstack{{{stacked}}}"
        if self.kind == "pair":
            return rf"\multicolumn{{2}}{{c}}{{{text}}}"
        return f"{{{text}}}" if self.kind == "number" else text

    def cell(self, text: str, bold: bool) -> str:
        """Return one cell."""
        if self.kind == "text":
            return rf"\textbf{{{escape(text)}}}" if bold else escape(text)
        weight = r"\bfseries " if bold else ""
        halves = _PAIR.fullmatch(text)
        if self.kind == "pair" and halves:
            return f"{weight}{halves[1]} & {weight}{halves[2]}"
        if self.kind == "pair":
            side = "l" if _NUMBER.fullmatch(text) else "c"
            return rf"\multicolumn{{2}}{{{side}}}{{{weight}{escape(text)}}}"
        return f"{weight}{text}" if _NUMBER.fullmatch(text) else f"{{{escape(text)}}}"


def _column(cells: Sequence[str]) -> _Column:
    """Choose how a column is set from what is in it."""
    filled = [cell for cell in cells if cell not in ("", "–")]
    pairs = [halves for cell in filled if (halves := _PAIR.fullmatch(cell))]
    if pairs and all(_PAIR.fullmatch(cell) or _NUMBER.fullmatch(cell) for cell in filled):
        first = _format([halves[1] for halves in pairs])
        second = _format([halves[2] for halves in pairs])
        return _Column("pair", rf"S[{first}]@{{\,\( \pm \)\,}}S[{second}]")
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        return _Column("number", f"S[{_format(filled)}]")
    return _Column("text", "l")


def _format(numbers: Sequence[str]) -> str:
    """Return siunitx's ``table-format`` with room for all numbers."""
    sign = "-" if any(number.startswith("-") for number in numbers) else ""
    parts = [number.lstrip("-").partition(".") for number in numbers]
    whole = max(len(before) for before, _, _ in parts)
    return f"table-format={sign}{whole}.{max(len(after) for _, _, after in parts)}"
