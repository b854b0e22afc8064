"""What every group of measures owes: nothing of it in runs without its data, said plainly."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import shipped
from tomeval.plots import draw
from tomeval.runs.outside import figures_of, groups_of, tables_of

GROUPS = [name for name, extension in shipped().items() if "matrix" in extension.data]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    data = {"games": "RPS", "subjects": ["random", "rmax"], "episodes": 2, "horizon": 3}
    with tomeval.run(data, tmp_path_factory.mktemp("plain") / "run") as run:
        yield run


@pytest.mark.parametrize("name", GROUPS)
def test_runs_without_its_data_have_none_of_it(plain, name) -> None:
    extension = shipped()[name]
    measures = [m.name for group in groups_of(extension, "matrix") for m in group.measures]
    tables = {*tables_of(extension, "matrix")}
    assert measures or tables
    assert not {*measures} & {*plain.measures}
    assert not tables & {*plain.tables}
    for figure in figures_of(extension, "matrix"):
        with pytest.raises(TomevalError, match=f"does not support the figure '{figure}'"):
            draw(plain, [figure])


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("believer", {"accuracy": 1.5}, "believer: accuracy must be a number from 0 to 1, is 1.5"),
        ("believer", {"use": "ratonal"}, r"believer: .* \(did you mean 'rational'\?\)"),
        ("tom_order", {"order": 4}, "tom_order: order must be a whole number from 0 to 3, is 4"),
        ("tom_order", {"rationality": -1}, "rationality must be a number of at least 0, is -1"),
    ],
)
def test_bad_options_of_known_players_are_named_before_anything_is_played(kind, options, said):
    with pytest.raises(TomevalError, match=said):
        tomeval.make_experiment({"games": "RPS", "subjects": {"kind": kind, **options}})
