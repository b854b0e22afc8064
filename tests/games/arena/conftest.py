"""Fixtures that tests of the arena share."""

import pytest

from tomeval.play.runner import run_experiment
from tomeval.runs.results import Run


@pytest.fixture
def playing(tmp_path):
    """Return a function that plays what a maker of experiments makes, and opens the run."""
    opened = []

    def player(experiment):
        def play(*arguments, **more):
            folder = tmp_path / f"run{len(opened)}"
            run_experiment(experiment(*arguments, **more), folder)
            opened.append(Run(folder))
            return opened[-1]

        return play

    yield player
    for run in opened:
        run.close()
