"""Several runs as one."""

from __future__ import annotations

import pytest

import tomeval

SMALL = {"games": ["RPS", "IPD"], "subjects": ["rmax", "random"], "horizon": 6, "episodes": 5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return two runs that share one game, and one of another domain."""
    home = tmp_path_factory.mktemp("several")
    tomeval.run(SMALL, home / "one").close()
    tomeval.run({**SMALL, "games": ["RPS", "IBS"], "seed": 1}, home / "two").close()
    players = {"chance": {"kind": "random"}}
    lineup = {"game": "g", "subject": "chance", "others": ["chance"]}
    arena = {"domain": "arena", "games": {"g": {"game": "blotto"}}, "players": players}
    tomeval.run({**arena, "episodes": 2, "lineups": [lineup]}, home / "other").close()
    return home


def test_several_runs_have_the_rows_and_steps_of_each(folders) -> None:
    with tomeval.open(folders / "one", folders / "two") as runs:
        table, steps, figures = runs.table(), runs.steps(), runs.plot(only="forest")
    for name in ("one", "two"):
        with tomeval.open(folders / name) as run:
            assert isinstance(run, tomeval.Run)
            own, mine = run.table(), table[table["run"] == name]
            values = own["delta_functional_per_step"]
            assert mine["delta_functional_per_step"].tolist() == values.tolist()
            told = steps[steps["run"] == name]
            assert told["own_reward"].tolist() == run.steps()["own_reward"].tolist()
    assert len(table) == 2 * len(own)
    assert list(figures) == ["forest_regret", "forest_tom"]


@pytest.fixture(scope="module")
def with_people(folders):
    """Return a run of models, and one of people in two conditions, whose partner nobody knows."""
    log, first = folders / "people.csv", "episode,step,condition,own_action,partner_action"
    rows = [f"{n},{k},{'calm' if n % 2 else 'hurried'},{n % 2},0" for n in range(4) for k in (1, 2)]
    log.write_text("\n".join([first, *rows]))
    tomeval.import_log(log, folders / "people", "IPD", "unknown").close()
    return [folders / "one", folders / "people"]


@pytest.mark.parametrize("turned", [False, True])
def test_people_and_models_have_the_columns_and_measures_of_both(with_people, turned) -> None:
    order = list(reversed(with_people)) if turned else with_people
    with tomeval.open(*order) as runs:
        table, whole = runs.table(), runs.table("hindsight_constant_regret")
        assert list(runs.plot(only="forest"))
    assert list(table)[:4] == ["subject", "run", "condition", "model"]
    people = table[table["run"] == "people"]
    assert people["condition"].tolist() == ["hurried", "calm"]
    assert table[table["run"] == "one"]["condition"].tolist() == [""] * 4
    assert list(whole).index("condition") < list(whole).index("game")
    hindsight = table["hindsight_constant_regret_per_step"]
    assert (hindsight.isna() == (table["run"] == "one")).all()
    regret = table["delta_functional_per_step"]
    assert (regret.isna() == (table["run"] == "people")).all()


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
