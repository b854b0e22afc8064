"""People and models in one table."""

from __future__ import annotations

import pytest

import tomeval

SMALL = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "horizon": 6, "episodes": 5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return two runs that share one game."""
    home = tmp_path_factory.mktemp("several")
    tomeval.run(SMALL, home / "one").close()
    tomeval.run({**SMALL, "games": ["RPS", "IBS"], "seed": 1}, home / "two").close()
    return home


@pytest.fixture(scope="module")
def with_people(folders):
    """Return a run of models, and one of people in two conditions, whose partner nobody knows."""
    log, first = folders / "people.csv", "episode,step,condition,own_action,partner_action"
    rows = [f"{n},{k},{'calm' if n % 2 else 'hurried'},{n % 2},0" for n in range(4) for k in (1, 2)]
    log.write_text("\n".join([first, *rows]))
    tomeval.import_log(log, folders / "people", "IPD", "unknown").close()
    return [folders / "one", folders / "people"]


@pytest.mark.parametrize("turned", [False, True])
def test_commands_read_people_and_models_together(with_people, turned, request) -> None:
    run_tomeval = request.getfixturevalue("tomeval")
    names = [str(folder) for folder in (reversed(with_people) if turned else with_people)]
    code, said, errors = run_tomeval("table", *names)
    assert code == 0, errors
    assert "condition" in said
    assert "hurried" in said
    code, said, errors = run_tomeval("table", *names, "--format", "csv")
    assert code == 0, errors
    head, *lines = said.splitlines()
    assert head.startswith("subject,run,condition,model,")
    assert {line.split(",")[2] for line in lines} == {"", "calm", "hurried"}
    code, said, errors = run_tomeval("compare", *names, "--by", "condition")
    assert code == 0, errors
    assert "hurried" in said
