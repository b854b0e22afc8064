"""Tables as text: how they are made to fit, by hand."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from tomeval.report.latex import PAGE, ROWS, latex_table
from tomeval.report.rows import grid_of
from tomeval.report.tables import Grid
from tomeval.report.text import text_lines, text_of

GAMES = ("RPS", "IBS", "IPD")


def twelve_by_six():
    """Return a pivot of twelve players, six of each model, and six tasks."""
    tasks = [(game, partners) for game in GAMES for partners in ("single_action", "tit_for_tat")]
    players = [(f"strategy {n:>3}", f"a model named {m}") for n in range(6) for m in "AB"]
    return Grid(
        above=["what holds for all"],
        heads=[("", "subject"), ("", "model"), *tasks],
        body=[[*player, *["1.25 ± 0.50"] * 6] for player in players],
        lead=[0, 1],
        best={(3, 2), (0, 7)},
    )


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (None, 1 + 2 + 12),
        (113, 1 + 2 + 12),  # 12 + 2 + 15, three of 2 + 13 and three of 2 + 11
        (112, 1 + 3 + 12),  # headings in two lines, cells as they are: 29 + 6 x 13 = 107
        (107, 1 + 3 + 12),
        (106, 1 + 3 + 12),  # 1.25±0.50: 29 + 6 x 11 = 95
        (95, 1 + 3 + 12),
        (94, 1 + 3 + 2 + 12),  # models above their players: 14 + 66 = 80
        (80, 1 + 3 + 2 + 12),
        (79, 1 + 3 + 2 + 2 * 12),  # their names in two lines
        (76, 1 + 3 + 2 + 2 * 12),  # 2 + 8 + 66 = 76
        (74, 1 + 2 * (3 + 12) + 1),  # two games, then the third: 29 + 4 x 11 = 73
    ],
)
def test_twelve_players_in_six_tasks(width, lines) -> None:
    grid = twelve_by_six()
    found = text_of(grid, width).splitlines()
    assert len(found) == lines
    assert width is None or max(map(len, found)) <= width
    assert sum(line.count("1.25") for line in found) == 72
    bold = [piece for line in text_lines(grid, width) for piece, marked in line if marked]
    assert [text.replace(" ", "") for text in bold] == ["1.25±0.50"] * 2


def test_sections_keep_rows_and_what_is_best() -> None:
    lines = text_lines(twelve_by_six(), 80)
    texts = ["".join(piece for piece, _ in line) for line in lines]
    assert texts[4:7] == ["a model named A", *texts[5:7]]
    assert texts[5].startswith("  strategy   0  1.25±0.50")
    assert texts[11] == "a model named B"
    marked = [n for n, line in enumerate(lines) if any(bold for _, bold in line)]
    assert marked == [5, 13]  # rows 0 and 3: the first of A, the second of B


def test_numbers_stand_below_each_other() -> None:
    body = [["a", "100.0 ± 12.5"], ["b", "-1.0 ± 0.5"], ["c", "–"], ["d", "7.5 [6.0, 9.0]"]]
    assert text_of(Grid([], [("who",), ("x",)], body, lead=[0])).splitlines() == [
        "who  x",
        "a    100.0 ± 12.5",
        "b     -1.0 ±  0.5",
        "c        –",
        "d      7.5 [6.0, 9.0]",
    ]


def test_long_texts_are_in_several_lines_or_below_their_headings() -> None:
    body = [["RPS", "a game of three actions and no good one"], ["IPD", "two actions"]]
    grid = Grid([], [("game",), ("about",)], body, lead=[0, 1])
    assert text_of(grid, 30).splitlines() == [
        "game  about",
        "RPS   a game of three actions",
        "      and no good one",
        "IPD   two actions",
    ]
    assert text_of(grid, 18).splitlines() == [
        "RPS",
        "  about  a game of",
        "         three",
        "         actions",
        "         and no",
        "         good one",
        "IPD",
        "  about  two",
        "         actions",
    ]


def test_texts_that_are_numbers_are_no_names() -> None:
    row = {"who": "a", "size": "0.5 [0.25, 0.75]", "p": "2e-05", "much": "12.5 ± 0.5", "no": "–"}
    grid = grid_of([row, {**row, "who": "3 x b", "size": "0.25"}], keep=tuple(row))
    assert grid.lead == [0]
    found = text_of(grid, 24).split("\n\n")
    assert [part.split()[0] for part in found] == ["who"] * len(found)
    assert len(found) > 1


def test_what_can_be_spared_is_left_out_and_named() -> None:
    heads = [("who",), ("knows",), ("ToM %",), ("answer",)]
    body = [["LM", "94 [91, 96]", "95.7 [93.1, 97.3]", "knows, does not use"]]
    grid = Grid([], heads, body, lead=[0], spare=[2], more="--all")
    assert len(text_of(grid, 57).splitlines()) == 2  # 2 + 11 + 17 + 19 with 2 between
    assert text_of(grid, 50).splitlines() == [
        "--all or a wider terminal shows ToM %",
        "who  knows        answer",
        "LM   94 [91, 96]  knows, does not use",
    ]
    assert text_of(grid) == text_of(Grid([], heads, body, lead=[0]))


def test_the_first_table_at_80_columns() -> None:
    """Six players and six tasks, scores with intervals, measures that can be spared, answers."""
    players = ["rmax", "fictitious_play", "equilibrium", "random", "knows, does not use", "x"]
    score, measure = "94 [91, 100]", "97.56 [97.15, 97.92]"
    body = [
        [player, game, partners, *[score] * 3, *[measure] * 3, "knows and uses"]
        for game in GAMES
        for partners in ("single_action", "tit_for_tat")
        for player in players
    ]
    names = ["subject", "game", "partners", "knows", "uses", "plays", "ToM %", "ΔToM/T"]
    heads = [(name,) for name in (*names, "ΔFunctional/T", "answer")]
    grid = Grid([], heads, body, lead=[0, 1, 2], spare=[6, 7, 8], more="--all")
    lines = text_of(grid, 80).splitlines()
    assert lines[0] == "--all or a wider terminal shows ToM %, ΔToM/T, ΔFunctional/T"
    assert lines[1].split() == ["game", "partners", "knows", "uses", "plays", "answer"]
    assert lines[2:4] == [
        "rmax",
        "  RPS  single_action  94 [91,100]  94 [91,100]  94 [91,100]  knows and uses",
    ]
    assert len(lines) == 2 + 6 + 36
    lines = text_of(grid, 120).splitlines()
    assert lines[0] == "--all or a wider terminal shows ToM %"
    assert lines[1].split() == [*names[1:6], "ΔToM/T", "ΔFunctional/T", "answer"]
    assert len(lines) == 2 + 6 + 36


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
    heads = [tuple(_word(rng, rng.choice([5, 30])) for _ in range(levels)) for _ in kinds]
    lead = list(range(rng.randint(0, len(kinds))))
    grid = Grid([_word(rng, 90)], heads, body, lead=lead)
    for width in (40, 60, 80, 120):
        lines = text_of(grid, width).splitlines()
        assert max(map(cell_len, lines)) <= width
        shown = Counter(_NUMBERS.findall("\n".join(lines)))
        for number in _NUMBERS.findall("\n".join(map(" ".join, body))):
            assert shown[number] > 0, (width, number)


def test_wide_characters_take_two_columns() -> None:
    grid = Grid([], [("who",), ("n",)], [["漢字", "1"], ["abc", "2"]], lead=[0])
    assert text_of(grid).splitlines() == ["who   n", "漢字  1", "abc   2"]


# LaTeX


def test_a_wide_latex_table_goes_on_in_parts_that_fit_a_page() -> None:
    table = latex_table("A caption & more", twelve_by_six(), "tab:one")
    assert table.count(r"\begin{table}") == 1
    assert r"\resizebox" not in table
    assert r"\caption{A caption \& more}" in table
    assert r"\label{tab:one}" in table
    # Models are above their players, so 5.3 x 12 + 12 = 75.6 points name a row; a task takes
    # 12 + 6 x 5.3 + 2 x 3 + 2 x 3 + 8 = 63.8, and 345 hold four of them: two games, then one.
    assert PAGE == 345
    parts = table.split(r"\begin{tabular}")[1:]
    assert [part.count("1.25 & ") for part in parts] == [48, 24]
    assert r"\multicolumn{4}{c}{RPS} & \multicolumn{4}{c}{IBS} \\" in parts[0]
    assert r"\cmidrule(lr){2-5} \cmidrule(lr){6-9}" in parts[0]
    assert parts[0].count(r"\multicolumn{9}{l}{\textit{a model named") == 2
    assert parts[0].count(r"\bfseries 1.25 & \bfseries 0.50") == 1


def test_a_long_latex_table_goes_on_in_further_floats() -> None:
    body = [[f"player {n}", "1.25"] for n in range(ROWS + 1)]
    table = latex_table("Said", Grid([], [("who",), ("x",)], body, lead=[0]), "tab:two")
    assert table.count(r"\begin{table}") == table.count(r"\end{table}") == 2
    assert r"\caption{Said (continued)}" in table
    assert [line for line in table.splitlines() if "label" in line] == [
        r"\label{tab:two}",
        r"\label{tab:two-2}",
    ]
    assert [table.count(f"player {n} &") for n in (0, ROWS)] == [1, 1]


def test_every_line_of_a_latex_table_has_as_many_columns() -> None:
    table = latex_table("", twelve_by_six())
    assert table.count("{") == table.count("}")
    for part in table.split(r"\begin{tabular}")[1:]:
        spec, *rows = part.partition(r"\end{tabular}")[0].splitlines()
        columns = spec.count("S[") + spec.count("l ")
        found = [row for row in rows if row.endswith(r"\\")]
        assert len(found) == 2 + 2 + 12  # headings, models, players
        for row in found:
            spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d)\}", row)]
            cells = len(re.findall(r"(?<!\\)&", row)) + 1
            assert cells - len(spans) + sum(spans) == columns
