"""Answers that a server holds to their form: ``structured = "auto"``."""

import pytest
from fake_server import FakeServer
from support import stored
from typer.testing import CliRunner

import tomeval
from tomeval.cli.app import app
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import run_now
from tomeval.models.base import Capabilities, Prompt, Sampling
from tomeval.models.scripted import ScriptedModel
from tomeval.play.plan import known_models
from tomeval.runs.experiment import make_experiment
from tomeval.runs.notes import enforced_notes
from tomeval.strategies.asking import Asker, Asking
from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import MARKER
from tomeval.strategies.recording import Overheard
from tomeval.strategies.shapes import JsonShape

FORMS = {"structured_outputs", "response_format"}


def served(address, structured="auto", strategy="QA", **more):
    model = {"name": f"openai:toy@{address}", "structured": structured}
    base = {"games": ["IPD"], "partners": "tit_for_tat", "horizon": 2, "episodes": 1}
    subject = {"strategy": strategy, "max_tokens": 16, "max_attempts": 1, "model": model}
    return {**base, "labels": "neutral", "subjects": [subject], **more}


LABELS, PAIR = Labels(("J", "F")), JsonShape("pair", int, 2, list)


@pytest.mark.parametrize(
    ("reader", "kind", "explained", "holds", "held"),
    [
        (LABELS, "qa", False, True, (LABELS.choices, "")),
        (LABELS, "qa", False, False, ((), "")),
        (LABELS, "qa", True, True, ((), "")),
        (LABELS, "cot", True, True, ((), "")),
        (PAIR, "qa", False, True, ((), PAIR.schema)),
        (PAIR, "qa", False, False, ((), "")),
    ],
)
def test_answers_without_reasoning_are_held_to_their_form(reader, kind, explained, holds, held):
    requests, how = [], Asking(Sampling(temperature=0))
    model = ScriptedModel(lambda request: requests.append(request) or "")
    model.capabilities = Capabilities(holds=holds)
    asked = Overheard(how, "act", kind, Prompt(()), 1, reader, 9, explained)
    run_now(Asker(model, how, "s").answer(asked, reader))
    assert [(request.choices, request.schema) for request in requests] == [held]


def test_a_run_says_that_answers_were_held(tmp_path):
    with FakeServer("vllm") as server:
        server.forms = FORMS
        with tomeval.run(served(server.url), tmp_path / "held") as held:
            row = held.rows()[0]
            [note] = enforced_notes(held)
            details = list(set(stored(held, "steps", "act_details/enforced")))
        with tomeval.run(served(server.url, "off"), tmp_path / "free") as free:
            assert enforced_notes(free) == []
        asked = [
            body["structured_outputs"]
            for _, body in server.requests
            if "structured_outputs" in body
        ]
    assert row["episodes"] == 1
    assert "answers were held to their form" in note
    assert "not that of asking again" in note
    assert {"choice": [f"{MARKER} J", f"{MARKER} F"]} in asked
    table = CliRunner().invoke(app, ["table", str(tmp_path / "held")])
    assert "not that of asking again" in table.output
    assert details == [("choice",)]


def test_a_bad_value_is_one_line():
    with pytest.raises(TomevalError, match=r"structured: .*'off' or 'auto'.* is 'maybe'") as error:
        known_models(make_experiment(served("http://h/v1", "maybe")))
    assert "\n" not in str(error.value)
