"""Every unreadable answer is counted once, and nothing that was drawn passes for what was said."""

from __future__ import annotations

from collections import Counter

from asking import query
from known import Known, question

import tomeval
from tomeval.games.matrix.games import get_game
from tomeval.models.scripted import SCRIPTS
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

GAME = get_game("IPD")
T, EPISODES = 5, 2
SCRIPT = "counted"


def known() -> Known:
    """Always cooperate; predict tit for tat, and say truly what it answers to both actions."""
    rule = dict.fromkeys(("act", "predict"), lambda step, text: 0)
    return Known(GAME, GAME.label_set("neutral"), **rule)


def run(folder, monkeypatch, script, strategy="QA", on_invalid="random", **options):
    monkeypatch.setitem(SCRIPTS, SCRIPT, script)
    subject = {"model": f"scripted:{SCRIPT}", "strategy": strategy, **options}
    data = {"games": ["IPD"], "partners": ["tit_for_tat"], "labels": "neutral", "horizon": T}
    data |= {"episodes": EPISODES, "on_invalid": on_invalid, "subjects": [subject]}
    run_experiment(make_experiment(data), folder)
    return tomeval.Run(folder)


def gibberish(attempts):
    """Return a script that says nothing about defection, as often as it is asked at first."""
    honest, asked = known(), Counter()

    def script(request):
        purpose, step, own = question(request)
        if purpose != "react" or own != GAME.label_set("neutral").own[1]:
            return honest(request)
        place = (request.group, step)
        asked[place] += 1
        return "Hm." if asked[place] <= attempts else honest(request)

    return script


def test_unreadable_reactions_are_counted_and_are_no_knowledge(tmp_path, monkeypatch):
    """8 of 16 reactions are gibberish; the 8 that are stated are right."""
    script = gibberish(10**6)
    with run(tmp_path, monkeypatch, script, conditional=True, max_attempts=3) as found:
        [row], [status] = found.rows(), found.status()
        asked = Counter(query(found, "SELECT question, outcome, attempts FROM asked"))
        stated = query(found, "SELECT reactions FROM steps WHERE reactions IS NOT NULL")
    answers = EPISODES * (T + T + 2 * (T - 1))
    assert asked == {
        ("act", "valid", 1): 10,
        ("predict", "valid", 1): 10,
        ("react 0", "valid", 1): 8,
        ("react 1", "unparsable", 3): 8,
    }
    assert row["invalid_rate"] == row["reask_rate"] == 8 / answers
    assert (status["complete"], status["unparsable"]) == (2, 8)
    assert status["reask_rate"] == 8 / answers
    planned = row["delta_tom_planned_per_step"]
    assert planned != planned  # NaN: what follows own action 1 was drawn, and never stated
    assert len(stated) == 8
    assert {text for (text,) in stated} == {"[0, -1]"}


def test_an_unreadable_reaction_ends_the_episode_and_is_counted(tmp_path, monkeypatch):
    options = {"on_invalid": "void", "conditional": True, "max_attempts": 1}
    with run(tmp_path, monkeypatch, gibberish(10**6), **options) as found:
        [row], [status] = found.rows(), found.status()
    assert (status["void"], status["unparsable"]) == (2, 2)
    assert row["invalid_rate"] == 2 / 8  # of each episode: act, predict, one reaction, another


def test_a_lost_prediction_counts_once(tmp_path, monkeypatch):
    """Social asks what to do given the prediction: without one it does not ask."""
    honest = known()

    def script(request):
        return "Hm." if question(request)[:2] == ("predict", 2) else honest(request)

    with run(tmp_path, monkeypatch, script, "Social QA", max_attempts=1) as found:
        [row], [status] = found.rows(), found.status()
        steps = query(
            found,
            "SELECT act_outcome, act_attempts, own_action IS NULL, predict_outcome, "
            "predict_attempts, predicted_action IS NULL FROM steps ORDER BY episode, step",
        )
        acts = query(found, "SELECT COUNT(*) FROM calls WHERE form = 'act' AND step = 2")
    usual = ("valid", 1, 0, "valid", 1, 0)
    assert steps[:T] == [usual, ("not_asked", 0, 0, "unparsable", 1, 0), usual, usual, usual]
    assert acts == [(0,)]
    assert status["unparsable"] == EPISODES
    assert row["invalid_rate"] == 1 / (2 * T - 1)  # the action of step 2 was not asked for


def test_a_prediction_stands_if_the_action_that_follows_cannot_be_read(tmp_path, monkeypatch):
    """Social has answered before it acts: of its four answers in each episode one is invalid."""
    honest, asked = known(), Counter()

    def script(request):
        purpose, step, _ = question(request)
        asked[request.group, purpose, step] += 1
        again = asked[request.group, purpose, step] > 1
        if step == 2 and (purpose == "act" or not again):
            return "Hm."
        return honest(request)

    options = {"strategy": "Social QA", "on_invalid": "void", "max_attempts": 2}
    with run(tmp_path, monkeypatch, script, **options) as found:
        [row], [status] = found.rows(), found.status()
        last = query(
            found,
            "SELECT act_outcome, act_attempts, predict_outcome, predict_attempts, predicted_action "
            "FROM steps WHERE step = 2",
        )
        text = "\n".join(line.text for line in found.cells[0].lines(0))
    assert last == [("unparsable", 2, "valid", 2, 0)] * EPISODES
    assert (status["void"], status["unparsable"]) == (2, 2)
    assert (row["invalid_rate"], row["reask_rate"]) == (1 / 4, 2 / 4)
    assert "chose nothing (unparsable), predicted J" in text
