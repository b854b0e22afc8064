"""Twins: exact players score the same on all of them once the affine change is undone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.fresh import Drawn, affine_form, draw_games
from tomeval.extensions.fresh.twins import Twins, twin, twin_partners
from tomeval.games.matrix.games import GAMES, Labels, get_game
from tomeval.games.matrix.optima import best_response, relevance, worst_response
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.shown import asked

PARTNERS = ("single_action", "best_responder", "always(0) + uniform_random")


def families():
    """Yield games with a set of partners."""
    for game in GAMES.values():
        for name in PARTNERS:
            yield game, get_partner_set(name, game)
    yield from draw_games(Drawn(seed=2, count=4, sizes=["2x3", "4x4"]))


def twins_of(game, seed):
    """Return a twin of every disguise."""
    asked = Twins(of=[game.name], seed=seed)
    return [twin(game, disguise, asked) for disguise in asked.disguise]


@pytest.mark.parametrize("horizon", [1, 9])
def test_optima_of_twins_are_those_of_the_game(horizon) -> None:
    tried = 0
    for game, partners in families():
        for other in twins_of(game, 3):
            disguise = other.disguise
            scale, shift = disguise.scale[0], disguise.shift[0]
            theirs = twin_partners(partners, disguise)
            for mine, yours in zip(partners.partners, theirs.partners, strict=True):
                for response in (best_response, worst_response):
                    known = response(game, mine, horizon)
                    same = response(other, yours, horizon)
                    undone = (same.value - shift * horizon) / scale
                    assert abs(undone - known.value) < 1e-9
                    assert np.array_equal(same.optimal, known.optimal[:, :, list(disguise.own)])
            worth = relevance(other, theirs, horizon) / scale
            assert worth == pytest.approx(relevance(game, partners, horizon), abs=1e-9)
            assert affine_form(other) == affine_form(game)
            tried += 1
    assert tried == (8 * 3 + 4) * 5


def test_exact_players_score_the_same_in_runs(tmp_path) -> None:
    keys = {
        "games": [{"twins": {"of": ["IPD", "RPS"], "seed": 4}}],
        "subjects": ["best_response", {"kind": "simulated", "p": 1, "q": 1}],
        "partners": ["single_action", "tit_for_tat"],
        "horizon": 6,
        "episodes": 8,
    }
    with tomeval.run(keys, tmp_path / "run") as run:
        by_task = {}
        for cell in run.cells:
            disguise = cell.game.disguise
            scale = disguise.scale[0] if disguise else 1
            key = (cell.columns["subject"], disguise.of if disguise else cell.game.name)
            key += (cell.columns["partners"],)
            regret = cell.totals("delta_functional_per_step").values / scale
            which, right = cell.played.which, cell.totals("tom_percent").values
            known = by_task.setdefault(key, (regret, which, right))
            assert np.abs(known[0] - regret).max() < 1e-9
            assert np.array_equal(known[1], which)  # the same partner in the same episode
            assert np.array_equal(known[2], right)
        assert len(by_task) == 8
        assert len(run.cells) == 8 * 6


def test_prompts_of_twins_tell_the_story_and_never_the_famous_name() -> None:
    game = get_game("IPD")
    partners = get_partner_set("tit_for_tat", game)
    options = {"strategy": "QA", "model": "scripted:J"}
    for other in twins_of(game, 1):
        theirs = twin_partners(partners, other.disguise)
        setup = Setup(
            "llm", options, game=other, labels=other.label_set(), partners=theirs, horizon=3, seed=1
        )
        made = asked(setup)
        assert {one.form for one in made} == {"act", "predict"}
        text = str([one.prompt for one in made])
        assert not other.story or other.story[:40] in text
        assert "risoner" not in text
        assert ("Cooperate" in text) == (not {"labels", "story"} & {*other.disguise.kinds})


def test_stories_have_labels_in_the_language_for_up_to_five_actions() -> None:
    asked = Twins(of=["RPS"], seed=2, languages=["de"])
    other = twin(get_game("RPS"), "story", asked)
    assert other.label_set().name.endswith(" de")
    big = replace(
        get_game("RPS"),
        payoffs=np.arange(72.0).reshape(6, 6, 2),
        labels={"l": Labels("l", tuple("ABCDEF"), tuple("ABCDEF"))},
    )
    with pytest.raises(TomevalError, match="stories have labels for 5 actions, RPS has 6"):
        twin(big, "story", asked)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"twins": {"of": "IPD", "disguise": "labls"}}, r"disguise\[0\]: .*did you mean 'labels'"),
        ({"twins": {"of": "IPD", "sede": 1}}, r"twins: unknown key 'sede' \(did you mean 'seed'"),
        ({"fresh": {"seed": -1}}, "fresh: seed: input should be greater than or equal to 0, is -1"),
        ({"fresh": {"seed": 1, "sizes": "7x7"}}, "unknown size '7x7'"),
        ({"fresh": {"seed": 1}, "partners": "tit_for_tat"}, "partners cannot be combined with fre"),
        ({"twins": {"of": "IPD"}, "partners": [{"kind": "random"}]}, "'random' is a player"),
    ],
)
def test_bad_tables_are_one_line(entry, said) -> None:
    with pytest.raises(TomevalError, match=said) as caught:
        tomeval.make_experiment({"games": [entry], "subjects": ["random"], "horizon": 2})
    assert "\n" not in str(caught.value)
