"""A run whose names and replies act on terminals: every command shows them safely.

The attack in benchmarks/attacks/hostile_text.py tries each text alone; here they stand together.
"""

from __future__ import annotations

import pytest
from attacks import hostile_text
from attacks.commands import call

TEXTS = (
    *("colour", "link", "C1 colour", "next line", "line feed", "right to left", "zero", "return"),
    *("separators", "rich markup", "markup", "TeX", "lone surrogates"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    text = "".join(hostile_text.PAYLOADS[name] for name in TEXTS)
    return hostile_text.hostile_run(tmp_path_factory.mktemp("hostile") / "run", text)


@pytest.mark.parametrize("command", hostile_text.SHOWN, ids=range(len(hostile_text.SHOWN)))
def test_what_is_shown_is_safe(run, command):
    assert hostile_text._faults(call(*command(run))) == []


def test_data_is_exact(run):
    text = "".join(hostile_text.PAYLOADS[name] for name in TEXTS)
    faults = list(hostile_text._data_faults(run, text))
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
        assert (told.code, hostile_text._faults(told)) == (0, [])
    assert hostile_text._page_faults(page.read_text(encoding="utf-8")) == []
    drawn = list((tmp_path / "figures").glob("*.svg"))
    assert drawn
    assert [fault for path in drawn for fault in hostile_text._svg_faults(path)] == []
