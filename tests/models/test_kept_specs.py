"""Specs of models are stored with results: no credential may be in them, and none is stored."""

from __future__ import annotations

import pytest
from attacks.commands import call
from listener import Listener, chat

from tomeval.core.errors import TomevalError
from tomeval.models import look_ahead, open_model

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


def played(folder, model):
    """Run an experiment with this line for its model; return what was said."""
    path = folder / "experiment.toml"
    path.write_text(EXPERIMENT.format(model=model))
    told = call("run", path, "--out", folder / "run")
    assert told.crash == ""
    return told


def holding(folder):
    """Return the files of a run that hold the canary."""
    files = (path for path in (folder / "run").rglob("*") if path.is_file())
    return [path.name for path in files if CANARY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("v1", f', extra_body = {{api_key = "{CANARY}"}}'),
        ("v1", f', extra_body = {{headers = {{X-Token = "{CANARY}"}}}}'),
        ("v1", f', extra_body = {{user = "sk-{CANARY}{CANARY}"}}'),
        (f"{CANARY}/v1", ""),
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


def test_the_address_of_an_alias_may_have_any_path_and_is_not_stored(tmp_path):
    with Listener(lambda _: chat("Final answer: J")) as server:
        name = f"openai:m@{server.url}/{CANARY}/v1"
        told = played(tmp_path, f'models = {{"M" = "{name}"}}\nmodel = "M"')
    assert told.code == 0, told.errors
    assert holding(tmp_path) == []
    broken = tmp_path / "broken"
    broken.mkdir()
    with Listener(lambda _: (404, {}, "no such page")) as server:
        name = f"openai:m@{server.url}/{CANARY}/v1"
        assert played(broken, f'models = {{"M" = "{name}"}}\nmodel = "M"').code == 2
    assert holding(broken) == []
    spec = {"name": "openai:m@http://127.0.0.1:1/v1", "alias": "M"}
    with pytest.raises(TomevalError, match=r"extra_body\.hook"):
        open_model({**spec, "extra_body": {"hook": f"https://example.org/{CANARY}"}})


def test_a_spec_is_looked_at_as_it_is_opened():
    spec = {"name": "inspect:openai/m", "model_args": {"headers": {"x-api-key": "k"}}}
    for check in (open_model, look_ahead):
        with pytest.raises(TomevalError, match=r"model_args.headers.x-api-key: its name is"):
            check(spec)
