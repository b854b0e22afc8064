"""Two subjects at one table: what each sees, whose chance it is, what is stored and shown."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from asking import query
from support import column, scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.games.matrix.play import play_episode
from tomeval.games.matrix.subjects import SUBJECTS, Subject
from tomeval.models.base import Reply
from tomeval.play.preview import preview
from tomeval.report.transcripts import transcript_lines
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

DATA = {
    **{"games": "IBS", "labels": "canonical", "horizon": 6, "episodes": 6, "seed": 3},
    "model": "pocket",
}


class Copycat(Subject):
    """Tit for tat, as a subject; keeps what it saw."""

    seen: list = []  # noqa: RUF012 (shared on purpose)

    def act(self, observation):
        self.seen.append((self.seat, observation, list(observation.past)))
        return Decision(observation.past[-1].partner if observation.past else 0)

    def predict(self, observation, own_action):
        return Decision(0)


@pytest.fixture
def copycat(monkeypatch):
    monkeypatch.setitem(SUBJECTS, "copycat", Copycat)
    Copycat.seen.clear()


def duel(subject, partner, **more):
    [cell] = make_experiment(DATA | {"subjects": [subject], "partners": [partner]} | more).cells
    return cell, play_episode(cell.setup, 0)


def played(tmp_path: Path, **more) -> Run:
    return tomeval.run(DATA | {"name": "duel"} | more, tmp_path / "run")


def test_each_sees_its_own_side_and_nothing_of_the_step(copycat):
    cell, steps = duel("random", {"kind": "copycat"})
    own, theirs = steps.column("own_action"), steps.column("partner_action")
    assert theirs == [0, *own[:-1]]
    payoffs = cell.setup.game.payoffs
    for number, (seat, observation, past) in enumerate(Copycat.seen):
        assert seat.game.payoffs.tolist() == payoffs.transpose(1, 0, 2)[:, :, ::-1].tolist()
        assert seat.labels.own == cell.setup.labels.partner
        assert observation.round == number + 1 == len(past) + 1
        for a, b, joint in zip(own, theirs, past, strict=False):
            assert joint == (b, a, payoffs[a, b, 1], payoffs[a, b, 0])


def test_seats_have_chance_of_their_own():
    _, same = duel("random", {"kind": "random"}, horizon=40)
    assert same.column("own_action") != same.column("partner_action")
    _, renamed = duel({"kind": "random", "name": "x"}, {"kind": "random", "name": "y"}, horizon=40)
    assert renamed.columns == same.columns


def test_the_subject_alone_is_told_the_other_s_move():
    told = {"kind": "simulated", "p": 1.0, "q": 1.0}
    _, steps = duel(told, {"kind": "random"}, games="RPS", horizon=30)
    own, theirs = column(steps, "own_action"), column(steps, "partner_action")
    assert (own == (theirs + 1) % 3).all()
    assert (column(steps, "predicted_action") == theirs).all()
    assert column(steps, "told").all()
    with pytest.raises(TomevalError, match="in the subject's seat only"):
        duel("random", told)


def test_every_episode_draws_anew_which_beliefs_are_right():
    """Else all episodes were misled in the same steps: one sample, taken for many."""
    data = DATA | {"subjects": [{"kind": "believer"}], "partners": [{"kind": "random"}]}
    [cell] = make_experiment(data).cells
    right = []
    for episode in range(60):
        told = play_episode(cell.setup, episode).column("act_details")
        right.append([one["belief"]["right"] for one in told])
    shares = np.mean(right, axis=0)  # of each step over the episodes: binomial, sd 0.065
    assert shares.shape == (6,)
    assert ((shares > 0.2) & (shares < 0.8)).all()


# What is stored, read back and shown


def test_notes_transcripts_and_counts_know_both_seats(tmp_path):
    partners = [{"kind": "random"}, "tit_for_tat"]
    task = {"games": "IPD", "horizon": 20, "episodes": 12}
    with played(tmp_path, subjects=["rmax"], partners=partners, **task) as run:
        rows = run.rows()
        notes = run.domain.table_notes(run, ())
        text = "\n".join(transcript_lines(run, 0, 0))
        asked = query(
            run, "SELECT seat, question, COUNT(*) FROM asked WHERE cell = 0 GROUP BY seat, question"
        )
    assert np.isnan(rows[0]["delta_functional_per_step"])
    assert np.isfinite(rows[1]["delta_functional_per_step"])
    assert any("partner's seat" in note for note in notes)
    assert "partner chose " in text
    assert text.count(", predicted ") == 40
    both = {
        (seat, question): 240 for seat in ("partner", "subject") for question in ("act", "predict")
    }
    assert {(seat, question): count for seat, question, count in asked} == both


@pytest.mark.parametrize("policy", ["void", "random"])
def test_an_unreadable_answer_in_the_partner_s_seat(tmp_path, policy):
    asked = itertools.count(1)

    def mute(request):  # answers four questions, those of two steps, and none that follow
        return Reply("I cannot tell." if next(asked) > 4 else "Final answer: J")

    partner = {"strategy": "QA", "model": "scripted:mute", "max_attempts": 1}
    with scripts(mute=mute):
        more = {"subjects": ["random"], "partners": [partner], "labels": "neutral"}
        with played(tmp_path, **more, on_invalid=policy, episodes=1) as run:
            [(status, steps)] = query(run, "SELECT status, steps FROM episodes")
            text = "\n".join(transcript_lines(run, 0, 0, calls=False))
            invalid = query(
                run, "SELECT seat, question FROM asked WHERE outcome = 'unparsable' ORDER BY step"
            )
            actions = query(run, "SELECT partner_action FROM steps ORDER BY step")
    assert ("partner", "act") in invalid
    assert all(seat == "partner" for seat, _ in invalid)
    if policy == "void":
        assert (status, steps) == ("void", 3)
        assert actions == [(0,), (0,), (None,)]
        assert "partner chose nothing (unparsable)" in text
    else:
        assert (status, steps) == ("complete", 6)
        assert "(drawn, unparsable)" in text


def test_prompts_of_both_seats_can_be_shown():
    models = [{"strategy": "QA", "model": "pocket"}]
    [cell] = make_experiment(DATA | {"subjects": models, "partners": models}).cells
    mine, theirs = (preview(cell, seat, "act", 2) for seat in ("subject", "partner"))
    # Battle of the sexes: both at the fight are worth 10 to the subject and 7 to the partner.
    assert mine != theirs
    assert mine.index("10 points") < mine.index("7 points")
    assert theirs.index("7 points") < theirs.index("10 points")
    assert list(cell.models) == ["subject", "partner"]


def test_what_another_model_replaces():
    """--model measures another model; who names a partner's model means that one."""
    seat = {"strategy": "QA", "model": "pocket"}
    data = DATA | {"subjects": [dict(seat)], "partners": [dict(seat)]}
    get_domain("matrix").experiment.use_model(data, "pocket-rational")
    [cell] = make_experiment(data, one_model=True).cells
    assert cell.models == {"subject": "pocket-rational", "partner": "pocket"}
