"""Every example that ``tomeval init`` writes runs as it is, and nothing is overwritten."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

from tomeval.cli.starting import kinds
from tomeval.core import parts
from tomeval.core.resources import shipped
from tomeval.games.matrix.subjects import SUBJECTS
from tomeval.strategies.parts import ADVICE, PARTS
from tomeval.strategies.templates import load_prompts


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in an empty folder; forget afterwards what plugins registered."""
    monkeypatch.chdir(tmp_path)
    subjects = dict(SUBJECTS)
    monkeypatch.setattr(parts, "_STATE", parts._Loaded())
    load_prompts.cache_clear()
    yield tmp_path
    for name in set(SUBJECTS) - set(subjects):
        del SUBJECTS[name]
    for key in set(PARTS) - set(ADVICE):
        del PARTS[key]
    for name in [name for name in sys.modules if name.startswith(("tomeval_plugin", "my_"))]:
        del sys.modules[name]
    load_prompts.cache_clear()


def rows(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out)))


def experiment(**keys: object) -> str:
    """Write an experiment of matrix games; return its path."""
    lines = [f"{key} = {value}" for key, value in keys.items()]
    Path("e.toml").write_text('name = "e"\nepisodes = 4\nhorizon = 6\n' + "\n".join(lines) + "\n")
    return "e.toml"


@pytest.mark.parametrize("domain", ["matrix", "decrypto", "arena"])
def test_an_experiment_runs_with_rows(tomeval, here, domain) -> None:
    code, out, errors = tomeval("init", "experiment", "first", "--domain", domain)
    assert (code, out) == (0, "first.toml\n"), errors
    assert "tomeval run first.toml" in Path("first.toml").read_text()
    assert "example" not in Path("first.toml").read_text().lower()
    code, _, errors = tomeval("run", "first.toml")
    assert code == 0, errors
    _, out, _ = tomeval("table", "runs/first", "--what", "cells", "--format", "csv")
    found = rows(out)
    assert len(found) == {"matrix": 16, "decrypto": 4, "arena": 3}[domain]
    if domain == "matrix":  # the dials say what comes out, in every cell
        for row in found:
            if row["subject"] == "knows and uses it":
                assert float(row["response_gap_per_step"]) == pytest.approx(0, abs=1e-9)
            if row["subject"].startswith("knows"):
                assert float(row["tom_percent"]) == pytest.approx(90, abs=6)


def test_a_game_and_a_partner_go_into_an_experiment(tomeval, here) -> None:
    assert tomeval("init", "game", "hunt")[0] == 0
    assert tomeval("init", "partner", "wary")[0] == 0
    assert tomeval("bounds", "hunt.toml", "wary.toml")[0] == 0
    own = experiment(games='["hunt.toml"]', partners='["wary.toml"]', subjects='["best_response"]')
    assert tomeval("run", own)[0] == 0
    [row] = rows(tomeval("table", "runs/e", "--format", "csv")[1])
    assert (row["game"], row["partners"]) == ("hunt", "wary")
    # It stays calm while it is not defected against: 6 rounds of the best joint payoff.
    assert float(row["reward_per_step"]) == pytest.approx(4.0)


def test_a_strategy_is_asked_in_every_domain(tomeval, here) -> None:
    assert tomeval("init", "strategy", "my_other_side")[0] == 0
    seen = "Before you decide: in at most three sentences"
    for domain in ("matrix", "decrypto", "arena"):
        code, out, errors = tomeval(
            *("--plugin", "my_other_side/my_other_side"),
            *("prompt", "My Other Side + CoT", "--domain", domain),
        )
        assert code == 0, errors
        assert out.count(seen) == 1  # in the first call; the second shows what was written
        assert "You have looked at the game from the other side:" in out

    text = Path("my_other_side/pyproject.toml").read_text()
    assert '[project.entry-points."tomeval.extensions"]\nmy_other_side = "my_other_side"' in text


