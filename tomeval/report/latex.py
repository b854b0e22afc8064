"""Tables for LaTeX: booktabs rules, siunitx columns, ± aligned, the best value of a task bold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tomeval.core.text import visible

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


def latex_table(
    caption: str, heads: Sequence[str], body: Sequence[Sequence[str]], best: set[tuple[int, int]]
) -> str:
    r"""Return a booktabs table.

    Parameters
    ----------
    caption : str
        Plain text; empty for none.
    heads : sequence of str
    body : sequence of sequence of str
        Cells as they are read: ``97.41 ± 0.40``, ``0.5``, ``–`` for nothing, or text.
    best : set of (int, int)
        Row and column of cells to print in bold.

    Notes
    -----
    A column of numbers is a siunitx ``S`` column; one with ± is two, with the sign between them, so
    that decimal points and signs align in every version of siunitx. Other columns are text. The
    comment in front names the packages.

    Examples
    --------
    >>> print(latex_table("", ["x"], [["1.5 ± 0.25"]], {(0, 0)}).splitlines()[-4])
    \bfseries 1.5 & \bfseries 0.25 \\
    """
    columns = [_column([row[i] for row in body]) for i in range(len(heads))]
    lines = [
        NEEDS,
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escape(caption)}}}"] if caption else []),
        rf"\begin{{tabular}}{{{' '.join(column.spec for column in columns)}}}",
        r"\toprule",
        _line(column.head(escape(head)) for column, head in zip(columns, heads, strict=True)),
        r"\midrule",
    ]
    for number, row in enumerate(body):
        cells = zip(columns, row, strict=True)
        lines.append(_line(c.cell(text, (number, i) in best) for i, (c, text) in enumerate(cells)))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


@dataclass(frozen=True)
class _Column:
    """How one column is set: ``text``, ``number`` or ``pair``."""

    kind: str
    spec: str

    def head(self, text: str) -> str:
        """Return the heading."""
        if self.kind == "pair":
            return rf"\multicolumn{{2}}{{c}}{{{text}}}"
        return f"{{{text}}}" if self.kind == "number" else text

    def cell(self, text: str, bold: bool) -> str:
        """Return one cell."""
        if self.kind == "text":
            return rf"\textbf{{{escape(text)}}}" if bold else escape(text)
        weight = r"\bfseries " if bold else ""
        found = _PAIR.fullmatch(text)
        if self.kind == "pair" and found:
            return f"{weight}{found[1]} & {weight}{found[2]}"
        if self.kind == "pair":
            side = "l" if _NUMBER.fullmatch(text) else "c"
            return rf"\multicolumn{{2}}{{{side}}}{{{weight}{escape(text)}}}"
        return f"{weight}{text}" if _NUMBER.fullmatch(text) else f"{{{escape(text)}}}"


def _column(cells: Sequence[str]) -> _Column:
    """Choose how a column is set from what is in it."""
    filled = [cell for cell in cells if cell not in ("", "–")]
    pairs = [found for cell in filled if (found := _PAIR.fullmatch(cell))]
    if pairs and all(_PAIR.fullmatch(cell) or _NUMBER.fullmatch(cell) for cell in filled):
        first = _format([found[1] for found in pairs])
        second = _format([found[2] for found in pairs])
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
