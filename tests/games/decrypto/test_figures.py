"""Figures of Decrypto say what its tables say, in either column width."""

from __future__ import annotations

import pytest
from layout import check

import tomeval
from tomeval.games.decrypto.tables import table_rows
from tomeval.plots import Options, draw

EXPERIMENT = {
    "domain": "decrypto",
    "episodes": 3,
    "seed": [1, 2],
    "model": "scripted:decrypto",
    "rules": {"turns": 3},
    "probes": {
        "eve": True,
        "eve_reminded": True,
        "bob": True,
        "beliefs": True,
        "beliefs_in_view": True,
    },
    "players": {"script": {}, "minilm": {"embedding": "minilm"}},
}
OWN = ["perspective"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A run with language-model seats and probes, every player in every seat."""
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("figures") / "run") as run:
        yield run


@pytest.fixture(scope="module")
def drawn(opened):
    return {drawing.stem: drawing for drawing in draw(opened, every=True)}


def test_every_figure_of_its_own_and_of_every_domain(drawn) -> None:
    assert {drawing.name for drawing in drawn.values()} == {*OWN, "plane", "forest", "differences"}


def test_lines_show_the_rows_of_the_table(opened, drawn) -> None:
    turns = table_rows("turns", opened, ["encoder"])
    (axes,) = [a for a in drawn["perspective"].figure.axes if a.lines]
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    mine = [row for row in turns if row["encoder"] == "script"]
    assert lines["predicted"] == [row["predicted_eve_percent"] for row in mine]
    assert lines["actual"] == [row["interception_percent"] for row in mine]


@pytest.mark.parametrize("column", ["double", "single"])
def test_nothing_overlaps(opened, column) -> None:
    for drawing in draw(opened, OWN, Options(column)):
        assert drawing.figure.get_figwidth() <= {"single": 3.35, "double": 6.9}[column]
        check(drawing.figure)
