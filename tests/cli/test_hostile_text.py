"""A run whose names and replies act on terminals: every command shows them safely."""

from __future__ import annotations

import pytest
from attacks import hostile_text
from attacks.commands import call

TEXT = "".join(text for name, text in hostile_text.PAYLOADS.items() if name != "long")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return hostile_text.hostile_run(tmp_path_factory.mktemp("hostile") / "run", TEXT)


@pytest.mark.parametrize("command", hostile_text.SHOWN, ids=range(len(hostile_text.SHOWN)))
def test_what_is_shown_is_safe(run, command):
    assert hostile_text.faults(call(*command(run))) == []


def test_data_is_exact(run):
    faults = list(hostile_text.data_faults(run, TEXT))
    assert len(faults) == 4
    assert not any(faults)


def test_files_are_written_and_hold_nothing_that_acts(run, tmp_path):
    page = tmp_path / "report.html"
    for command in (
        ("report", run, "--out", page, "--no-figures"),
        ("plot", run, "--out", tmp_path / "figures", "--only", "regret", "--format", "svg"),
        ("export", run, "--format", "jsonl", "--out", tmp_path / "run.jsonl"),
    ):
        told = call(*command)
        assert (told.code, hostile_text.faults(told)) == (0, [])
    assert hostile_text.page_faults(page.read_text(encoding="utf-8")) == []
    drawn = list((tmp_path / "figures").glob("*.svg"))
    assert drawn
    assert [fault for path in drawn for fault in hostile_text.svg_faults(path)] == []


@pytest.mark.parametrize("name", hostile_text.PAYLOADS)
def test_what_is_given_is_shown_safely(name, tmp_path):
    for command in hostile_text.given(hostile_text.PAYLOADS[name], tmp_path):
        assert hostile_text.faults(call(*command)) == [], command
