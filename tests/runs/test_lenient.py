"""Answers that are not in the exact form: counted, shown, exported; and the fault of others."""

from __future__ import annotations

import pytest
from every_domain import experiment, good
from support import scripts

from tomeval.report.notices import lenient_rows
from tomeval.runs.closing import closing
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.transcripts import transcript_lines


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
        examples = lenient_rows(run)
        assert examples[0]["said"].endswith("Let me know if you want more detail!")
        lines = "\n".join(transcript_lines(run, 0, 0))
        assert "valid, read leniently: not in the exact form]" in lines


@pytest.mark.parametrize("domain", ["matrix", "decrypto"])
def test_the_exact_form_is_not_lenient(domain, tmp_path):
    play(domain, tmp_path, lambda text: text)
    with Run(tmp_path) as run:
        assert {row["lenient_rate"] for row in run.rows()} == {0.0}
        assert not lenient_rows(run)


def test_the_fault_of_what_cannot_be_read_is_told(tmp_path):
    play("matrix", tmp_path, lambda text: f"{text}\nOr rather not J and not F.")
    fault = "text after the answer names another option"
    with Run(tmp_path) as run:
        assert fault in " ".join("\n".join(closing(run).lines).split())
        assert fault in "\n".join(transcript_lines(run, 0, 0))
