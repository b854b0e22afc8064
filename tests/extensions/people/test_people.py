"""``tomeval play`` as a person types it."""

from __future__ import annotations

import io
import json

import pytest


@pytest.fixture
def typed(tomeval, monkeypatch, tmp_path):
    """Return a function that runs a command with lines of input, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(lines, *arguments):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return tomeval(*arguments)

    return call


def test_a_game_becomes_a_table(typed):
    game = ("play", "IPD", "tit_for_tat", "--horizon", "2", "--name", "ann")
    code, shown, told = typed(["1", "1", "quit"], *game)
    assert code == 0
    assert "which are kept" in shown
    assert "next: tomeval transcript runs/play_IPD_tit_for_tat_ann" in told
    code, shown, told = typed(["2", "1"], *game)
    assert "rewards add up to 18; 2 of your 2 predictions were right" in shown
    assert "next: tomeval table runs/play_IPD_tit_for_tat_ann" in told
    _, table, _ = typed([], "table", "runs/play_IPD_tit_for_tat_ann", "--format", "json")
    [row] = json.loads(table)
    # Cooperate and then defect is the best response over two rounds: 8 + 10.
    assert (row["subject"], row["delta_functional_per_step"], row["tom_percent"]) == ("ann", 0, 100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("play", "IPDD", "tit_for_tat"), "did you mean 'IPD'"),
        (("play", "IPD", "tit_for_tat", "--horizon", "0"), "horizon"),
    ],
)
def test_mistakes_are_one_message(typed, arguments, message):
    code, shown, told = typed([], *arguments)
    assert (code, shown) == (2, "")
    assert message in told
