"""What an extension brings to matrix games: a question beside moves, a kind of partner set."""

from __future__ import annotations

import pytest
from support import scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Extension, add
from tomeval.domains.matrix.asides import Aside
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import PartnerSets, get_partner, get_partner_set
from tomeval.domains.matrix.partners import PartnerSet
from tomeval.domains.matrix.storing import read_asides
from tomeval.runs.transcripts import transcript_lines
from tomeval.strategies.labels import Labels
from tomeval.strategies.questions import Question


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "words" / "matrix" / "answer"
    folder.mkdir(parents=True)
    head = '+++\ntitle = "regret"\nsource = "a test"\nversion = "1"\n+++\n'
    text = f"{head}Which would you rather have chosen?\n{{{{ marker }}}} ..."
    (folder / "qa_regret.j2").write_text(text)

    def questions(seat, step):
        return [Question("regret", "functional", "regret", Labels(seat.labels.own), step, {})]

    def said(cell, number, outcome, value):
        return f"rather {cell.labels.own[int(value)]}"

    def build(spec, game, base):
        return PartnerSet("twins", (get_partner(f"always({spec['twins']})", game, base),))

    aside = Aside("regret", "asks what it regrets", folder.parent.parent, questions, said)
    sets = PartnerSets(build)
    add(Extension("mine", asides={"regretting": aside}, partner_sets={"twins": sets}))


def test_an_option_asks_in_its_rounds_and_a_key_makes_a_set(mine, tmp_path) -> None:
    asked = []

    def answer(request):
        asked.append("rather" in request.prompt.messages[-1].content)
        return "Final answer: J"

    subject = {"strategy": "QA", "model": "scripted:mine", "regretting": "ends"}
    experiment = {"games": "RPS", "labels": "neutral", "horizon": 4, "episodes": 1}
    with scripts(mine=answer):
        run = tomeval.run(
            experiment | {"subjects": subject, "partners": {"twins": 1}}, tmp_path / "run"
        )
    with run:
        assert run.cells[0].columns["partners"] == "twins"
        assert [row[:3] for row in read_asides(run.store, 0)] == [
            (0, 1, "regret 0"),
            (0, 4, "regret 0"),
        ]
        assert "rather J" in "\n".join(transcript_lines(run, 0, 0))
    assert sum(asked) == 2


def test_without_the_extension_both_are_one_clear_error() -> None:
    with pytest.raises(TomevalError, match="'twins'"):
        get_partner_set({"twins": 1}, get_game("RPS"))
    subject = {"strategy": "QA", "model": "pocket", "regretting": "ends"}
    with pytest.raises(TomevalError, match="no option 'regretting'"):
        tomeval.make_experiment({"games": "RPS", "subjects": subject})
