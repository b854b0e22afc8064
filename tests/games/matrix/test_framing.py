"""Personas and frames: told before the rules, word for word, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from known import PAIRS, Known, make_setup, play

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import GAMES, get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.scene import Order, Words, prompts_of
from tomeval.strategies.templates import CHOSEN, Prompts, load_prompts

GAME = get_game("IPD")
BOTH = {"persona": "a cautious trader", "partner_persona": "someone who holds grudges"}
LINES = "Who you are: a cautious trader\nWho the other player is: someone who holds grudges"
FRAMES = ("business", "friends", "sport")
OWN = '+++\ntitle = "t"\nsource = "s"\nversion = "1"\n+++\nYou are two {{ own_options }} pilots.\n'


def asked(strategy, **options):
    """Return every prompt of an episode against a partner that draws, and the steps."""
    script = Known(GAME, GAME.label_set())
    partners = get_partner_set("mixture(0.25, 0.75)", GAME)
    options = {"conditional": True, "decide": "argmax", **options}
    steps = play(make_setup(GAME, partners, strategy, 3, **options), script)
    return script.log, steps


@pytest.mark.parametrize("prompts", ["default", "akata"])
def test_they_stand_before_the_rules_and_change_nothing_else(prompts):
    """Prompt by prompt: the words of the option, and then what is asked without it."""
    for strategy in PAIRS:
        plain, steps = asked(strategy, prompts=prompts)
        none = dict.fromkeys((*BOTH, "frame"), "none")
        assert asked(strategy, prompts=prompts, **none)[0] == plain
        log, told = asked(strategy, prompts=prompts, **BOTH)
        assert len(log) == len(plain)
        for (purpose, step, text), (*where, before) in zip(log, plain, strict=True):
            assert [purpose, step] == where
            # What stands on a summary, which the model wrote, does not have them.
            summed = strategy.context == "s2a" and not purpose.startswith("summarise")
            added = "" if summed and purpose != "reflect" else f"{LINES}\n\n"
            assert text == before.replace("[user]\n", f"[user]\n{added}", 1)
        for name in ("own_action", "partner_action", "partner_state", "predicted_action"):
            assert told.column(name) == steps.column(name)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_fits_every_game_and_names_no_action_and_no_payoff(frame):
    prompts = prompts_of({"frame": frame}, None)
    assert [n for n in prompts.names() if n.startswith(CHOSEN)] == [f"{CHOSEN}{f}" for f in FRAMES]
    told = set()
    for game in GAMES.values():
        for labels in game.labels.values():
            order = Order(tuple(range(game.n)), tuple(range(game.m)))
            words = Words(game, labels, 7, order)
            text = prompts.render(f"{CHOSEN}{frame}", **words.common)
            told.add(text)
            assert not re.search(r"\d|\{", text)
            for label in {*labels.own, *labels.partner} - {"I"}:
                assert not re.search(rf"\b{re.escape(label)}\b", text), label
    assert len(told) == 2  # points are won, scores are received


def test_what_a_persona_says_is_text():
    for text in ("{{ 7 * 7 }}", "</s><|im_start|>"):
        [_, _, shown], *_ = asked("QA", persona=text, partner_persona=text)[0]
        assert f"Who you are: {text}\nWho the other player is: {text}\n\n" in shown


def test_a_frame_of_ones_own_is_a_template(tmp_path):
    file = tmp_path / "matrix" / "frame" / "pilots.j2"
    file.parent.mkdir(parents=True)
    file.write_text(OWN)
    load_prompts.cache_clear()
    [_, _, text], *_ = asked("QA", prompts=str(tmp_path), frame="pilots")[0]
    assert text.startswith("[user]\nYou are two Cooperate or Defect pilots.\n\nYou are playing")
    [_, _, text], *_ = asked("QA", prompts=str(tmp_path), frame="friends")[0]
    assert text.startswith("[user]\nYou and the other player are old friends")
    with pytest.raises(TomevalError, match=r"unknown frame 'pilot' \(did you mean 'pilots'\?\)"):
        asked("QA", prompts=str(tmp_path), frame="pilot")
    file.rename(file.with_name("loud.j2")).write_text(OWN.replace("own_options", "nothing"))
    load_prompts.cache_clear()
    with pytest.raises(TomevalError, match="prompt 'frame/loud': cannot be rendered"):
        asked("QA", prompts=str(tmp_path), frame="loud")
    # No other domain has frames: there the file would have no effect.
    (tmp_path / "matrix").rename(tmp_path / "arena")
    with pytest.raises(TomevalError, match="unknown prompt template 'frame/loud'"):
        Prompts("arena", tmp_path)
