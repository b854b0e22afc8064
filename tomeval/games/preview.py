"""What a language model in a seat would be asked: made-up games, with stand-ins for its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tomeval.games.cells import GameCell
from tomeval.games.game import Action, ArenaGame, Ask, Form, Probe, Stage, View
from tomeval.games.sampled import MadeUp, all_probes
from tomeval.games.seats import Answer, Door
from tomeval.play.engines import run_loop
from tomeval.strategies.readers import MARKER
from tomeval.strategies.recording import Overheard, Recording, record


def episodes(cell: GameCell, slot: str, note: str = "") -> list[list[Overheard]]:
    """Return what a slot is asked in made-up games, see `Domain.questions`.

    It takes the seats in turn, so there are questions of all roles.
    """
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
