"""The attack on recorded games at a small size, and its referee on hand-worked games."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from attacks import decrypto_referee
from attacks.decrypto_imports import ATTACK
from attacks.decrypto_referee import Limits, ending

TWO = Limits(8, 2, 2)
CODE, OTHER = (1, 2, 3), (1, 2, 4)


def test_nothing_is_lost(tmp_path) -> None:
    rows = ATTACK.play(0.05, 7, tmp_path)
    assert len(rows) == 8
    assert all(row.tried >= 2 and row.lost == 0 for row in rows)


def test_the_referee_imports_nothing_of_tomeval() -> None:
    tree = ast.parse(Path(decrypto_referee.__file__).read_text(encoding="utf-8"))
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    assert named
    assert not [name for name in named if name and name.startswith("tomeval")]


@pytest.mark.parametrize(
    ("guesses", "limits", "expected"),
    [
        (
            [(CODE, None, CODE), (CODE, None, None), (CODE, CODE, CODE)],
            TWO,
            ("miscommunication", 2),
        ),
        ([(CODE, CODE, CODE), (CODE, CODE, None), (CODE, CODE, CODE)], TWO, ("interception", 3)),
        ([(CODE, OTHER, CODE)] * 3, TWO, ("both", 2)),
        ([(CODE, CODE, OTHER)] * 9, TWO, ("survived", 8)),
        ([(CODE, OTHER, None)], TWO, ("undecided", 1)),
        ([(CODE, None, CODE)], Limits(1, 1, 2), ("miscommunication", 1)),
    ],
)
def test_the_referee_by_hand(guesses, limits, expected) -> None:
    assert ending(guesses, limits) == expected
