"""A kind of game for tomeval: a player sees numbers that go round in a circle, and names the next.

Experiments say domain = "example_name": tomeval --plugin example_name.py run EXPERIMENT
"""

from dataclasses import dataclass
from typing import Literal

import tomeval
from tomeval.core.streams import Stream
from tomeval.runs import Cell, Domain, Measure, Player, Record, Schema


@dataclass(frozen=True)
class Guess(Cell):
    """One combination of players and task, complete enough to be played again."""

    player: str
    size: int
    steps: int
    seed: int
    on_invalid: str
    seats = property(lambda self: {"player": Player(self.player, "rule", {})})


class Keys(tomeval.Experiment):
    """What experiment files say, besides what all do; every combination of lists is a cell."""

    domain: str = "example_name"
    player: list[Literal["stubborn", "counts"]] = ["stubborn", "counts"]
    size: list[int] = [3]
    steps: int = 4
    CELL = Guess


async def play(cell, episode, models, on_step):
    """Play one episode; `models` has the language models by seat: here there are none."""
    start = int(Stream.of(cell.seed, "start").episode(episode).integers(cell.size))
    shown = [(start + step) % cell.size + 1 for step in range(cell.steps + 1)]
    guesses = [1 if cell.player == "stubborn" else last % cell.size + 1 for last in shown]
    steps = {"number": shown[1:], "guess": guesses[:-1]}
    return Record(episode, "complete", cell.steps, {}, steps)


def off_by(played, reference):
    """Return how far off every episode's guesses are; columns have the shape (episodes, steps)."""
    return abs(played["guess"] - played["number"]).mean(axis=1)


OFF_BY = Measure("off_by", "off by", "How far off guesses are.", "numbers", -1, "yours", off_by)
GUESS = Domain(
    name="example_name",
    title="name the next number",
    experiment=Keys,
    measures={"off_by": OFF_BY},
    play=play,
    schema=Schema(steps={"number": "INTEGER", "guess": "INTEGER"}),
    by=("player",),
    task=("size", "on_invalid"),
)  # what else a domain can say: `tomeval.runs.Domain`
tomeval.register_domain(GUESS)
