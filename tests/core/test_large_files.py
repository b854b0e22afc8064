"""Stores of strangers whose records are nested deeply: at most one error."""

from __future__ import annotations

import gzip

import every_domain
import pytest
from attacks.commands import call
from support import scripts

import tomeval
from tomeval.runs import writing

DEEP = '{"purpose": "act", "prompt": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """A run whose records of model calls are nested too deeply to be read, checksums and all."""
    experiment = every_domain.experiment("matrix", "scripted:good", episodes=1)
    with monkeypatch.context() as patched, scripts(good=every_domain.good("matrix")):
        patched.setattr(writing, "pack_calls", lambda *_: gzip.compress(DEEP.encode()))
        tomeval.run(experiment, tmp_path / "run").close()
    return tmp_path / "run"


@pytest.mark.parametrize(
    "command",
    [
        ("table",),
        ("status",),
        ("transcript", "--cell", "0", "--episode", "0"),
        ("report", "--no-figures", "--out", "OUT"),
    ],
    ids=lambda words: words[0],
)
def test_records_that_are_nested_deeply_are_at_most_one_error(forged, command, tmp_path):
    verb, *options = (str(tmp_path / "out") if word == "OUT" else word for word in command)
    told = call(verb, forged, *options)
    assert told.crash == ""
    assert told.code in (0, 1) or told.is_one_error
    if verb in ("transcript", "report"):
        assert "calls.jsonl.gz: damaged, " in " ".join(told.errors.split())
