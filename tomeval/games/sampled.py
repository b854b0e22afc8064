"""Made-up games of random actions: which questions a game asks, and a model in a seat is asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.game import Action, ArenaGame, Ask, Form, Probe, Stage, View
from tomeval.games.seats import Answer, Door
from tomeval.strategies.readers import MARKER
from tomeval.strategies.recording import Overheard, Recording, record

if TYPE_CHECKING:
    from tomeval.games.cells import GameCell

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


def episodes(cell: GameCell, slot: str, note: str = "") -> list[list[Overheard]]:
    """Return what a slot is asked in made-up games, see `Cell.questions`.

    It takes the seats in turn, so there are questions of all roles.
    """
    from tomeval.play.engines import run_loop

    index = cell.slots.index(slot)
    return [
        record(partial(_play, cell, index, number, made), run_loop, note)
        for number, made in enumerate(cell.made_up)
    ]


async def _play(cell: GameCell, index: int, number: int, made: MadeUp, model: Recording) -> None:
    """Play the decisions of a slot in a made-up game, with the probes that belong to them."""
    game, place = cell.game, cell.seated(number)[1][index]
    seat = cell.seat(number, index, {cell.slots[index]: model}, door := Door())
    seat.begin(game.view(made.trail[0].state, place))
    stages = [*made.trail, Stage(made.end, {})]
    for at, (state, actions) in enumerate(made.trail):
        view = game.view(state, place)
        for ask in (ask for ask in game.due(state) if ask.seat == place):
            beside, after = all_probes(game, state, ask, actions)
            probes = (*beside, *after)
            true = _true(game, made, place, at, probes)
            model.says = _said(game, view, ask, actions, probes, true)
            door.set(partial(_look, true, stages[at + 1]))
            first, rest = (beside, after) if seat.asked_first else ((), probes)
            for probe in first if index in cell.measured else ():
                await seat.probe(view, ask, probe)
            await seat.answer(view, ask)
            for probe in rest if index in cell.measured else ():
                await seat.probe(view, ask, probe)
        await seat.observe(game.view(stages[at + 1].state, place))


async def _look(true: Any, then: Stage[Any], *drafts: Action) -> Any:
    """Return what is behind an oracle's door: what others do now, or after a draft."""
    return {seat: Answer(action) for seat, action in then.actions.items()} if drafts else true


def _true(
    game: ArenaGame[Any], made: MadeUp, place: int, at: int, probes: tuple[Probe, ...]
) -> dict[Probe, Action]:
    """Return the true answers to the probes of a decision, where the made-up game tells them."""
    if not made.trail[-1].actions:
        return {}
    true = {probe: game.truth(probe, place, made.trail, at, made.end) for probe in probes}
    return {probe: what for probe, what in true.items() if what is not None}


def _said(
    game: ArenaGame[Any],
    view: View[Any],
    ask: Ask,
    actions: Mapping[int, Action],
    probes: tuple[Probe, ...],
    true: Mapping[Probe, Action],
) -> dict[str, str]:
    """Return what the model says: the made-up action, and of others the truth, if it is known."""
    texts: dict[str, str] = {}
    if ask.seat in actions:
        written = _marked(game.form(view, ask), game.written(view, ask, actions[ask.seat]))
        texts |= dict.fromkeys((ask.kind, "draft", f"draft {ask.kind}"), written)
    for probe in (*(Probe(name) for name in game.questions if name in game.forms), *probes):
        form = game.form(view, probe)
        items = game.written(view, probe, true[probe]) if probe in true else form.any_items
        texts |= {f"{use} {probe.question}": _marked(form, items) for use in ("predict", "probe")}
    return texts


def _marked(form: Form, items: Any) -> str:
    return f"{MARKER} {json.dumps({form.key: items})}"
