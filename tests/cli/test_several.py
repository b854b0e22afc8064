"""People and models in one table."""

from __future__ import annotations

import pytest

import tomeval

SMALL = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "horizon": 6, "episodes": 5}


@pytest.fixture(scope="module")
def with_people(tmp_path_factory):
    """Return a run of models, and one of people in two conditions, whose partner nobody knows."""
    home = tmp_path_factory.mktemp("several")
    tomeval.run(SMALL, home / "one").close()
    log, first = home / "people.csv", "episode,step,condition,own_action,partner_action"
    rows = [f"{n},{k},{'calm' if n % 2 else 'hurried'},{n % 2},0" for n in range(4) for k in (1, 2)]
    log.write_text("\n".join([first, *rows]))
    tomeval.import_log(log, home / "people", "IPD", "unknown").close()
    return [home / "one", home / "people"]


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
