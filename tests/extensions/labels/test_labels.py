"""What players make of labels: shares by counting in exported steps, tokens by the tokenizer."""

import json
import math
import re

import numpy as np
import pytest
from support import scripts

import tomeval
from tomeval.extensions.labels import Answers, never_likely
from tomeval.statistics.estimates import clustered_share

TASK = {"games": "IPD", "partners": "tit_for_tat", "labels": "neutral", "horizon": 4, "seed": 3}


def listed(request):
    """Return the options in the order of the last question."""
    text = request.prompt.messages[-1].content
    return re.split(" or ", re.findall(r"([JF] or [JF])\?", text)[-1])


def first(request):
    """Take what is listed first."""
    if hasattr(request, "seed"):
        return f"Final answer: {listed(request)[0]}"
    return [math.log(0.5 if label == listed(request)[0] else 0.3) for label in request.labels]


def always_j(request):
    """Take J, which has 80 % of what the labels share."""
    if hasattr(request, "seed"):
        return "Final answer: J"
    return [math.log({"J": 0.08}.get(label, 0.02)) for label in request.labels]


def table(tmp_path, strategy, order, model, episodes=12):
    subject = {"strategy": strategy, "option_order": order, "model": f"scripted:{model}"}
    subject |= {"decide": "argmax"}
    experiment = TASK | {"episodes": episodes, "subjects": [subject, "rmax"]}
    with (
        scripts(first=first, always_j=always_j),
        tomeval.run(experiment, tmp_path / f"{strategy}{order}{model}") as run,
    ):
        chosen = run.table_of("labels")
        rows = {row["question"]: row for row in chosen.rows(run, [])}
        return rows, chosen.notes(run), run.steps()


@pytest.mark.parametrize("strategy", ["QA", "LM"])
def test_who_takes_what_is_listed_first_is_found(tmp_path, strategy) -> None:
    rows, notes, _ = table(tmp_path, strategy, "shuffled", "first")
    assert set(rows) == {"act", "predict"}
    for row in rows.values():
        assert (row["first_percent"], row["second_percent"]) == (100, 0)
        assert row["by_chance_percent"] == 50
        assert row["first_percent_ci95_low"] > 50
        assert row["answers"] == 48
    assert notes == []


def test_who_takes_one_label_takes_each_place_as_often_as_it_stands_there(tmp_path) -> None:
    rows, notes, steps = table(tmp_path, "QA", "shuffled", "always_j")
    steps = steps[steps.own_order.notna()]
    for question, column in (("act", "own_order"), ("predict", "partner_order")):
        hits = [json.loads(order)[0] == 0 for order in steps[column]]
        row, found = rows[question], clustered_share(hits, steps.episode.to_numpy())
        assert 0 < found.share < 1
        assert row["first_percent"] == pytest.approx(100 * found.share)
        assert row["first_percent_ci95_low"] == pytest.approx(100 * found.low)
        assert (row["most_taken"], row["most_taken_percent"]) == ("J", 100)
        assert row["never_likely"] == "F"
        assert math.isnan(row["mass_percent"])
    assert [note[:13] for note in notes] == ["in 2 of 2 rows"[:13]]


def test_scored_labels_have_mass_and_a_fixed_order_tells_nothing_of_places(tmp_path) -> None:
    rows, notes, steps = table(tmp_path, "LM", "fixed", "always_j")
    row, asked = rows["act"], steps[steps.act_mass.notna()]
    assert row["mass_percent"] == pytest.approx(100 * asked.act_mass.mean()) == pytest.approx(10)
    assert row["never_likely"] == "F"  # 20 %, below half of one half
    assert math.isnan(row["by_chance_percent"])
    assert sum("place and label cannot be told apart" in note for note in notes) == 1


def test_a_label_is_likely_from_half_of_chance_on() -> None:
    nan = np.full(2, np.nan)
    probs = np.array([[0.1, 0.74, 0.16], [0.17, 0.7, 0.13]])
    answers = Answers(np.array([1, 1]), np.arange(2), np.array([[0, 1, 2]] * 2), probs, nan, nan)
    assert never_likely(answers) == [2]  # 1 / 6


def test_tokens_are_those_of_the_tokenizer(tmp_path) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tomeval.models.local.load import pocket_folder

    subject = {"strategy": "LM", "model": "pocket"}
    experiment = TASK | {"horizon": 1, "episodes": 1, "subjects": [subject], "labels": "nonsense"}
    with tomeval.run(experiment, tmp_path / "run") as run:
        chosen, cell = run.table_of("labels"), run.cells[0]
        row, notes = chosen.rows(run, [])[0], chosen.notes(run)
        tokenizer = transformers.AutoTokenizer.from_pretrained(pocket_folder("pocket"))
        pieces = [
            [tokenizer.decode([token]) for token in tokenizer.encode(f" {label}")]
            for label in cell.labels.own
        ]
    assert row["tokens"] == " ".join(json.dumps("|".join(one)) for one in pieces)
    assert any("several tokens" in note for note in notes) == any(len(one) > 1 for one in pieces)
