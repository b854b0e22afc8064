"""Runs that people played are read where the extension is not installed."""

from __future__ import annotations

import io
import subprocess
import sys

from support import ROOT

from tomeval.core.printing import Console
from tomeval.extensions.people.session import play_session, session

PEOPLE = 'games = ["IPD"]\npartners = ["tit_for_tat"]\nsubjects = ["person"]\n'

SCRIPT = """
import sys

_, tests, folder, file = sys.argv
sys.path.insert(0, tests)
from without_extension import Blocker, call

sys.meta_path.insert(0, Blocker("tomeval.extensions.people"))
for command in ("table", "transcript"):
    code, out, errors = call(command, folder)
    assert code == 0, errors
    print(out, errors)
code, out, errors = call("plan", file)
print(code, errors)
"""


def test_a_run_of_people_is_read_without_it(tmp_path):
    console = Console(io.StringIO("1\n1\n"), io.StringIO())
    assert play_session(session("IPD", "tit_for_tat", horizon=1), console, tmp_path / "run")
    (tmp_path / "mine.toml").write_text(PEOPLE)
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "tests"), str(tmp_path / "run")]
    command.append(str(tmp_path / "mine.toml"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "People: of 1 episodes begun, 1 complete" in said
    assert "2 tomeval: the extension 'people' cannot be loaded" in said
