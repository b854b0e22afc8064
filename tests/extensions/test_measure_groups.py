"""What every group of measures owes: nothing of it in runs without its data, said plainly."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.parts import shipped
from tomeval.runs.analyses import analyses_of
from tomeval.runs.domain import get_domain

ANALYSES = [n for n, one in shipped().items() if f"matrix {n}" in one.parts.get("analyses", {})]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    data = {"games": "RPS", "subjects": ["random", "rmax"], "episodes": 2, "horizon": 3}
    with tomeval.run(data, tmp_path_factory.mktemp("plain") / "run") as run:
        yield run


@pytest.mark.parametrize("name", ANALYSES)
def test_runs_without_its_data_have_none_of_it(plain, name) -> None:
    analysis = analyses_of(get_domain("matrix"))[name]
    measures = [measure.name for measure in analysis.measures]
    tables = {*analysis.tables}
    assert measures or tables
    assert not {*measures} & {*plain.measures}
    assert not tables & {*plain.tables}


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("believer", {"accuracy": 1.5}, "believer: accuracy must be a number from 0 to 1, is 1.5"),
        ("believer", {"use": "ratonal"}, r"believer: .* \(did you mean 'rational'\?\)"),
    ],
)
def test_bad_options_of_known_players_are_named_before_anything_is_played(kind, options, said):
    with pytest.raises(TomevalError, match=said):
        tomeval.make_experiment({"games": "RPS", "subjects": {"kind": kind, **options}})
