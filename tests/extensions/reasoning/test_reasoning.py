"""Reasoning consistency: planted shares come back, by a model whose texts are known."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from known import question
from statsmodels.stats.inter_rater import cohens_kappa
from support import scripts

import tomeval
from tomeval.comparing import compare
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.responses import best_responses
from tomeval.extensions.reasoning.measures import MEASURED, counted
from tomeval.extensions.reasoning.tables import kappa_of
from tomeval.plots import draw
from tomeval.report import write_report
from tomeval.runs.results import Run

RPS = get_game("RPS")
LABELS = RPS.label_set("neutral").own
BEST = best_responses(RPS).argmax(axis=0)  # one for each action of the partner
EXPERIMENT = {
    "games": ["RPS"],
    "subjects": [{"strategy": ["CoT", "CoT + 3-Shot", "LM"], "model": "scripted:planted"}],
    "partners": ["uniform_random"],
    "labels": "neutral",
    "horizon": 25,
    "episodes": 12,
    "seed": 3,
}
SHARES = {"read": 0.8, "agrees": 0.7, "followed": 0.6}


def planted(request):
    """Predict a belief; write one that is often the same, and often act on what was written."""
    purpose, step, _ = question(request)
    episode = request.group.partition(" ")[0]
    digest = hashlib.sha256(f"{episode} {step}".encode()).digest()
    belief, *dials = np.random.default_rng(int.from_bytes(digest[:8], "little")).random(6)
    held = int(belief * 3)
    if hasattr(request, "labels"):
        return [0.0 if index == held else -5.0 for index in range(3)]
    if purpose == "predict":
        return f"I do not say why.\nFinal answer: {LABELS[held]}"
    named = held if dials[0] < SHARES["agrees"] else (held + 1 + int(dials[1] * 2)) % 3
    action = int(BEST[named])
    if dials[2] >= SHARES["followed"]:
        action = (action + 1 + int(dials[3] * 2)) % 3
    said = f"The other player will choose {LABELS[named]}." if dials[4] < SHARES["read"] else "Hm."
    return f"If they choose B, I lose. {said} So be it.\nFinal answer: {LABELS[action]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reasoning") / "run"
    with scripts(planted=planted):
        tomeval.run(EXPERIMENT, folder).close()
    return folder


def test_planted_shares_come_back(folder) -> None:
    with Run(folder) as run:
        row = next(row for row in run.rows() if row["strategy"] == "CoT")
        for name, share in zip(MEASURED, (*SHARES.values(), 1 / 3), strict=True):
            low, high = row[f"{name}_ci95_low"], row[f"{name}_ci95_high"]
            assert low <= 100 * share <= high, name
            assert high - low < 25, name
        for other in (row for row in run.rows() if row["strategy"] == "LM"):
            assert all(np.isnan(other[name]) for name in MEASURED)


def test_the_table_has_a_row_for_reasoning_and_the_chance_of_each_share(folder) -> None:
    with Run(folder) as run:
        rows = run.tables["reasoning"].rows(run, [])
        assert [row["strategy"] for row in rows] == ["CoT", "CoT + 3-Shot"]
        cell = next(cell for cell in run.cells if cell.columns["strategy"] == "CoT")
        found, predicted = cell.played.more["reasoning"](), cell.played.predicted
        named = found.expected >= 0
        crossed = np.zeros((3, 3))
        for said, probe in zip(found.expected[named], predicted[named], strict=True):
            crossed[said, probe] += 1
        kappa = cohens_kappa(crossed, return_results=True)
        assert rows[0]["agreement_kappa"] == pytest.approx(kappa.kappa)
        assert rows[0]["agreement_kappa_ci95"] == pytest.approx(1.96 * kappa.std_kappa, rel=0.5)
        assert rows[0]["agreement_by_chance_percent"] == pytest.approx(
            100 * crossed.sum(axis=1) @ crossed.sum(axis=0) / crossed.sum() ** 2
        )
        assert rows[0]["steps"] == 12 * 25


def half_read(request):
    """Expect F and say so; when asked, say it in even rounds and nothing readable in odd ones."""
    purpose, step, _ = question(request)
    if purpose == "predict":
        return "Who knows." if step % 2 else f"Final answer: {LABELS[1]}"
    return f"I expect {LABELS[1]}.\nFinal answer: {LABELS[0]}"


def test_a_prediction_drawn_in_place_of_an_unreadable_one_is_no_answer_of_the_probe(
    tmp_path,
) -> None:
    subjects = [{"strategy": "CoT", "model": "scripted:half"}]
    changed = {"subjects": subjects, "on_invalid": "random", "horizon": 10, "episodes": 4}
    with scripts(half=half_read), tomeval.run(EXPERIMENT | changed, tmp_path / "run") as run:
        (row,) = run.tables["reasoning"].rows(run, [])
        (cell,) = run.cells
        hits, among = counted(
            "expectation_predicted_percent", cell.played, cell.played.more["reasoning"]()
        )
    # Of those drawn two in three would differ by chance: about 67 % in place of 100 %.
    assert row["expectation_predicted_percent"] == 100
    assert among.sum() == 4 * 5
    assert hits.sum() == 4 * 5


def test_every_verb_has_it(folder, tmp_path) -> None:
    with Run(folder) as run:
        (drawing,) = draw(run, ["reasoning"])
        assert "reasoning = prediction %" in drawing.description
        found = compare(run, metrics=["expectation_followed_percent"])
        assert {row["metric"] for row in found.rows()} == {"expectation_followed_percent"}
        page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Reasoning consistency: the text" in page
    assert "tomeval table RUN --what reasoning" in page


def test_kappa_is_not_defined_where_chance_always_agrees() -> None:
    assert np.isnan(kappa_of(np.array([[10.0, 0], [0, 0]])))
    assert kappa_of(np.array([[5.0, 0], [0, 5]])) == 1
    assert kappa_of(np.array([[0.0, 5], [5, 0]])) == -1


def now_and_then(request):
    """Think in tags, but not before the first action of an episode."""
    purpose, step, _ = question(request)
    thinks = purpose == "act" and step > 1
    return f"{'<think>They will choose B.</think> ' * thinks}Final answer: {LABELS[0]}"


def test_a_model_that_does_not_think_before_its_first_action_is_read_all_the_same(tmp_path) -> None:
    data = EXPERIMENT | {"horizon": 4, "episodes": 2, "seed": 1}
    data["subjects"] = [{"strategy": "QA", "model": "scripted:now_and_then"}]
    with scripts(now_and_then=now_and_then), tomeval.run(data, tmp_path / "run") as run:
        (row,) = run.tables["reasoning"].rows(run, [])
    assert row["expectation_read_percent"] == 75.0
