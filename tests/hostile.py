"""Runs with scripted models that say nasty and odd things, for tests of what people read."""

from __future__ import annotations

import numpy as np
from known import question
from support import scripts

from tomeval.models.base import Reply
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

PLANTED = (
    "</script><script>window.planted = 1</script>"
    "<img src=x onerror='window.planted = 2'><svg onload='window.planted = 3'>"
    "{{ 7 * 7 }} <!-- ]]> &lt;b&gt; \u202e gnirts \U0001f3b2"
)
NASTY = "<b onclick='window.planted = 4'>Bold & \"quoted\"<b>"
GAME = """\
name = "<i>PD</i>"
title = "A game & a <script>window.planted = 5</script>"
wording = "score"
source = "made up"
payoffs = [[[8, 8], [0, 10]], [[10, 0], [5, 5]]]

[labels]
plain = ["<J>", "\U0001f3b2F"]
"""


def says(request):
    """Answer by the seed: readable, planted, unreadable, illegal, refused."""
    purpose, step, _ = question(request)
    labels = ("<J>", "\U0001f3b2F")
    if not hasattr(request, "seed"):
        draw = np.random.default_rng(step).random(len(request.labels))
        return np.log(draw / draw.sum() * 0.9).tolist()
    rng = np.random.default_rng(request.seed)
    if purpose in ("summarise", "reflect", "plan"):
        return f"note {rng.integers(100)} {PLANTED}"
    kind = rng.choice(["plain", "planted", "unreadable", "illegal"], p=[0.5, 0.3, 0.1, 0.1])
    answer = f"Final answer: {labels[rng.integers(2)]}"
    if kind == "planted":
        return Reply(f"{PLANTED}\n{answer}", reasoning=f"thinking {PLANTED}")
    return {"plain": answer, "unreadable": "well", "illegal": "Final answer: K"}[kind]


def model_run(folder, script=says, **options):
    """Play three strategies and two tabular subjects with hostile names, replies and labels."""
    game = folder.parent / "game.toml"
    game.write_text(GAME, encoding="utf-8")
    data = {
        "name": f"a run of {NASTY}",
        "games": [str(game)],
        "partners": ["tit_for_tat", "single_action"],
        "horizon": 6,
        "episodes": 4,
        "seed": 3,
        "model": "scripted:rule",
        "on_invalid": ["void"],
        "subjects": [
            {"strategy": ["QA", "LM", "S2A + CoT"], "max_attempts": 2},
            {"kind": "random", "name": NASTY},
            "rmax",
        ],
    }
    with scripts(rule=script):
        run_experiment(make_experiment(data | options), folder, go_on=True)
    return folder
