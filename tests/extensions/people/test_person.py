"""A person as a subject of an experiment: cells that no run plays, and the manual's options."""

from __future__ import annotations

from support import ROOT

from tomeval.extensions.people.person import Person
from tomeval.runs.experiment import make_experiment

PAGE = (ROOT / "docs/people.md").read_text(encoding="utf-8")
DATA = {
    "games": ["RPS", "IPD"],
    "partners": "tit_for_tat",
    "horizon": [3, 5],
    "subjects": ["random", {"kind": "person", "order": ["act_first", "predict_first"]}],
}


def test_the_manual_has_every_option():
    for key in Person.options():
        assert f"`{key}`" in PAGE, key


def test_cells_of_people_are_those_of_the_grid_and_hold_what_people_read():
    made = make_experiment(DATA)
    cells, known = made.cells, made.identity()["cells"]
    mine = [said for cell, said in zip(cells, known, strict=True) if cell.by_people]
    assert (len(cells), len(mine)) == (12, 8)
    for cell in cells:
        assert cell.wanted(30) == (0 if cell.by_people else 30)
    assert all(said["templates"] for said in mine)


def test_who_is_not_asked_to_predict_is_asked_one_question():
    data = DATA | {"subjects": {"kind": "person", "literal": False}}
    for cell in make_experiment(data).cells:
        assert not cell.predicts("subject")
        person, _ = cell.setup.seat_subject(cell.setup.tables.partners[0], None)
        assert person.forms == ("act",)
