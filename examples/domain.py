"""A kind of game for tomeval: somebody hides numbers in order, and a player names the next one.

    tomeval --plugin example_name.py list domains
    tomeval --plugin example_name.py run EXPERIMENT       with domain = "example_name"

Every command works on its runs. In a package with an entry point, as `tomeval init strategy` makes
one, it needs no --plugin. The contract in full is the docstrings of `tomeval.runs.domain`.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass

import numpy as np
from pydantic import Field

import tomeval
from tomeval.core.streams import Stream
from tomeval.runs.capabilities import Line
from tomeval.runs.cell import RunCell
from tomeval.runs.domain import Block, Cell, Domain, Player, Schema
from tomeval.runs.experiment import Experiment
from tomeval.runs.measures import Measure, Totals, registry

PLAYERS = {"stubborn": lambda seen, size: 1, "counts": lambda seen, size: seen[-1] % size + 1}
"""What a player names, given the numbers so far (the first is shown) and how many there are."""


class Keys(Experiment):
    """The keys of its experiment files, beside those of every domain; lists are axes of a grid."""

    domain: str = "example_name"
    players: list[str] = Field(default=["stubborn", "counts"])
    size: list[int] = Field(default=[3])
    steps: int = Field(default=4, ge=1)

    def expand(self):
        """Return the cells of the grid."""
        for player in self.players:
            if player not in PLAYERS:
                raise tomeval.TomevalError(f"unknown player {player!r}; known: {list(PLAYERS)}")
        grid = itertools.product(self.players, self.size, self.seed, self.on_invalid)
        return [GuessCell(player, size, self.steps, *rest) for player, size, *rest in grid]


@dataclass(frozen=True)
class GuessCell(Cell):
    """One combination, complete enough to be played again."""

    player: str
    size: int
    steps: int
    seed: int
    on_invalid: str

    @property
    def seats(self):
        """Who sits where."""
        return {"player": Player(self.player, "rule", {})}

    @property
    def key(self):
        """What tells it from the other cells."""
        return tuple(map(str, asdict(self).values()))

    @property
    def length(self):
        """The most steps of an episode."""
        return self.steps

    @property
    def definition(self):
        """The cell as JSON-ready data."""
        return asdict(self)


class GuessRunCell(RunCell):
    """A cell of a run, read back."""

    @property
    def played(self):
        """Return what the measures read: numbers hidden and named, shape (2, E, steps)."""
        rows = self._store.query(
            "SELECT number, guess FROM steps JOIN episodes USING (cell, episode) "
            "WHERE cell = ? AND status = 'complete' ORDER BY episode, step",
            (self.number,),
        )
        return (
            np.array(rows, dtype=float).reshape(-1, self.definition["steps"], 2).transpose(2, 0, 1)
        )


def off_by(played, reference):
    """Return how far off the guesses of every episode are, in the mean."""
    return Totals(abs(played[1] - played[0]).mean(axis=1))


@tomeval.register_domain
class Guess(Domain):
    """The kind of game."""

    name = "example_name"
    title = "name the next number"
    experiment = Keys
    schema = Schema(  # its own columns of the store, and two views on them
        cells={"player": "TEXT NOT NULL", "size": "INTEGER NOT NULL"},
        episodes={"start": "INTEGER NOT NULL"},
        steps={"number": "INTEGER NOT NULL", "guess": "INTEGER NOT NULL"},
        views="""
CREATE VIEW step_records AS SELECT c.player, c.size, s.*, e.start, e.status
FROM steps s JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);
CREATE VIEW asked AS SELECT cell, episode, step, 'player' AS seat, 'guess' AS question,
'valid' AS outcome, 1 AS attempts FROM steps
""",
    )
    measures = registry(
        Measure("off_by", "off by", "How far off guesses are.", "numbers", -1, "your own", off_by)
    )
    headline = ("off_by",)
    by = ("player",)  # what `tomeval compare` compares, the default first
    task = ("size", "on_invalid")  # what compared cells must agree in

    async def play(self, cell, episode, models, on_step):
        """Play one episode; `models` has the language models by seat: here there are none."""
        rng = Stream.of(cell.seed, "example_name", str(cell.size)).episode(episode)
        start = int(rng.integers(cell.size))
        numbers = [(start + step) % cell.size + 1 for step in range(cell.length + 1)]
        steps = []
        for step in range(1, cell.length + 1):
            guess = PLAYERS[cell.player](numbers[:step], cell.size)
            steps.append((episode, step, numbers[step], guess))
            on_step()
        return Block([(episode, "complete", len(steps), start)], steps)

    def columns(self, definition):
        """Return the columns that tell a cell from others in tables."""
        return {name: definition[name] for name in ("player", "size")}

    def read(self, store, number, definition):
        """Return a cell of a run."""
        return GuessRunCell(store, number, definition)

    def lines(self, run, cell, episode):
        """Yield an episode for readers."""
        yield Line(0, f"{cell.name}; episode {episode}")
        rows = run.store.query(
            "SELECT step, number, guess FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
            (cell.number, episode),
        )
        for step, number, guess in rows:
            yield Line(step, f"hid {number}, named {guess}")

    def forms(self, cell, seat):
        """Return the questions to a language model in a seat: there is none."""
        return {}

    def preview(self, cell, seat, form, step, note=""):
        """Return the prompts of a question: there is none."""
        return []
