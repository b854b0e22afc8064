"""The one player of language models: what does not depend on the kind of game."""

import asyncio

import pytest
from known import Known, fixed, make_setup

from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.play import play_episode_async
from tomeval.models.base import BackendError, Capabilities, Reply
from tomeval.models.scripted import ScriptedModel

IPD = get_game("IPD")


class Spoiled(Known):
    """A known rule whose replies to one purpose fail in round 2."""

    purpose, reply = "act", Reply("", finish="refusal")

    def __call__(self, request):
        said = super().__call__(request)
        asked, step, _ = self.log[-1]
        if (asked, step) != (self.purpose, 2):
            return said
        if self.reply is None:
            raise BackendError("down")
        return self.reply


def played(strategy, concurrent, purpose, reply):
    script = Spoiled(IPD, IPD.label_set(), predict=lambda step, text: int(step == 3))
    script.purpose, script.reply = purpose, reply
    model = ScriptedModel(script)
    model.capabilities = Capabilities(concurrent=concurrent)
    setup = make_setup(IPD, fixed(IPD, [0, 1]), strategy, 4, on_invalid="random", max_attempts=2)
    record = asyncio.run(play_episode_async(setup, 0, model))
    asked = sorted(f"{step} {name} {text}" for name, step, text in script.log)
    calls = sorted(f"{step} {name}" for step, _, name, _ in record.calls)
    rows = [
        record.column("own_action"),
        record.column("predicted_action"),
        record.column("act_outcome"),
        record.column("predict_outcome"),
        record.status,
    ]
    return asked, calls, rows


@pytest.mark.parametrize("reply", [Reply("", finish="refusal"), None], ids=["refusal", "error"])
@pytest.mark.parametrize(
    ("strategy", "purpose"),
    [
        ("QA", "act"),
        ("CoT", "predict"),
        ("S2A", "summarise"),
        ("Oracle + CoT", "act"),
        ("Reflexion 2", "reflect"),
        ("S2A + Reflexion 1 + CoT", "reflect"),
        ("Plans + Insights", "act"),
        ("Social QA", "predict"),
    ],
)
def test_questions_side_by_side_get_the_answers_of_questions_in_turn(strategy, purpose, reply):
    """Also where something fails: no answer of another round ever stands in."""
    asked, calls, rows = played(strategy, True, purpose, reply)
    asked_in_turn, _, rows_in_turn = played(strategy, False, purpose, reply)
    assert rows == rows_in_turn
    assert len(asked) == len(calls)  # every call is in the log, once
    if rows[-1] == "complete":  # else the probe beside the failure has been asked already
        assert asked == asked_in_turn
