"""What one begins with: lists, templates to change, a first file of one's own."""

from __future__ import annotations

import pytest

from tomeval.core.resources import shipped
from tomeval.strategies.templates import load_prompts

# --- lists ----------------------------------------------------------------------------------------


# --- python -m tomeval ----------------------------------------------------------------------------


# --- templates of one's own -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "domain", "more", "holds"),
    [
        ("S2A + CoT", "matrix", [], {"context/s2a_act", "answer/cot_act", "answer/cot_predict"}),
        ("Social QA", "decrypto", [], {"advice/social", "ask/encoder", "answer/qa"}),
        ("QA", "arena", ["--game", "ipd3"], {"answer/qa", "ipd3/ask/moves"}),
    ],
)
def test_templates_are_copied_and_then_used(
    tomeval, tmp_path, monkeypatch, strategy, domain, more, holds
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["prompt", strategy, "--domain", domain, *more]
    code, _, errors = tomeval(*asked, "--copy-to", "mine")
    assert code == 0, errors
    files = {
        path.relative_to(tmp_path / "mine" / domain).with_suffix("").as_posix(): path
        for path in (tmp_path / "mine").rglob("*.j2")
    }
    assert holds <= set(files)
    for name, path in files.items():
        assert path.read_text() == (shipped("prompts") / domain / f"{name}.j2").read_text()
    before = tomeval(*asked)[1]
    assert tomeval(*asked, "--prompts", "mine")[1] == before
    for path in files.values():
        path.write_text(path.read_text() + "\nXYZZY\n")
    load_prompts.cache_clear()  # the next command is a process of its own
    assert "XYZZY" in tomeval(*asked, "--prompts", "mine")[1]
    kept = {path: path.read_text() for path in files.values()}
    code, _, errors = tomeval(*asked, "--copy-to", "mine")
    assert code == 2
    assert "already exists; name another folder" in errors
    assert {path: path.read_text() for path in files.values()} == kept
