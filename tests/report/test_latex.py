from __future__ import annotations

import re

import pytest

from tomeval.report.markup import PAGE, escape, latex_table
from tomeval.report.tables import Grid


def lines(heads, body, best=()):
    grid = Grid([], heads, body, best=set(best))
    return latex_table("", grid).splitlines()[2:]


def test_numbers_stand_at_the_right_and_the_best_is_bold() -> None:
    body = [["a", "1.5 ± 0.25", "-12", "0.10 [0.05, 0.2]"], ["b", "-10.25 ± 3", "–", "two"]]
    table = lines(["who", "RPS\nx", "n", "free"], body, {(0, 0), (0, 1)})
    assert table[0] == r"\begin{longtable}{lrrl}"
    assert table[2] == r"who & \shortstack{RPS \\ x} & n & free \\"
    assert r"\textbf{a} & \textbf{1.5 $\pm$ 0.25} & -12 & 0.10 [0.05, 0.2] \\" in table
    assert r"b & -10.25 $\pm$ 3 & -- & two \\" in table


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
    assert table.count(r"\caption{A caption \& more}") == 2
    assert table.count("player 2 &") == 2
    assert table.count(r"1.25 $\pm$ 0.50") == 36
    for line in table.splitlines():
        if line.startswith("player"):
            assert line.count(" & ") == 6
