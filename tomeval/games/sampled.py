"""Made-up games of random actions: which questions a game asks, and how they are answered."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.game import Action, ArenaGame, Ask, Form, Probe, Stage, View

_GAMES = 5
"""Games that are looked at: enough that each decision that can be due is due in one."""

TALK = "(what the player says: some thirty words, as many as there are in this sentence, so that "
TALK += "a prompt is about as long here as those of a real game in which everybody talks are)"
"""What is said in made-up games, if the rules allow that much."""


class MadeUp(NamedTuple):
    """A made-up game: its stages, and its last state."""

    trail: list[Stage[Any]]
    end: Any


def made_up(game: ArenaGame[Any], seed: int) -> MadeUp:
    """Return a game of random legal actions, always the same for one seed.

    Where a game cannot draw actions it ends with the first decisions.
    """
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    trail: list[Stage[Any]] = []
    while due := game.due(state):
        try:
            actions = {ask.seat: _drawn(game, game.view(state, ask.seat), ask, rng) for ask in due}
        except TomevalError:
            trail.append(Stage(state, {}))
            break
        trail.append(Stage(state, actions))
        state = game.after(state, actions, rng)[1]
    return MadeUp(trail, state)


def _drawn(game: ArenaGame[Any], view: View[Any], ask: Ask, rng: np.random.Generator) -> Action:
    """Draw an action; who may talk freely says something."""
    action = game.random(view, ask, rng)
    silent = action == ""
    return TALK if silent and game.fault(view, ask, TALK) is None else action


def forms_met(game: ArenaGame[Any]) -> tuple[dict[str, Form], dict[str, Form]]:
    """Return the forms of decisions by kind and those of probes by name, as first met.

    A form that can be scored in one situation and not in another counts as one that cannot.
    """
    decisions: dict[str, Form] = {}
    probes: dict[str, Form] = {}
    for seed in range(_GAMES):
        for state, actions in made_up(game, seed).trail:
            for ask in game.due(state):
                view = game.view(state, ask.seat)
                _note(decisions, ask.kind, game.form(view, ask))
                for probe in itertools.chain(*all_probes(game, state, ask, actions)):
                    _note(probes, probe.name, game.form(view, probe))
    return decisions, probes


def all_probes(
    game: ArenaGame[Any], state: Any, ask: Ask, actions: Mapping[int, Action]
) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
    """Return the probes beside a decision, and those on what follows from it, if it was made."""
    view, done = game.view(state, ask.seat), actions.get(ask.seat)
    first = game.probes(state, ask, None, {})
    said = {one: game.read(view, one, game.form(view, one).any_items) for one in first}
    after = () if done is None else game.probes(state, ask, done, {})
    return game.probes(state, ask, None, said), after


def _note(forms: dict[str, Form], name: str, form: Form) -> None:
    if name not in forms or not form.labels:
        forms[name] = form
