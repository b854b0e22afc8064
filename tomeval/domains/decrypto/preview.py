"""What a language model in a seat would read in a made-up game of Decrypto."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tomeval.core.errors import unknown
from tomeval.core.outcomes import Said
from tomeval.domains.decrypto.experiment import DecryptoCell, DecryptoExperiment
from tomeval.domains.decrypto.game import CODES, Game, Hints
from tomeval.domains.decrypto.llm_seats import LLMSeat
from tomeval.domains.decrypto.play import random_hints
from tomeval.domains.decrypto.probes import Probes, ask_encoder, ask_interceptor
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS, INTERCEPTOR_QUESTIONS, ROLES
from tomeval.domains.seated.seats import Chair
from tomeval.runs.engines import run_loop
from tomeval.strategies.readers import MARKER
from tomeval.strategies.recording import Overheard, Recording, record

NAMED = ("one", "two", "three", "four")
"""The keywords that the stand-in for Eve names."""


def episodes(cell: DecryptoCell, seat: str, note: str = "") -> list[list[Overheard]]:
    """Return what a seat is asked in a game of all turns, see `Describe.episodes`."""
    return [record(partial(_play, cell, seat), run_loop, note)]


async def _play(cell: DecryptoCell, role: str, model: Recording) -> None:
    """Play a game in which hints are drawn, Bob guesses right and Eve wrong."""
    player, experiment = cell.players[role], cell.experiment
    if player is None:
        raise ValueError(f"the {role} answers from a record")
    rng = np.random.default_rng(0)
    chair = Chair(role, rng, model, "preview", experiment.base)
    seat = LLMSeat(chair, player.llm_options)
    deal, _, rules = cell.deal(0)
    game = Game(deal, rules)
    for number in range(1, cell.length + 1):
        hints = random_hints(game.encoder_view(), experiment.lists.hints, rng)
        wrong = CODES[(CODES.index(game.code) + 1) % len(CODES)]
        model.says = _said(hints)
        chair.door.hold((Said(game.code), Said(wrong)))
        if role == "encoder":
            view = game.encoder_view()
            await seat.answer(view)
            await ask_encoder(seat, experiment.probes, view, hints)
        elif role == "decoder":
            await seat.answer(game.decoder_view(hints))
        else:
            listening = game.interceptor_view(hints)
            await ask_interceptor(seat, experiment.probes, listening, deal.keywords)
            await seat.answer(listening)
        if number < cell.length:
            game = game.after(hints, game.code, wrong)
            await seat.observe(game.turns[-1])


def _said(hints: Hints) -> Mapping[str, str]:
    """Return what the model says, by purpose."""
    given, guess, named = (
        f"{MARKER} {json.dumps(said)}"
        for said in ({"hints": hints}, {"code": [1, 2, 3]}, {"keywords": NAMED})
    )
    guesses = ["decode", "intercept", "predict bob", "predict eve"]
    guesses += [f"probe {question}" for question in ENCODER_QUESTIONS]
    asked = [f"probe {question}" for question in INTERCEPTOR_QUESTIONS]
    says = {**dict.fromkeys(guesses, guess), **dict.fromkeys(asked, named)}
    return {**says, "encode": given, "draft": given}


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> DecryptoCell:
    """Return the cell that ``tomeval prompt --domain decrypto`` shows: one model, two at random.

    `settings` may hold options of `LLMOptions`, and ``rules``.
    """
    if seat and seat not in ROLES:
        raise unknown("seat", seat, ROLES, "--seat")
    options = {key: value for key, value in settings.items() if key != "form"}
    data: dict[str, Any] = {"rules": options.pop("rules")} if "rules" in options else {}
    seat = seat or "encoder"
    experiment = DecryptoExperiment(
        players={
            "model": {"model": "scripted:decrypto", "strategy": {seat: strategy}, **options},
            "other": {"kind": "random"},
        },
        pairings=[{role: "model" if role == seat else "other" for role in ROLES}],  # type: ignore[list-item]
        probes=Probes(**dict.fromkeys(Probes.model_fields, True)),
        **data,
    )
    experiment._where = "prompt"
    [cell] = experiment.cells
    assert isinstance(cell, DecryptoCell)
    return cell
