"""A kind of game from outside the package: a guesser against a hider, both with small numbers.

The hider goes through 1..size in order from a drawn start; the guesser wants to name its number.
`TOY` implements what the contract demands and nothing else: every verb must work on it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import asdict, dataclass

import numpy as np
from pydantic import Field

from tomeval.core.outcomes import COMPLETE, FAILED, VALID, VOID, Invalid
from tomeval.core.streams import Stream
from tomeval.models.base import Message, Prompt, Sampling
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import Block, Cell, Doing, Domain, Line, Player, Schema, register_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.strategies.asking import Asker, Asking

RULES = {"one": lambda seen, size: 1, "next": lambda seen, size: (seen or [0])[-1] % size + 1}
"""Guessers without a model: the number they name, given those so far and how many there are."""


class ToyExperiment(Experiment):
    domain: str = "toy"
    guessers: list[str] = Field(default=["one", "next"])
    size: list[int] = Field(default=[3])
    steps: int = Field(default=4, ge=1)
    model: str = ""

    def expand(self):
        grid = itertools.product(self.size, self.guessers, self.seed, self.on_invalid)
        return [
            ToyCell(guesser, "" if guesser in RULES else self.model, size, self.steps, seed, policy)
            for size, guesser, seed, policy in grid
        ]


@dataclass(frozen=True)
class ToyCell(Cell):
    guesser: str
    model: str
    size: int
    steps: int
    seed: int
    on_invalid: str

    @property
    def seats(self):
        guesser = Player(self.guesser, self.guesser, {}, self.model)
        return {"hider": Player("in order", "rule", {}), "guesser": guesser}

    @property
    def key(self):
        return tuple(map(str, self.definition.values()))

    @property
    def length(self):
        return self.steps

    @property
    def definition(self):
        return asdict(self)


class ToyRunCell(RunCell):
    @property
    def played(self):
        """Return numbers hidden and guessed, shape (2, E, steps)."""
        rows = self._store.query(
            "SELECT number, guess FROM steps JOIN episodes USING (cell, episode) "
            "WHERE cell = ? AND status = ? ORDER BY episode, step",
            (self.number, COMPLETE),
        )
        table = np.array(rows, dtype=float).reshape(-1, self.definition["steps"], 2)
        return table.transpose(2, 0, 1)


def loss(played, reference):
    return Totals(abs(played[1] - played[0]).mean(axis=1))


def hits(played, reference):
    found = (played[1] == played[0]).sum(axis=1)
    return Totals(found.astype(float), np.full(len(found), float(played.shape[2])), share=True)


class Toy(Domain):
    name = "toy"
    title = "guess a hidden number"
    experiment = ToyExperiment
    schema = Schema(
        cells={"guesser": "TEXT NOT NULL", "size": "INTEGER NOT NULL"},
        episodes={"start": "INTEGER NOT NULL"},
        steps={"number": "INTEGER NOT NULL", "guess": "INTEGER", "outcome": "TEXT NOT NULL"},
        views="""
CREATE VIEW step_records AS SELECT c.guesser, c.size, s.*, e.start, e.status
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);
CREATE VIEW asked AS SELECT cell, episode, step, 'guesser' AS seat, 'guess' AS question, outcome,
1 AS attempts FROM steps
""",
    )
    measures = registry(
        Measure(
            "loss_per_step", "loss/step", "How far off guesses are.", "numbers", -1, "toy", loss
        ),
        Measure("hit_percent", "hit %", "Share of guesses that are right.", "%", 1, "toy", hits),
    )
    headline = ("loss_per_step", "hit_percent")
    by = ("guesser", "size")
    task = ("size", "on_invalid")

    async def play(self, cell, episode, models, on_step):
        rng = Stream.of(cell.seed, "toy", str(cell.size)).episode(episode)
        start = int(rng.integers(cell.size))
        numbers = [(start + step) % cell.size + 1 for step in range(cell.length)]
        line = Asker(models.get("guesser"), Asking(Sampling()), f"toy-{cell.key}-{episode}")
        status, steps, calls = COMPLETE, [], []
        for step, number in enumerate(numbers, 1):
            seen = numbers[: step - 1]
            if cell.guesser in RULES:
                said = RULES[cell.guesser](seen, cell.size)
            else:
                said = read(await line.write("guess", "qa", ask(seen, cell), step), cell.size)
                calls += [(episode, step, "guesser", "guess", call) for call in line.drain()]
            outcome = said.reason if isinstance(said, Invalid) else VALID
            if outcome == "backend_error":
                status, said = FAILED, None
            elif outcome != VALID and cell.on_invalid == "random":
                said = int(rng.integers(cell.size)) + 1
            elif outcome != VALID:
                status, said = VOID, None
            steps.append((episode, step, number, said, outcome))
            on_step()
            if status != COMPLETE:
                break
        return Block([(episode, status, len(steps), start)], steps, calls=calls)

    def columns(self, definition):
        return {name: definition[name] for name in ("guesser", "model", "size")}

    def read(self, store, number, definition):
        return ToyRunCell(store, number, definition)

    def lines(self, run, cell, episode):
        rows = run.store.query(
            "SELECT step, number, guess, outcome FROM steps WHERE cell = ? AND episode = ? "
            "ORDER BY step",
            (cell.number, episode),
        )
        yield Line(0, f"{cell.name}; episode {episode}")
        for step, number, guess, outcome in rows:
            yield Line(step, f"hid {number}, guessed {guess} ({outcome})")
            if guess is not None:
                yield Line(step, "a hit" if guess == number else f"off by {abs(guess - number)}")
        yield Line(-1, "hidden    " + " ".join(str(row[1]) for row in rows))
        yield Line(-1, "guessed   " + " ".join(str(row[2] or "-") for row in rows))

    def preview(self, cell, seat, form, step, note=""):
        doing = Doing(kind="qa", most=64)
        return [(doing, ask([i % cell.size + 1 for i in range(step - 1)], cell))]

    def forms(self, cell, seat):
        return {"guess": range(1, cell.length + 1)}


def ask(seen, cell):
    """Return the question."""
    text = f"Numbers from 1 to {cell.size}. So far: {seen or 'none'}. Which comes next?"
    return Prompt((Message("user", text),))


def read(text, size):
    """Return the number that a reply is, or why it is none."""
    if isinstance(text, Invalid):
        return text
    if not re.fullmatch(r"\d+", text):
        return Invalid("unparsable", text)
    return int(text) if 1 <= int(text) <= size else Invalid("illegal", text)


TOY = Toy()
register_domain(TOY)
