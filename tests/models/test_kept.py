"""What is kept with results: specs of models, without a credential, and replies by request."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attacks.commands import call
from listener import Listener, chat

from tomeval.core.errors import TomevalError
from tomeval.models import look_ahead, open_model
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling, ScoreRequest
from tomeval.models.batching import request_hash

CANARY = "c4n4ry7e579d1f0b2a"
EXPERIMENT = """games = "IPD"
partners = "tit_for_tat"
labels = "neutral"
horizon = 2
episodes = 1
{model}
[[subjects]]
strategy = "QA"
"""


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("v1", f', extra_body = {{api_key = "{CANARY}"}}'),
        ("v1", f', extra_body = {{headers = {{X-Token = "{CANARY}"}}}}'),
        ("v1", f', extra_body = {{user = "sk-{CANARY}{CANARY}"}}'),
        (f"sk-{CANARY}{CANARY}/v1", ""),
        (f"v1?key={CANARY}", ""),
        (f"v1#{CANARY}", ""),
    ],
)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_credential_in_a_spec_is_one_error_before_anything_is_sent(
    path, options, command, tmp_path
):
    file = tmp_path / "experiment.toml"
    with Listener(lambda _: chat("Final answer: J")) as server:
        name = f"openai:m@{server.url}/{path}"
        file.write_text(EXPERIMENT.format(model=f'model = {{name = "{name}"{options}}}'))
        told = call(command, file, *(("--out", tmp_path / "run") if command == "run" else ()))
        assert (told.code, told.is_one_error, server.asked) == (2, True, [])
    assert "stored with results" in told.errors
    assert "environment variable" in told.errors
    assert CANARY not in told.errors + told.out
    assert not (tmp_path / "run").exists()


def test_a_spec_is_looked_at_as_it_is_opened():
    spec = {"name": "inspect:openai/m", "model_args": {"headers": {"x-api-key": "k"}}}
    for check in (open_model, look_ahead):
        with pytest.raises(TomevalError, match=r"model_args.headers.x-api-key: its name is"):
            check(spec)


PROMPT = Prompt((Message("user", "Play."),), prefill="I choose")


def hash_of(prompt):
    return request_hash("scripted", "", GenerateRequest(prompt, Sampling(), 1))


def test_what_stands_in_for_a_prefill_counts():
    assert hash_of(replace(PROMPT, instead="Answer J or F.")) != hash_of(PROMPT)


def test_without_it_a_request_is_what_it_always_was():
    # Kept replies of runs made before are found again.
    score = request_hash("scripted", "", ScoreRequest(PROMPT, ("J", "F")))
    assert score == "9703d435fcf5c5affac810e8633f3346c3c972026f844dd982da52db798b6800"
