"""Figures of Decrypto say what its tables say, in either column width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from layout import check
from scipy import stats

import tomeval
from tomeval.domains.decrypto.figures.heat_maps import MAPS, heat_maps
from tomeval.domains.decrypto.figures.probes import BELIEFS, PREDICTIONS
from tomeval.domains.decrypto.tables import table_rows
from tomeval.plots import Options, draw
from tomeval.plots.families import families

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
OWN = ["pairings", "perspective", "probes"]


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
        *("pairings_miscommunication", "pairings_interception", "pairings_turns"),
        *("perspective", "probes_beliefs", "probes_beliefs_in_view", "probes_predictions"),
    }
    assert {drawing.name for drawing in drawn.values()} == {
        *OWN,
        *("forest", "differences", "profiles"),
    }


@pytest.mark.parametrize("name", list(MAPS))
def test_heat_maps_show_the_rows_of_the_table(opened, drawn, name) -> None:
    fields = {}
    for axes in drawn[f"pairings_{name}"].figure.axes[:2]:
        eve = axes.get_title().removeprefix("Eve: ")
        bobs = [text.get_text() for text in axes.get_xticklabels()]
        alices = [text.get_text() for text in axes.get_yticklabels()]
        for text in axes.texts:
            column, row = map(int, text.get_position())
            fields[alices[row], bobs[column], eve] = text.get_text().split("\n")[0]
    rows = [row for row in table_rows("outcomes", opened) if row["games"]]
    assert len(rows) > 4
    assert fields == {
        (row["encoder"], row["decoder"], row["interceptor"]): f"{row[MAPS[name][1]]:.1f}"
        for row in rows
    }


def test_heat_maps_of_turns_have_the_interval_that_is_asked_for(tmp_path) -> None:
    """The ends are those of numpy and scipy; shares have Wilson's, whatever is asked for."""
    players = {"minilm": {"embedding": "minilm"}, "wordnet": {"embedding": "wordnet"}}
    pairs = [{"encoder": "all", "decoder": "matched", "interceptor": "minilm"}]
    made = {"domain": "decrypto", "players": players, "pairings": pairs, "episodes": 60}
    with tomeval.run(made, tmp_path / "run") as run:
        lengths = [np.bincount(cell.played.game) for cell in run.cells]
        drawn = {name: heat_maps(run, Options(interval=name)) for name in ("normal", "t", "bca")}
    assert all(np.ptp(found) > 0 for found in lengths)

    def ends(drawing):
        texts = [text.get_text().split("\n")[1] for text in drawing.figure.axes[0].texts]
        return [tuple(map(float, text.split("–"))) for text in texts]

    tails = {"normal": 1.96, "t": stats.t.ppf(0.975, 59)}
    for name, quantile in tails.items():
        halves = [quantile * found.std(ddof=1) / math.sqrt(60) for found in lengths]
        # Turns are never below 0: an end m solves (mean - m)² = half² m / mean.
        expected = []
        for mean, half in zip((n.mean() for n in lengths), halves, strict=True):
            slope = half**2 / mean
            expected.append(sorted(np.roots([1, -2 * mean - slope, mean**2]).real))
        assert ends(drawn[name][2]) == [pytest.approx(pair, abs=0.051) for pair in expected]
    for found, (low, high) in zip(lengths, ends(drawn["bca"][2]), strict=True):
        data = stats.bootstrap((found,), np.mean, method="BCa", rng=np.random.default_rng(0))
        assert (low, high) == pytest.approx(tuple(data.confidence_interval), abs=0.1)
    words = {"normal": "1.96 standard errors", "t": "Student", "bca": "BCa"}
    for name, (lost, caught, turns) in drawn.items():
        assert words[name] in turns.caption
        assert "Wilson" in lost.caption
        assert ends(lost) == ends(drawn["normal"][0])
        assert ends(caught) == ends(drawn["normal"][1])


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


def test_seats_are_named_in_words(opened) -> None:
    first = families(opened.cells)[0]
    assert first.title == "Bob script and minilm, Eve script"
    assert [title for title, _ in first.panels] == ["Bob script", "Bob minilm"]


@pytest.mark.parametrize("column", ["double", "single"])
def test_nothing_overlaps(opened, column) -> None:
    for drawing in draw(opened, OWN, Options(column)):
        assert drawing.figure.get_figwidth() <= {"single": 3.35, "double": 6.9}[column]
        check(drawing.figure)


def test_one_pairing_has_no_map(tmp_path) -> None:
    players = {"minilm": {"embedding": "minilm"}}
    one = {"domain": "decrypto", "episodes": 2, "players": players}
    with tomeval.run(one, tmp_path / "run") as run:
        assert heat_maps(run) == []
