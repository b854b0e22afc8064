"""What a language model in a seat would read in one turn of a made-up game."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tomeval.core.errors import unknown
from tomeval.core.outcomes import Said
from tomeval.domains.decrypto.experiment import DecryptoCell, DecryptoExperiment
from tomeval.domains.decrypto.game import CODES, Game, Hints, View
from tomeval.domains.decrypto.llm_seats import LLMSeat
from tomeval.domains.decrypto.play import random_hints
from tomeval.domains.decrypto.players import DecryptoPlayer
from tomeval.domains.decrypto.probes import Probes
from tomeval.domains.decrypto.seats import (
    ACTS,
    BELIEFS,
    ENCODER_QUESTIONS,
    INTERCEPTOR_QUESTIONS,
    ROLES,
)
from tomeval.domains.seated.preview import Recorder, recorded
from tomeval.domains.seated.seats import Chair
from tomeval.models.base import Prompt
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.capabilities import Doing
from tomeval.runs.engines import run_loop

NAMED = ("one", "two", "three", "four")
"""The keywords that the stand-in for Eve names."""


class PreviewSeat(LLMSeat):
    """A seat whose questions are recorded."""

    asker = Recorder


def forms_of(cell: DecryptoCell, seat: str) -> dict[str, range]:
    """Return the questions of a seat with the turns they can be asked in."""
    turns = range(1, cell.length + 1)
    probes = cell.experiment.probes
    forms = {ACTS[seat]: turns}
    if seat == "encoder":
        forms |= {name: turns for name in ENCODER_QUESTIONS if getattr(probes, name)}
    if seat == "interceptor":
        asked = [q for name, pair in BELIEFS.items() if getattr(probes, name) for q in pair]
        forms |= dict.fromkeys(["keywords", *asked] if asked else [], turns[1:])
    return forms


def prompts_of_turns(
    cell: DecryptoCell, seat: str, wanted: Mapping[str, Collection[int]], note: str = ""
) -> dict[tuple[str, int], list[tuple[Doing, Prompt]]]:
    """Return, by question and turn, what each model call does, and its prompt.

    Hints of the past are drawn, Bob guesses right and Eve wrong. A reflection on the turn before
    comes first. `note` is as for `Describe.prompt`.
    """
    player = cell.players[seat]
    if player is None:
        raise ValueError(f"the {seat} answers from a record")
    prompts: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    # A summary is written for the first question of a turn, and each is to show it.
    apart = player.llm_options.strategy_of(seat).summarises
    for asked in [{form: wanted[form]} for form in wanted] if apart else [wanted]:
        prompts |= run_loop(_play(cell, player, seat, asked, note))
    return prompts


async def _play(
    cell: DecryptoCell,
    player: DecryptoPlayer,
    seat: str,
    wanted: Mapping[str, Collection[int]],
    note: str,
) -> dict[tuple[str, int], list[tuple[Doing, Prompt]]]:
    """Play one game, up to the last turn that is wanted."""
    options = player.llm_options
    rng, lists = np.random.default_rng(0), cell.experiment.lists
    chair = Chair(seat, rng, ScriptedModel(()), "preview", cell.experiment.base)
    made_up = PreviewSeat(chair, options)
    kept = recorded(made_up, note, options.strategy_of(seat).takes_notes)
    deal, _, rules = cell.deal(0)
    game = Game(deal, rules)
    prompts: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    last = max(turn for turns in wanted.values() for turn in turns)
    for number in range(1, last + 1):
        hints = random_hints(game.encoder_view(), lists.hints, rng)
        wrong = CODES[(CODES.index(game.code) + 1) % len(CODES)]
        kept.said = _said(hints)
        chair.door.hold((Said(game.code), Said(wrong)))
        view = _view(game, seat, hints)
        await made_up.answer(view)
        acted, drawn = kept.taken(), rng.bit_generator.state
        for form in (form for form, turns in wanted.items() if number in turns):
            prompts[form, number] = acted
            if form != ACTS[seat]:
                await made_up.probe(view, form, **_shown(game, hints, form))
                prompts[form, number] = kept.taken()
                # The play goes on as if nothing had been asked beside it.
                rng.bit_generator.state = drawn
        if number == last:
            break
        game = game.after(hints, game.code, wrong)
        await made_up.observe(game.turns[-1])  # a reflection belongs to the next turn
    return prompts


def _said(hints: Hints) -> dict[str, str]:
    """Return what the model says, by purpose."""
    code = json.dumps({"code": [1, 2, 3]})
    given, named = json.dumps({"hints": hints}), json.dumps({"keywords": NAMED})
    guessed = ["decode", "intercept", "predict bob", "predict eve"]
    guessed += [f"probe {question}" for question in ENCODER_QUESTIONS]
    asked = [f"probe {question}" for question in INTERCEPTOR_QUESTIONS]
    return {
        **dict.fromkeys(("encode", "draft"), given),
        **dict.fromkeys(guessed, code),
        **dict.fromkeys(asked, named),
    }


def _view(game: Game, seat: str, hints: Hints) -> View:
    """Return what a seat sees."""
    if seat == "encoder":
        return game.encoder_view()
    return game.decoder_view(hints) if seat == "decoder" else game.interceptor_view(hints)


def _shown(game: Game, hints: Hints, form: str) -> dict[str, Any]:
    """Return what a probe shows."""
    if form in ENCODER_QUESTIONS:
        return {"hints": hints}
    shown = {} if form == "keywords" else {"keywords": game.deal.keywords}
    return shown | ({"earlier": NAMED} if form in BELIEFS["beliefs_in_view"] else {})


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
