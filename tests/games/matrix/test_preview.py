"""`tomeval prompt`: exactly what a model would read."""

from known import PAIRS, Known, make_setup, play

from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.shown import asked
from tomeval.strategies.asking import flatten


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
            mine, wanted = ([x for x in log if x[:2] == (form, 1)] for log in (shown, script.log))
            notes = strategy.part.memory or strategy.advice == "plans_insights"
            if strategy.context != "s2a" and not notes:
                assert mine == wanted
