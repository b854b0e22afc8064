from __future__ import annotations

import re

import pytest

from tomeval.report.latex import PAGE, escape, latex_table
from tomeval.report.tables import Grid


def lines(heads, body, best=()):
    grid = Grid([], heads, body, best=set(best))
    return [line for line in latex_table("", grid).splitlines() if not line.startswith("%")]


def test_columns_are_chosen_by_what_is_in_them() -> None:
    body = [["a", "1.5 ± 0.25", "-12", "0.10 [0.05, 0.2]"], ["b", "-10.25 ± 3", "–", "–"]]
    table = lines(["who", "RPS\nx", "n", "free"], body, {(0, 0), (0, 1)})
    assert table[0] == r"\begin{longtable}{l r@{ $\pm$ }r r l}"
    assert r"\multicolumn{2}{c}{\shortstack{RPS \\ x}}" in table[2]
    assert table[5] == r"\textbf{a} & \textbf{1.5} & \textbf{0.25} & -12 & 0.10 [0.05, 0.2] \\"
    assert table[6] == r"b & -10.25 & 3 & -- & -- \\"


def test_what_is_missing_keeps_the_columns() -> None:
    body = [["1.5 ± 0.25", "3"], ["–", "–"], ["2.5", ""]]
    assert lines(["x", "n"], body)[5:8] == [
        r"1.5 & 0.25 & 3 \\",
        r"\multicolumn{2}{l}{--} & -- \\",
        r"\multicolumn{2}{l}{2.5} &  \\",
    ]


@pytest.mark.parametrize("text", ["a\nb", "x_1", "50 %", "\\input{x}", "{", "~^$#&", "a<b>c"])
def test_no_text_breaks_out(text) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    bare = re.sub(r"\\[&%$#_{}]|\\text\w+\{\}|\$\\?\w+\$", "", escaped)
    assert not set(bare) & set("\\&%$#_{}~^<>")


def test_a_wide_table_goes_on_in_parts_that_name_their_rows() -> None:
    body = [[f"player {n}", *["1.25 ± 0.50"] * 12] for n in range(3)]
    heads = ["who", *(f"task {n}" for n in range(12))]
    table = latex_table("A caption & more", Grid([], heads, body, lead=[0]))
    # 10 for the names and 13 for each task: six of them in 88
    assert PAGE == 88
    assert table.count(r"\begin{longtable}") == 2
    assert table.count(r"\caption{A caption \& more}") == 1
    assert table.count("player 2 &") == 2
    assert table.count("1.25 & 0.50") == 36
    for line in table.splitlines():
        if line.startswith("player"):
            assert line.count(" & ") == 12
