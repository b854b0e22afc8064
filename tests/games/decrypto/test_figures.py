"""Figures of Decrypto say what its tables say, in either column width."""

from __future__ import annotations

import pytest
from layout import check

import tomeval
from tomeval.games.decrypto.figures import BELIEFS, PREDICTIONS
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
OWN = ["perspective", "probes"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A run with language-model seats and probes, every player in every seat."""
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("figures") / "run") as run:
        yield run


@pytest.fixture(scope="module")
def drawn(opened):
    return {drawing.stem: drawing for drawing in draw(opened, every=True)}


def test_every_figure_of_its_own_and_of_every_domain(drawn) -> None:
    own = {stem for stem, drawing in drawn.items() if drawing.name in OWN}
    assert own == {
        *("perspective", "probes_beliefs", "probes_beliefs_in_view", "probes_predictions"),
    }
    assert {drawing.name for drawing in drawn.values()} == {
        *OWN,
        *("forest", "differences"),
    }


def test_lines_and_points_show_the_rows_of_the_table(opened, drawn) -> None:
    turns = table_rows("turns", opened, ["encoder"])
    (axes,) = [a for a in drawn["perspective"].figure.axes if a.lines]
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    mine = [row for row in turns if row["encoder"] == "script"]
    assert lines["predicted"] == [row["predicted_eve_percent"] for row in mine]
    assert lines["actual"] == [row["interception_percent"] for row in mine]
    for stem, what, role, words in (
        ("probes_beliefs", "beliefs", "interceptor", BELIEFS),
        ("probes_beliefs_in_view", "beliefs", "interceptor", [f"{n}_in_view" for n in BELIEFS]),
        ("probes_predictions", "perspective", "encoder", PREDICTIONS),
    ):
        (row,) = [r for r in table_rows(what, opened, [role]) if r[role] == "script"]
        (axes,) = drawn[stem].figure.axes
        dots = [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o"]
        shown = [f"{measure}_percent" for measure in words]
        assert dots == pytest.approx([row[name] for name in shown if row[name] == row[name]])


@pytest.mark.parametrize("column", ["double", "single"])
def test_nothing_overlaps(opened, column) -> None:
    for drawing in draw(opened, OWN, Options(column)):
        assert drawing.figure.get_figwidth() <= {"single": 3.35, "double": 6.9}[column]
        check(drawing.figure)
