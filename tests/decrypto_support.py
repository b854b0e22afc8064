"""Tables, seats and scripted models that the Decrypto tests share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tomeval.games.decrypto.game import Deal, Game, Rules
from tomeval.games.decrypto.llm import DecryptoOptions
from tomeval.games.decrypto.seats import ALICE, EVE, ROLES, Probes
from tomeval.games.decrypto.stages import Decrypto
from tomeval.games.decrypto.turns import as_record, turns_of
from tomeval.games.play import Table, play_game
from tomeval.games.seats import Chair
from tomeval.lexicon.words import WordLists
from tomeval.models.base import ScoreRequest
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import flatten

KEYS = ("river", "violin", "bread", "winter")
CODES_DRAWN = (
    (2, 4, 1),
    (1, 3, 2),
    (4, 3, 1),
    (3, 2, 4),
    (1, 2, 3),
    (2, 1, 4),
    (3, 1, 2),
    (4, 1, 3),
)
DEAL = Deal(KEYS, CODES_DRAWN)
ALL_PROBES = Probes(eve=True, eve_reminded=True, bob=True, beliefs=True)


def said(key: str, value: Any) -> str:
    return f"Hm.\nFinal answer: {json.dumps({key: value})}"


class Logged:
    """A script that keeps every request, and answers by purpose of the question."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.answer = answer
        self.requests: list[Any] = []

    def __call__(self, request):
        self.requests.append(request)
        if isinstance(request, ScoreRequest):
            return [0.0, *[-5.0] * (len(request.labels) - 1)]
        return self.answer(request.prompt.messages[-1].content)

    def texts(self) -> list[str]:
        return [flatten(request.prompt) for request in self.requests]

    def asked(self, *parts: str) -> list[str]:
        return [text for text in self.texts() if all(part in text for part in parts)]


def everything(question: str) -> str:
    """Answer every question legally, the same each time."""
    notes = "Plans: a plan\nInsights: none\n" if 'begins with "Plans:"' in question else ""
    if '{"hints"' in question:
        return notes + said("hints", ["cat", "dog", "owl"])
    if '{"code"' in question:
        return notes + said("code", [1, 2, 3])
    if '{"keywords"' in question:
        return said("keywords", ["one", "two", "three", "four"])
    return "A text."


def seat(role: str, script, **options):
    rng, model = np.random.default_rng(0), ScriptedModel(script)
    chair = Chair(ROLES.index(role), rng, model, f"test/{role}")
    return DecryptoOptions(**options).seat(chair, role)


def table(scripts: dict[str, Any], rules: Rules | None = None, probes=None, **options) -> Table:
    """Seat language models; `options` by role, or for all."""
    seats = [
        seat(role, scripts[role], **(options.get(role) or options.get("every") or {}))
        for role in ROLES
    ]
    rules = rules or Rules(turns=3, miscommunications=9, interceptions=9)
    lists = WordLists(KEYS, ("cat", "dog", "owl", "fox", "hen", "cow"))
    rng = np.random.default_rng(0)
    return Table(
        Decrypto(lists, rules, probes or Probes()),
        seats,
        (0, 1, 2),
        *(rng, rng, rng),
        door=seats[0].chair.door,
        measured=(ALICE, EVE),
        side_by_side=True,
    )


def play(where: Table, deal: Deal = DEAL) -> SimpleNamespace:
    """Play a game; return its status, outcome, turns and calls."""
    first = Game(deal, where.game.rules)
    where.game.deal = lambda rng: first
    cell = SimpleNamespace(first=lambda _: first, game_of=lambda _: where.game)
    record = as_record(cell, asyncio.run(play_game(where, 0, 0)))
    calls = [(turn, role, call) for turn, role, _, call in record.calls]
    probes: dict[int, list[SimpleNamespace]] = {}
    for step, _, question, outcome, attempts, value, _ in record.answers:
        probe = {"question": question, "outcome": outcome, "attempts": attempts}
        probe |= {"value": value["said"], "brier": value.get("brier")}
        probes.setdefault(record.column("round")[step - 1], []).append(SimpleNamespace(**probe))
    return SimpleNamespace(
        status=record.status,
        outcome=record.own["outcome"],
        turns=[turn_of(row, probes.get(row["step"], [])) for row in turns_of(record)],
        calls=calls,
    )


def turn_of(row: dict[str, Any], probes: list[SimpleNamespace]) -> SimpleNamespace:
    """Return a turn with codes and hints as they were said."""
    said = {name: row[name] and tuple(map(int, str(row[name]))) for name in ("code", "bob", "eve")}
    said["hints"] = row["hints"] and tuple(row["hints"])
    outcomes, attempts = (
        {role: row[f"{role}_{what}"] for role in ROLES} for what in ("outcome", "attempts")
    )
    asked = {"outcomes": outcomes, "attempts": attempts, "probes": probes}
    facts = {"number": row["step"], "told": row["told"], "details": row["details"]}
    return SimpleNamespace(**said, **asked, **facts)


def experiment(**more: Any):
    data = {
        "players": {"s": {"model": "scripted:decrypto"}, "minilm": {"embedding": "minilm"}},
        "domain": "decrypto",
        "episodes": 2,
        "seed": 5,
        **more,
    }
    return make_experiment(data)
