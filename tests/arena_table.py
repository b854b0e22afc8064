"""A table of language models on scripts, played by a loop that is the tests' own."""

from __future__ import annotations

import asyncio
import json

import numpy as np

from tomeval.games.game import Stage
from tomeval.games.llm.options import ArenaOptions
from tomeval.games.llm.seat import LLMSeat
from tomeval.games.seats import Chair
from tomeval.models.scripted import ScriptedModel
from tomeval.strategies.asking import flatten


def said(key, *items):
    return f"Hm.\nFinal answer: {json.dumps({key: list(items)}, ensure_ascii=False)}"


class Logged:
    """A script that keeps every request; `answer` gets the last message, and the request."""

    def __init__(self, answer) -> None:
        self.answer, self.requests = answer, []

    def __call__(self, request):
        self.requests.append(request)
        return self.answer(request.prompt.messages[-1].content, request)

    def texts(self):
        return [flatten(request.prompt) for request in self.requests]


def seat(number, script, prompts=None, attempts=1, **options):
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    rng = np.random.default_rng(number)
    chair = Chair(number, rng, model, f"test/{number}", attempts=attempts)
    made = ArenaOptions(**options)
    prompts = prompts or made.prompts_in("", None)
    return LLMSeat(chair, made, made.strategy_in(), prompts)


def play(game, state, seats, *, probes=False):
    """Play to the end; return the last state and every answer as (stage, seat, question, Answer).

    An oracle is told what the others of its stage do, and who they are. In place of an answer that
    is refused, a legal action is drawn.
    """
    found = []
    rng = np.random.default_rng(0)

    async def act(stage, ask):
        view = game.view(state, ask.seat)
        if probes:
            for probe in game.probes(view._state, ask, None, {}):
                answer = await seats[ask.seat].probe(view, ask, probe)
                found.append((stage, ask.seat, probe.question, answer))
        answer = await seats[ask.seat].answer(view, ask)
        found.append((stage, ask.seat, ask.kind, answer))
        return game.random(view, ask, rng) if answer.action is None else answer.action

    def door(stage, ask, actions):
        async def look():
            asked = game.probes(state, ask, None, {})
            trail = [*[None] * stage, Stage(state, actions)]
            told = {probe: game.truth(probe, ask.seat, trail, stage, state) for probe in asked}
            return {probe: true for probe, true in told.items() if true is not None}

        return look

    async def go():
        nonlocal state
        stage = 0
        for number, player in seats.items():
            player.begin(game.view(state, number))
        while due := game.due(state):
            actions = {}
            for ask in sorted(due, key=lambda ask: seats[ask.seat].strategy.is_told):
                seats[ask.seat].chair.door.set(door(stage, ask, actions))
                actions[ask.seat] = await act(stage, ask)
            _, state = game.after(state, actions, rng)
            for number, player in seats.items():
                await player.observe(game.view(state, number))
            stage += 1

    asyncio.run(go())
    return state, found
