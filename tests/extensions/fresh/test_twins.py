"""Twins: exact players score the same on all of them once the affine change is undone."""

from __future__ import annotations

import numpy as np
import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import GAMES, get_game
from tomeval.domains.matrix.optima import best_response, relevance, worst_response
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.preview import asked
from tomeval.extensions.fresh.classes import affine_form, class_of
from tomeval.extensions.fresh.drawing import draw_games, read_drawn
from tomeval.extensions.fresh.sets import anchor_games
from tomeval.extensions.fresh.twins import (
    KINDS,
    Twins,
    load_story,
    read_twins,
    twin,
    twin_partners,
    twins_of,
)
from tomeval.runs.experiment import make_experiment

PARTNERS = ("single_action", "best_responder", "0.3*always(0) + 0.7*uniform_random")


def families():
    """Yield a game with each of its twins, every kind three times, and a set of partners."""
    told = Twins((), seed=3, count=2)
    for game in GAMES.values():
        for name in PARTNERS:
            yield game, get_partner_set(name, game), told
    for one in draw_games(read_drawn({"seed": 2, "count": 4, "sizes": ["2x3", "4x4"]})):
        yield one.game, one.partners, told


@pytest.mark.parametrize("horizon", [1, 9])
def test_optima_of_twins_are_those_of_the_game(horizon) -> None:
    tried = 0
    for game, partners, told in families():
        for other in twins_of(game, told, None):
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
            assert class_of(other) == class_of(game)
            tried += 1
    assert tried == (8 * 3 + 4) * 10


def test_exact_players_score_the_same_in_runs(tmp_path) -> None:
    keys = {
        "games": [{"twins": {"of": ["IPD", "RPS"], "seed": 4, "count": 2}}],
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
        assert len(run.cells) == 8 * 11


def test_what_is_not_disguised_stays() -> None:
    game = get_game("IBS")
    told = Twins((), seed=1, count=4)
    for other in twins_of(game, told, None):
        kinds, labels = other.disguise.kinds, other.label_set()
        assert ("story" in kinds) == bool(other.story)
        if kinds == ("order",):
            back = np.argsort(other.disguise.own)
            assert [labels.own[k] for k in back] == ["Fight", "Ballet"]
            assert other.disguise.own != (0, 1) or other.disguise.partner != (0, 1)
        if kinds == ("payoffs",):
            assert labels.own == ("Fight", "Ballet")
            assert min(other.disguise.scale) >= 2
        if "payoffs" not in kinds:
            assert sorted(other.own.ravel()) == sorted(game.own.ravel())
        if "labels" in kinds or "story" in kinds:
            assert not {*labels.own} & {"Fight", "Ballet"}


def test_prompts_of_twins_tell_the_story_and_never_the_famous_name() -> None:
    game = get_game("IPD")
    partners = get_partner_set("tit_for_tat", game)
    options = {"strategy": "QA", "model": "scripted:J", "recognition": "ends"}
    for other in twins_of(game, Twins((), seed=1), None):
        theirs = twin_partners(partners, other.disguise)
        setup = Setup(
            "llm", options, game=other, labels=other.label_set(), partners=theirs, horizon=3, seed=1
        )
        made = asked(setup)
        assert {one.form for one in made} == {"act", "predict", "recognition"}
        text = str([one.prompt for one in made])
        assert not other.story or other.story[:40] in text
        assert "risoner" not in text
        assert "textbooks use" in text
        assert ("Cooperate" in text) == (not {"labels", "story"} & {*other.disguise.kinds})


def test_own_stories_and_languages(tmp_path) -> None:
    file = tmp_path / "ships.toml"
    file.write_text('text = "Ships."\nlabels.en = ["Oak", "Elm"]\nlabels.de = ["Eiche", "Ulme"]\n')
    told = read_twins({"of": "IPD", "stories": ["ships.toml"], "languages": ["de"]})
    other = twin(get_game("IPD"), "story", told, base=tmp_path)
    assert (other.story, other.label_set().own) == ("Ships.", ("Eiche", "Ulme"))
    with pytest.raises(TomevalError, match="'ships' has labels for 2 actions in 'de', RPS has 3"):
        twin(get_game("RPS"), "story", told, base=tmp_path)
    file.write_text('text = "Ships."\nlabels = ["Oak", "Elm"]\n')
    load_story.cache_clear()
    with pytest.raises(TomevalError, match=r"ships\.toml: labels must be lists by language"):
        twin(get_game("IPD"), "story", told, base=tmp_path)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "missing key 'of'"),
        ({"of": "IPD", "disguise": "labls"}, "unknown disguise 'labls' .did you mean 'labels'"),
        ({"of": "IPD", "count": 0}, "count must be a whole number from 1 to 20"),
        ({"of": "IPD", "stories": "pirates"}, "unknown story 'pirates'"),
        ({"of": "IPD", "languages": "xx"}, "unknown language 'xx'"),
        ({"of": "IPDD"}, "unknown game 'IPDD'"),
        ({"of": [["IPD"]]}, "of must be names"),
        ({"of": "IPD", "disguise": ["labels+order", "order + labels"]}, "has duplicates"),
        ({"of": "IPD", "famous": 1}, "famous must be true or false"),
    ],
)
def test_bad_keys_are_one_line(keys, said) -> None:
    with pytest.raises(TomevalError, match=said) as caught:
        tomeval.run({"games": [{"twins": keys}], "subjects": ["random"], "horizon": 2}, "never")
    assert "\n" not in str(caught.value)


def test_a_set_that_is_none_has_a_near_match() -> None:
    with pytest.raises(TomevalError, match=r"unknown key 'frsh' .did you mean 'fresh'"):
        tomeval.run({"games": [{"frsh": {"seed": 1}}], "subjects": ["random"]}, "never")


def test_drawn_games_take_no_partners() -> None:
    keys = {"games": [{"fresh": {"seed": 1}, "partners": "tit_for_tat"}], "subjects": ["random"]}
    with pytest.raises(TomevalError, match="partners cannot be combined with fresh"):
        tomeval.run(keys, "never")


def test_anchors_are_the_same_ten_games_every_month() -> None:
    games = anchor_games()
    assert len({affine_form(game) for game in games}) == len(games) == 10
    months = [_anchors(seed) for seed in (202601, 202602)]
    assert [one.disguise.of for one in months[0]] == [one.disguise.of for one in months[1]]
    assert any(not np.array_equal(a.payoffs, b.payoffs) for a, b in zip(*months, strict=True))
    assert all(one.disguise.kinds == KINDS for month in months for one in month)


def _anchors(seed):
    keys = {"games": [{"fresh_2026": {"seed": seed, "count": 2}}], "subjects": ["random"]}
    cells = make_experiment(keys).expand()
    return [cell.setup.game for cell in cells if cell.setup.game.disguise]
