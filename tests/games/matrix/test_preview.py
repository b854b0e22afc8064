"""`tomeval prompt`: exactly what a model would read."""

import pytest
from known import PAIRS, Known, make_setup, play

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.domain import MATRIX
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.shown import asked
from tomeval.play.preview import preview
from tomeval.strategies.asking import flatten


def show(strategy, form="act", number=3, game="IPD", **options):
    settings = {"game": game, "horizon": 5, "partners": "always(0)", "form": form, **options}
    if not game.endswith(".toml"):
        settings.setdefault("labels", "neutral")
    cell = MATRIX.example(strategy, "", settings)
    return preview(MATRIX, cell, "", form, number)


def test_is_what_a_run_asks():
    """Where nothing that a model wrote is shown, the preview has the prompts of a real episode."""
    game = get_game("IPD")
    partners = get_partner_set("tit_for_tat", game)
    for strategy in PAIRS:
        script = Known(game, game.label_set("neutral"), predict=lambda step, text: 0)
        setup = make_setup(game, partners, strategy, 5, "neutral", conditional=True)
        play(setup, script)
        shown = [(one.form, one.step, flatten(one.prompt)) for one in asked(setup)]
        assert len(shown) == len(script.log)
        for form in ("act", "predict", "react"):
            # In the first step nothing was written before, and the script's own moves are not seen.
            mine = [one for one in shown if one[:2] == (form, 1)]
            wanted = [one for one in script.log if one[:2] == (form, 1)]
            if strategy.context != "s2a" and not strategy.memory:
                assert mine == wanted


def test_head():
    plain = show("LM")
    assert plain.startswith("--- call 1 of 1, act: the model scores J, F; ")
    begun, _, instead = plain.rpartition(
        "\n[or, if it cannot begin like this, the last message ends with]\n"
    )
    assert begun.endswith("[assistant begins]\nI choose")
    assert instead == "Reply with the name of one action only, J or F, and nothing else."


def test_a_round_that_is_not_there():
    with pytest.raises(TomevalError, match="--round must be from 1 to 4, is 5"):
        show("QA", number=5, form="react")
