"""What a language model in a seat would read in one turn of a made-up game."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from tomeval.core.errors import unknown
from tomeval.core.outcomes import Said
from tomeval.domains.decrypto.experiment import DecryptoCell, DecryptoExperiment
from tomeval.domains.decrypto.game import CODES, Code, Game, Hints
from tomeval.domains.decrypto.play import random_hints
from tomeval.domains.decrypto.players import DecryptoPlayer
from tomeval.domains.decrypto.probes import Probes
from tomeval.domains.decrypto.seats import (
    BELIEFS,
    ENCODER_QUESTIONS,
    ROLES,
    Chair,
    Decoder,
    Encoder,
    Interceptor,
    SeatPlayer,
)
from tomeval.models.base import GenerateRequest, Model, Prompt, Reply, ScoreRequest, Scores
from tomeval.runs.capabilities import Doing
from tomeval.runs.engines import run_loop
from tomeval.strategies.readers import MARKER

ACTS = {"encoder": "encode", "decoder": "decode", "interceptor": "intercept"}
NAMED = ("one", "two", "three", "four")
"""The keywords that the stand-in for Eve names."""


class Recorder(Model):
    """Keeps every prompt and gives readable, legal stand-ins for what a model would say."""

    name = "preview"

    def __init__(self, kind: str, max_attempts: int, note: str, with_answers: bool) -> None:
        self.note, self.with_answers = note, with_answers  # whether answers stand below a note
        self.notes = 0  # written so far: as good as their step to tell them apart
        self.kind, self.max_attempts = kind, max_attempts  # of answers; notes are taken as they are
        self.prompts: list[tuple[Doing, Prompt]] = []
        self.hints: Hints = ("", "", "")

    async def generate(self, request: GenerateRequest) -> Reply:
        """Keep the prompt."""
        content = request.prompt.messages[-1].content
        asked = re.findall(r'{"(hints|code|keywords)"', content)
        again = bool(asked) and request.sampling.temperature > 0
        doing = Doing(
            kind=self.kind if asked else "note",
            most=request.sampling.max_tokens,
            attempts=self.max_attempts if again else 1,
            notes=bool(asked) and self.with_answers and '"Plans:"' in content,
        )
        self.prompts.append((doing, request.prompt))
        notes = "Plans: (what the model planned)\nInsights: (what the model had found out)"
        if not asked:
            summary = content.endswith("Write the summary only.")
            notes = f"(the {'summary' if summary else 'lesson'} that the model wrote)"
        if self.note and (self.with_answers or not asked):
            self.notes += 1
            notes = self.note.format(step=self.notes)
        if not asked:
            return Reply(notes)
        quoted = ", ".join(f'"{hint}"' for hint in self.hints)
        answer = {
            "hints": f"[{quoted}]",
            "code": "[1, 2, 3]",
            "keywords": json.dumps(NAMED),
        }[asked[-1]]
        return Reply(f'{notes}\n{MARKER} {{"{asked[-1]}": {answer}}}')

    async def score(self, request: ScoreRequest) -> Scores:
        """Refuse: no seat scores labels."""
        raise NotImplementedError("seats of Decrypto write their answers")


def forms_of(cell: DecryptoCell, seat: str) -> dict[str, range]:
    """Return the questions of a seat with the turns they can be asked in."""
    turns = range(1, cell.length + 1)
    probes = cell.probes
    found = {ACTS[seat]: turns}
    if seat == "encoder":
        found |= {name: turns for name in ENCODER_QUESTIONS if getattr(probes, name)}
    if seat == "interceptor":
        asked = [q for name, pair in BELIEFS.items() if getattr(probes, name) for q in pair]
        found |= dict.fromkeys(["keywords", *asked] if asked else [], turns[1:])
    return found


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
    found: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    # A summary is written for the first question of a turn, and each is to show it.
    apart = player.llm_options.strategy_of(seat).summarises
    for asked in [{form: wanted[form]} for form in wanted] if apart else [wanted]:
        found |= run_loop(_play(cell, player, seat, asked, note))
    return found


async def _play(
    cell: DecryptoCell,
    player: DecryptoPlayer,
    seat: str,
    wanted: Mapping[str, Collection[int]],
    note: str,
) -> dict[tuple[str, int], list[tuple[Doing, Prompt]]]:
    """Play one game, up to the last turn that is wanted."""
    options = player.llm_options
    strategy = options.strategy_of(seat)
    kind = strategy.answer.partition("_")[0]
    recorder = Recorder(kind, options.max_attempts, note, strategy.takes_notes)
    rng = np.random.default_rng(0)
    lists = cell.experiment.lists
    chair = Chair(seat, rng, recorder, "preview", cell.experiment.base)
    made_up = player.seat(chair, lists)
    deal, _, rules = cell.deal(0)
    game = Game(deal, rules)
    found: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    last = max(turn for turns in wanted.values() for turn in turns)
    for number in range(1, last + 1):
        recorder.hints = hints = random_hints(game.encoder_view(), lists.hints, rng)
        await _act(made_up, game, hints, game.code)
        acted, drawn, written = list(recorder.prompts), rng.bit_generator.state, recorder.notes
        for form in (form for form, turns in wanted.items() if number in turns):
            found[form, number] = acted
            if form != ACTS[seat]:
                recorder.prompts.clear()
                await _probe(made_up, game, hints, form)
                found[form, number] = list(recorder.prompts)
                # The play goes on as if nothing had been asked beside it.
                rng.bit_generator.state, recorder.notes = drawn, written
        if number == last:
            break
        recorder.prompts.clear()  # a reflection after this turn belongs to the next one
        wrong = CODES[(CODES.index(game.code) + 1) % len(CODES)]
        game = game.after(hints, game.code, wrong)
        await made_up.observe(game.turns[-1])
    return found


async def _act(seat: SeatPlayer, game: Game, hints: Hints, guess: Code) -> None:
    """Let a seat do its part of a turn."""
    if isinstance(seat, Encoder):

        async def listen(_: Hints) -> tuple[Said[Code], Said[Code]]:
            return Said(guess), Said(CODES[(CODES.index(guess) + 1) % len(CODES)])

        seat.chair.door.set(listen)
        await seat.encode(game.encoder_view())
    elif isinstance(seat, Decoder):
        await seat.decode(game.decoder_view(hints))
    elif isinstance(seat, Interceptor):
        await seat.intercept(game.interceptor_view(hints))


async def _probe(seat: SeatPlayer, game: Game, hints: Hints, form: str) -> None:
    """Ask a seat one of its probes."""
    if isinstance(seat, Encoder):
        await seat.predict(game.encoder_view(), hints, form)
    elif isinstance(seat, Interceptor):
        revealed = None if form == "keywords" else game.deal.keywords
        earlier = NAMED if form in BELIEFS["beliefs_in_view"] else None
        await seat.believe(game.interceptor_view(hints), form, revealed, earlier)


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
        probes={field.name: True for field in fields(Probes)},  # type: ignore[arg-type]
        **data,
    )
    experiment._where = "prompt"
    [cell] = experiment.cells
    assert isinstance(cell, DecryptoCell)
    return cell
