"""Runs that people played are read where the extension is not installed."""

from __future__ import annotations

import subprocess
import sys

from study_support import study
from support import ROOT

SCRIPT = """
import sys

sys.path.insert(0, sys.argv[1])
from without_extension import Blocker, call

sys.meta_path.insert(0, Blocker("tomeval.extensions.people"))
for command in ("table", "transcript"):
    code, out, errors = call(command, sys.argv[2])
    assert code == 0, errors
    print(out, errors)
code, out, errors = call("plan", "study_example")
print(code, errors)
"""


def test_a_run_of_people_is_read_without_it(tmp_path):
    with study(tmp_path / "run") as (_, browser):
        browser().join().finish(checks=("0", "0"))
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "tests"), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "People: of 1 episodes begun, 1 complete" in said
    assert "1 of 2 answers (50.0 %) were wrong" in said
    assert "check 2: answered 'red', wrong" in said
    assert "2 tomeval: the extension 'people' cannot be loaded" in said
