from __future__ import annotations

import re

import pytest

from tomeval.report.latex import escape, latex_table
from tomeval.report.tables import Grid


def lines(heads, body, best=()):
    grid = Grid([], [(head,) for head in heads], body, best=set(best))
    return [line for line in latex_table("", grid).splitlines() if not line.startswith("%")]


def test_columns_are_chosen_by_what_is_in_them() -> None:
    body = [["a", "1.5 ± 0.25", "-12", "0.10 [0.05, 0.2]"], ["b", "-10.25 ± 3", "7.125", "–"]]
    found = lines(["who", "x", "n", "free"], body)
    assert found[2] == (
        r"\begin{tabular}{l S[table-format=-2.2]@{\,\( \pm \)\,}S[table-format=1.2] "
        r"S[table-format=-2.3] l}"
    )
    assert found[4] == r"who & \multicolumn{2}{c}{x} & {n} & free \\"
    assert found[6] == r"a & 1.5 & 0.25 & -12 & 0.10 [0.05, 0.2] \\"
    assert found[7] == r"b & -10.25 & 3 & 7.125 & -- \\"


def test_what_is_missing_keeps_the_columns() -> None:
    body = [["1.5 ± 0.25", "3"], ["–", "–"], ["2.5", ""]]
    found = lines(["x", "n"], body)[6:9]
    assert found == [
        r"1.5 & 0.25 & 3 \\",
        r"\multicolumn{2}{c}{--} & {--} \\",
        r"\multicolumn{2}{l}{2.5} & {} \\",
    ]


def test_best_is_bold_in_every_kind_of_column() -> None:
    body = [["1.5 ± 0.25", "3", "x & y"]]
    found = lines(["x", "n", "t"], body, {(0, 0), (0, 1), (0, 2)})[6]
    assert found == r"\bfseries 1.5 & \bfseries 0.25 & \bfseries 3 & \textbf{x \& y} \\"


@pytest.mark.parametrize("text", ["a\nb", "x_1", "50 %", "\\input{x}", "{", "~^$#&", "a<b>c"])
def test_no_text_breaks_out(text) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    bare = re.sub(r"\\[&%$#_{}]|\\text\w+\{\}|\$\\?\w+\$", "", escaped)
    assert not set(bare) & set("\\&%$#_{}~^<>")


def test_every_row_has_as_many_cells() -> None:
    body = [["a", "1 ± 2", "–"], ["b & c", "–", "2 ± 1"], ["d", "3", "–"]]
    rows = [line for line in lines(["who", "x", "y"], body) if line.endswith(r"\\")]
    assert len(rows) == 1 + len(body)
    for line in rows:
        spans = sum(int(n) for n in re.findall(r"multicolumn\{(\d)\}", line))
        cells = len(re.findall(r"(?<!\\)&", line)) + 1 - len(re.findall("multicolumn", line))
        assert spans + cells == 5
