"""A run whose first replies cannot be read stops, and says why on one screen."""

from __future__ import annotations

import pytest
from every_domain import episode_of, good
from support import calls_in, replies_in, scripts
from typer.testing import CliRunner

from tomeval.cli.app import app
from tomeval.models.base import Reply
from tomeval.play.closing import FIRST, UnreadError
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

MATRIX = {
    "games": ["IPD", "RPS", "IBS"],
    "partners": "tit_for_tat",
    "labels": "neutral",
    "horizon": 3,
    "episodes": 6,
    "subjects": [{"strategy": ["QA", "CoT"], "max_attempts": 2}],
    "model": "scripted:rule",
}


class Counting:
    """A script that counts its calls."""

    def __init__(self, say):
        self.say, self.calls = say, 0

    def __call__(self, request):
        self.calls += 1
        return self.say(request) if callable(self.say) else self.say


def play(folder, data, say, **options):
    """Play; return the error or None, and how many calls were made."""
    script = Counting(say)
    with scripts(rule=script):
        try:
            run_experiment(make_experiment(data), folder, **options)
        except UnreadError as error:
            return str(error), script.calls
    return None, script.calls


@pytest.mark.parametrize("policy", ["void", "random"])
def test_the_first_questions_are_the_same_at_any_concurrency(tmp_path, policy):
    data, screens = MATRIX | {"on_invalid": policy}, set()
    for number in (1, 3, 32):
        folder = tmp_path / f"{number}"
        screen, calls = play(folder, data, "I would rather not.", concurrency=number)
        assert calls == 2 * FIRST  # each was asked twice
        screens.add(screen)
        with Run(folder) as run:  # what was measured is there
            assert len(calls_in(run)) + len(replies_in(run)) >= 2 * FIRST
    (screen,) = screens
    assert screen.startswith("none of the first 8 answers could be read: the run stops\n")
    assert '"I would rather not."' in " ".join(screen.split())
    assert "-> there is no answer in the form asked for" in screen
    assert "--go-on" in screen


def test_a_run_goes_on_where_one_answer_could_be_read(tmp_path):
    def say(request):  # of the eight first episodes, in the last one
        return good("matrix")(request) if episode_of(request) == 3 else "Hm."

    data = MATRIX | {"games": "IPD", "on_invalid": "void"}
    for number in (1, 32):
        screen, _ = play(tmp_path / f"{number}", data, say, concurrency=number)
        assert screen is None


def test_replies_that_are_asked_again_are_told_before_the_run_stops(tmp_path, caplog):
    data, told = MATRIX | {"subjects": [{"strategy": "QA"}]}, "none of the first 5 replies of"
    play(tmp_path / "unread", data, lambda request: f"I would rather not, {request.seed}.")
    (said,) = [text for text in caplog.messages if text.startswith(told)]
    assert said.count('"I would rather not') == 3
    remedies = said.rpartition("->")[2]
    places = [remedies.index(one) for one in ('structured = "auto"', "strategy", "max_tokens")]
    assert places == sorted(places)
    caplog.clear()
    play(tmp_path / "read", data, good("matrix"))
    assert not [text for text in caplog.messages if text.startswith(told)]


def test_go_on_plays_all_and_a_resumed_run_counts_anew(tmp_path):
    screen, calls = play(tmp_path / "run", MATRIX, "Hm.")
    assert screen
    assert calls == 2 * FIRST
    screen, calls = play(tmp_path / "run", MATRIX, "Hm.")  # eight more
    assert screen
    assert calls == 2 * FIRST
    screen, _ = play(tmp_path / "run", MATRIX, "Hm.", go_on=True)
    assert screen is None
    play(tmp_path / "whole", MATRIX, "Hm.", go_on=True)
    with Run(tmp_path / "run") as run, Run(tmp_path / "whole") as whole:
        statuses = [[one.store.statuses(cell.number) for cell in one.cells] for one in (run, whole)]
        assert all(some.items() >= all_.items() for some, all_ in zip(*statuses, strict=True))


def test_the_command_ends_with_code_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ['games = ["IPD", "RPS", "IBS"]', 'partners = "tit_for_tat"', 'labels = "neutral"']
    lines += ["horizon = 3", "episodes = 6", 'model = "scripted:rule"']
    lines += ["[[subjects]]", 'strategy = ["QA", "CoT"]']
    (tmp_path / "e.toml").write_text("\n".join(lines), encoding="utf-8")
    with scripts(rule=lambda request: Reply("", finish="refusal")):
        stopped = CliRunner().invoke(app, ["run", "e.toml", "--out", "run"])
        assert stopped.exit_code == 1
        assert "tomeval: none of the first 8 answers could be read" in stopped.output
        assert "reword the question (prompts), or take another model" in " ".join(
            stopped.output.split()
        )
        went_on = CliRunner().invoke(app, ["run", "e.toml", "--out", "run", "--go-on"])
        assert "none of the first" not in went_on.output
        assert went_on.exit_code == 1  # no cell has a complete episode
