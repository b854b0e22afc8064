"""Tables as text: how they are made to fit, by hand."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from rich.cells import cell_len

from tomeval.report.tables import Grid
from tomeval.report.text import text_of


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