def test_a_subject_a_measure_and_a_model_work_together(tomeval, here) -> None:
    for kind in ("subject", "measure", "model"):
        assert tomeval("init", kind)[0] == 0
    more = [
        word for kind in ("subject", "measure", "model") for word in ("--plugin", f"my_{kind}.py")
    ]
    own = experiment(
        games='["RPS"]',
        partners='["always(2)"]',
        subjects='["my_subject", { strategy = "QA", model = "my_model:Paper" }]',
    )
    code, _, errors = tomeval(*more, "run", own)
    assert code == 0, errors
    stay, paper = rows(tomeval(*more, "table", "runs/e", "--format", "csv")[1])
    # Rock wins against scissors, and stays; the model says paper, and paper, and loses.
    assert (stay["reward_per_step"], paper["reward_per_step"]) == ("1.0", "-1.0")
    assert {row["my_measure_percent"] for row in (stay, paper)} == {"100.0"}
    code, _, errors = tomeval("table", "runs/e", "--format", "csv")  # no plugin named: read all
    assert code == 0, errors
    code, _, errors = tomeval(
        *more, "plan", own, "--set", 'subjects=[{strategy="LM", model="my_model:x"}]'
    )
    assert code == 0, errors


def test_an_extension_brings_a_measure_a_table_a_figure_and_a_command(tomeval, here) -> None:
    assert tomeval("init", "extension")[0] == 0
    assert len(Path("my_extension.py").read_text().splitlines()) <= 80
    own = experiment(games='["RPS"]', partners='["always(2)"]', subjects='["random"]')
    assert tomeval("run", own)[0] == 0
    more = ("--plugin", "my_extension.py")
    assert "analyses, commands" in tomeval(*more, "list", "extensions")[1]
    [row] = rows(tomeval(*more, "table", "runs/e", "--format", "csv")[1])
    assert 0 <= float(row["my_extension_percent"]) <= 100
    what = ("--what", "my_extension", "--format", "csv")
    [row] = rows(tomeval(*more, "table", "runs/e", *what)[1])
    assert row["subject"] == "random"
    code, _, errors = tomeval(*more, "table", "runs/e", *what, "--by", "subject")
    assert (code, "leave out --by" in errors) == (2, True)
    assert tomeval(*more, "plot", "runs/e", "--only", "my_extension", "--out", "f")[0] == 0
    assert Path("f/my_extension.png").is_file()
    assert tomeval(*more, "report", "runs/e", "-o", "r.html")[0] == 0
    assert "he most stubborn episodes" in Path("r.html").read_text()
    assert tomeval(*more, "my_extension", "runs/e")[1].startswith("{'subject': 'random'")


@pytest.mark.parametrize("kind", kinds())
def test_nothing_is_overwritten(tomeval, here, kind) -> None:
    assert tomeval("init", kind, "kept")[0] == 0
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    code, out, errors = tomeval("init", kind, "kept")
    assert code == 2
    assert out == ""
    assert "already exists; choose another name" in errors
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experimnt"], "unknown kind 'experimnt' (did you mean 'experiment'?)"),
        (["experiment", "--domain", "matrx"], "did you mean 'matrix'"),
        (
            ["game", "--domain", "decrypto"],
            "init game: --domain: unknown domain 'decrypto'; known: arena, matrix",
        ),
        (["game", "../x"], "must be letters, digits and single _"),
    ],
)
def test_bad_requests_write_nothing(tomeval, here, arguments, message) -> None:
    code, out, errors = tomeval("init", *arguments)
    assert code == 2
    assert out == ""
    assert message in errors
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("strategy", "domain", "more", "holds"),
    [
        ("S2A + CoT", "matrix", [], {"context/s2a_act", "answer/cot_act", "answer/cot_predict"}),
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
    code, _, errors = tomeval(*asked, "--copy-to", "mine")
    assert (code, "already exists; name another folder" in errors) == (2, True)


def test_a_text_chooses_rows(tomeval) -> None:
    head, *lines = tomeval("list", "partners", "TIT_FOR", "--format", "csv")[1].splitlines()
    assert head.startswith("partner")
    assert lines
    assert all("tit_for" in line.lower() for line in lines)
