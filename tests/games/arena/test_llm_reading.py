"""Replies as actions, in every game: what is taken is legal, and what is refused says why."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.arena.named_games import GAMES, get_kind
from tomeval.games.game import ERRORS
from tomeval.games.llm.scene import Judged
from tomeval.games.sampled import made_up
from tomeval.strategies.readers import plain

ITEMS = st.one_of(
    st.text(max_size=40),
    st.integers(-(10**12), 10**12),
    st.sampled_from(["cooperate", "Player 1", "...", "pass", "yes", "thing", "2", ""]),
    st.integers(-2, 21),
    st.none(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@cache
def situations(name):
    """Return decisions of made-up games: game, view, ask, and what was done."""
    kind = get_kind(name)
    game = kind.make(kind.rules())
    return [
        (game, game.view(state, ask.seat), ask, actions[ask.seat])
        for seed in range(3)
        for state, actions in made_up(game, seed).trail
        for ask in game.due(state)
    ]


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_taken_is_legal_and_what_is_refused_says_why(name, data):
    game, view, ask, _ = data.draw(st.sampled_from(situations(name)))
    form = game.form(view, ask)
    judged = Judged(form, lambda items: game.read(view, ask, items))
    items = data.draw(st.one_of(st.lists(ITEMS, max_size=5), ITEMS))
    read = judged.read(f"Hm.\nFinal answer: {json.dumps({form.key: items})}", "stop")
    if read.value is not None:
        assert not judged.tries
        assert game.fault(view, ask, read.value.action) is None
    else:
        (refused,) = judged.tries
        assert refused.error in ERRORS
        assert refused.error == "format" or read.outcome == "illegal"
        assert refused.text.strip()


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=100, deadline=None)
@given(reply=st.text(max_size=200), finish=st.sampled_from(["stop", "length", "refusal"]))
def test_free_text_is_never_an_action(name, reply, finish):
    game, view, ask, _ = situations(name)[0]
    judged = Judged(game.form(view, ask), lambda items: game.read(view, ask, items))
    read = judged.read(reply, finish)
    assert read.value is None
    words = "format" if plain(reply).strip() else "empty"
    expected = {"length": "truncated", "refusal": "refusal"}.get(finish, words)
    assert judged.tries[0].error in (expected, "truncated")
