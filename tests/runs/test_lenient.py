"""Answers that are not in the exact form: counted, shown, exported; and the fault of others."""

from __future__ import annotations

from collections import Counter

import pytest
from every_domain import experiment, good
from support import calls_in, scripts, stored

from tomeval.models.base import Reply
from tomeval.play.runner import run_experiment
from tomeval.report.transcripts import transcript_lines
from tomeval.runs import tallies
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run


def play(domain, folder, said):
    """Play a domain's experiment with a model that says `said` of each good reply."""

    with scripts(rule=lambda request: said(good(domain)(request))):
        run_experiment(make_experiment(experiment(domain, "scripted:rule", episodes=2)), folder)


@pytest.mark.parametrize(("domain", "rates"), [("matrix", {1.0, 0.0}), ("decrypto", {0.33})])
def test_polite_replies_are_read_and_counted_as_lenient(domain, rates, tmp_path):
    play(domain, tmp_path, lambda text: f"{text}\n\nLet me know if you want more detail!")
    with Run(tmp_path) as run:
        rows = run.rows()
        assert {row["invalid_rate"] for row in rows} == {0.0}
        # Random seats write nothing: the second subject, and two of the three in Decrypto.
        assert {round(row["lenient_rate"], 2) for row in rows} == rates
        [(_, reply), *_] = tallies.lenient_replies(run.store, 1).values()
        assert reply.endswith("Let me know if you want more detail!")
        lines = "\n".join(transcript_lines(run, 0, 0))
        assert "valid, read leniently: not exactly in the form asked for]" in lines


def ask(domain, folder, said, **options):
    """Play with `lenient = "ask"`; return the outcomes of all answers, and the calls' faults."""
    data = experiment(domain, "scripted:rule", episodes=2)
    table = data["subjects"][0] if domain == "matrix" else data["players"]["m"]
    table |= {"lenient": "ask", **options}
    with scripts(rule=said):
        run_experiment(make_experiment(data), folder)
    with Run(folder) as run:
        asked = stored(run, "asked", "outcome", "attempts", "seat")
        counts = Counter(row[:2] for row in asked if row[2] != "partner")
        return counts, [record.get("fault") for *_, record in calls_in(run)]


@pytest.mark.parametrize("domain", ["matrix", "decrypto"])
def test_a_lenient_answer_can_be_asked_for_again(domain, tmp_path):
    fine = good(domain)
    polite = "\nOn reflection I change my answer to the other one."
    found, faults = ask(
        *(domain, tmp_path),
        lambda request: fine(request) + (polite if request.attempt == 1 else ""),
        temperature=1.0,
    )
    assert found["valid", 2] > 0
    assert {outcome for outcome, _ in found} == {"valid"}
    assert "the answer is not in the exact form asked for" in faults
    with Run(tmp_path) as run:
        assert {row["lenient_rate"] for row in run.rows()} == {0.0}


def test_an_answer_that_stays_lenient_is_invalid(tmp_path):
    found, _ = ask("matrix", tmp_path, lambda request: "Final answer: J (scratch that)")
    assert found["unparsable", 2] == 2


@pytest.mark.parametrize("domain", ["matrix", "decrypto"])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(""), "empty"),
        (Reply(" \n\u200b", "J, I think."), "empty"),
        (Reply("<think>Final answer: J</think>"), "empty"),
        (Reply("Final answer: J", finish="refusal"), "refusal"),
    ],
)
def test_empty_and_refused_replies_are_counted_as_such(domain, reply, reason, tmp_path):
    with scripts(rule=lambda request: reply):
        run_experiment(make_experiment(experiment(domain, "scripted:rule", episodes=2)), tmp_path)
    with Run(tmp_path) as run:
        assert run.status()[0][reason] == run.status()[0]["void"] == 2
