"""Tables as text, Markdown, LaTeX, CSV and JSON, by hand."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from tomeval.games.matrix.domain import MATRIX
from tomeval.report.rows import columns_of, grid_of
from tomeval.report.tables import Grid, data, escape, latex_table, text_of

NAN = float("nan")
ROWS = [
    {"subject": "a|b", "game": "RPS", "tom_percent": 97.456, "tom_percent_ci95": 0.4},
    {"subject": "x_1 & 50 %", "game": "RPS", "tom_percent": 100 / 3, "tom_percent_ci95": NAN},
    {"subject": "none", "game": "RPS", "tom_percent": NAN, "tom_percent_ci95": NAN},
]


def test_json_round_trips_at_full_precision_and_is_strict() -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    rows = json.loads(data(ROWS, "json"), parse_constant=refuse)
    assert rows[0] == ROWS[0]
    assert rows[1]["tom_percent"] == 100 / 3
    assert rows[2]["tom_percent"] is None
    assert json.loads(data([{"x": float("inf")}], "json"), parse_constant=refuse) == [{"x": None}]


def test_an_interval_that_is_not_symmetric_shows_its_ends() -> None:
    row = {
        "tom_percent": 97.0,
        "tom_percent_ci95": 0.5,
        "tom_percent_ci95_low": 96.4,
        "tom_percent_ci95_high": 97.4,
    }
    assert text_of(grid_of([row], MATRIX.measures)).splitlines()[1] == "97.00 [96.40, 97.40]"
    assert len(next(csv.reader(io.StringIO(data([row], "csv"))))) == 4


@pytest.mark.parametrize("part", ["context", "advice", "answer_part"])
def test_a_part_of_a_strategy_is_left_out_only_beside_it(part) -> None:
    rows = [{part: level, "difference": value} for level, value in (("s2a", 1), ("full", 2))]
    assert columns_of(rows) == [part, "difference"]
    beside = [{"strategy": f"X {row[part]}", **row} for row in rows]
    assert columns_of(beside) == ["strategy", "difference"]


def test_numbers_stand_below_each_other() -> None:
    body = [["a", "100.0 ± 12.5"], ["b", "-1.0 ± 0.5"], ["c", "–"], ["d", "7.5 [6.0, 9.0]"]]
    assert text_of(Grid([], ["who", "x"], body, lead=[0])).splitlines() == [
        "who  x",
        "a    100.0 ± 12.5",
        "b     -1.0 ±  0.5",
        "c        –",
        "d      7.5 [6.0, 9.0]",
    ]


def test_what_can_be_spared_is_left_out_and_named() -> None:
    heads = ["who", "knows", "ToM %", "answer"]
    body = [["LM", "94 [91, 96]", "95.7 [93.1, 97.3]", "knows, does not use"]]
    grid = Grid([], heads, body, lead=[0], spare=[2], more="--all")
    assert len(text_of(grid, 57).splitlines()) == 2  # 2 + 11 + 17 + 19 with 2 between
    assert text_of(grid, 50).splitlines() == [
        "--all or a wider terminal shows ToM %",
        "who  knows        answer",
        "LM   94 [91, 96]  knows, does not use",
    ]
    assert text_of(grid) == text_of(Grid([], heads, body, lead=[0]))


_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


def _word(rng: random.Random, most: int) -> str:
    return "".join(
        rng.choice("abcdef_-/,.=() []漢字Ａé") for _ in range(rng.randint(0, most))
    ).strip()


def _value(rng: random.Random) -> str:
    a, b, c = (f"{rng.uniform(-200, 200):.{rng.randint(0, 3)}f}" for _ in "abc")
    texts = [a, f"{a} ± {b.lstrip('-')}", f"{a} [{b}, {c}]", f"{rng.randint(0, 10**7)}", "–", ""]
    return rng.choice([*texts, f"{rng.randint(0, 99)} of {rng.randint(0, 9999)}", "1e-05", "> 10"])


@pytest.mark.parametrize("seed", range(40))
def test_no_line_is_wider_than_the_terminal_and_no_number_is_divided(seed) -> None:
    rng = random.Random(seed)
    kinds = [rng.choice([_value, lambda rng: _word(rng, 40), lambda rng: _word(rng, 9) + "12.5"])]
    kinds = [rng.choice([_value, *kinds]) for _ in range(rng.randint(1, 9))]
    body = [[kind(rng) for kind in kinds] for _ in range(rng.randint(1, 6))]
    levels = rng.randint(1, 3)
    heads = ["\n".join(_word(rng, rng.choice([5, 30])) for _ in range(levels)) for _ in kinds]
    lead = list(range(rng.randint(0, len(kinds))))
    grid = Grid([_word(rng, 90)], heads, body, lead=lead)
    for width in (60, 80, 120):
        lines = text_of(grid, width).splitlines()
        assert max(map(cell_len, lines)) <= width
        shown = Counter(_NUMBERS.findall("\n".join(lines)))
        for number in _NUMBERS.findall("\n".join(map(" ".join, body))):
            assert shown[number] > 0, (width, number)


def lines(heads, body):
    return latex_table("", Grid([], heads, body)).splitlines()[1:]


def test_numbers_stand_at_the_right() -> None:
    body = [["a", "1.5 ± 0.25", "-12", "0.10 [0.05, 0.2]"], ["b", "-10.25 ± 3", "–", "two"]]
    table = lines(["who", "RPS\nx", "n", "free"], body)
    assert table[0] == r"\begin{longtable}{lrrl}"
    assert table[2] == r"who & \shortstack{RPS \\ x} & n & free \\"
    assert r"a & 1.5 $\pm$ 0.25 & -12 & 0.10 [0.05, 0.2] \\" in table
    assert r"b & -10.25 $\pm$ 3 & -- & two \\" in table


@pytest.mark.parametrize("text", ["a\nb", "x_1", "50 %", "\\input{x}", "{", "~^$#&", "a<b>c"])
def test_no_text_breaks_out(text) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    bare = re.sub(r"\\[&%$#_{}]|\\text\w+\{\}|\$\\?\w+\$", "", escaped)
    assert not set(bare) & set("\\&%$#_{}~^<>")
