"""A kind of game from outside the package: a guesser against a hider, both with small numbers.

The hider goes through 1..size in order from a drawn start; the guesser wants to name its number.
`TOY` says what the contract demands, and how a language model is asked: every verb works on it.
"""

import itertools
import re
from dataclasses import dataclass

from pydantic import Field

from tomeval.core.outcomes import COMPLETE, FAILED, VALID, VOID, Invalid
from tomeval.core.streams import Stream
from tomeval.models.base import Message, Prompt, Sampling
from tomeval.runs.capabilities import Line
from tomeval.runs.domain import Cell, Domain, Player, register_domain
from tomeval.runs.experiment import Experiment
from tomeval.runs.measures import Measure, Totals, registry
from tomeval.runs.record import Record, Schema
from tomeval.strategies.asking import Asker, Asking
from tomeval.strategies.labels import Labels
from tomeval.strategies.recording import Overheard

RULES = {"one": lambda seen, size: 1, "next": lambda seen, size: (seen or [0])[-1] % size + 1}
"""Guessers without a model: the number they name, given those so far and how many there are."""


class ToyExperiment(Experiment):
    domain: str = "toy"
    guessers: list[str] = Field(default=["one", "next"])
    size: list[int] = Field(default=[3])
    steps: int = 4
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


async def play(cell, episode, models, on_step):
    rng = Stream.of(cell.seed, "toy", str(cell.size)).episode(episode)
    start = int(rng.integers(cell.size))
    numbers = [(start + step) % cell.size + 1 for step in range(cell.length)]
    line = Asker(models.get("guesser"), Asking(Sampling()), f"toy-{cell.key}-{episode}")
    status, steps, answers, calls = COMPLETE, [], [], []
    for step, number in enumerate(numbers, 1):
        seen = numbers[: step - 1]
        if cell.guesser in RULES:
            said = RULES[cell.guesser](seen, cell.size)
        else:
            said = read(await line.write("guess", "qa", ask(seen, cell), step), cell.size)
            calls += [(step, "guesser", "guess", call) for call in line.drain()]
        outcome = said.reason if isinstance(said, Invalid) else VALID
        if outcome == "backend_error":
            status, said = FAILED, None
        elif outcome != VALID and cell.on_invalid == "random":
            said = int(rng.integers(cell.size)) + 1
        elif outcome != VALID:
            status, said = VOID, None
        steps.append((number, said))
        answers.append((step, "guesser", "guess", outcome, 1, None, ""))
        on_step()
        if status != COMPLETE:
            break
    columns = dict(zip(("number", "guess"), map(list, zip(*steps, strict=True)), strict=True))
    return Record(episode, status, len(steps), {"start": start}, columns, answers, calls)


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


def episodes(cell, seat, note):
    """Return what is asked in a made-up episode."""
    past = [i % cell.size + 1 for i in range(cell.length)]
    how = Asking(Sampling(max_tokens=64))
    prompts = [ask(past[:n], cell) for n in range(cell.length)]
    reader = Labels(("1", "2"))
    return [[Overheard(how, "guess", "qa", p, n, reader, 64) for n, p in enumerate(prompts, 1)]]


def lines(run, cell, episode):
    """Yield what was hidden and guessed: several lines per step, and some after the last."""
    record = run.store.record(cell.number, episode)
    told = {name: record.column(name) for name in ("number", "guess")}
    yield Line(0, f"{cell.name}; episode {episode}")
    for step, (number, guess) in enumerate(zip(*told.values(), strict=True), 1):
        yield Line(step, f"hid {number}, guessed {guess}")
        if guess is not None:
            yield Line(step, "a hit" if guess == number else f"off by {abs(guess - number)}")
    for name, said in zip(("hidden ", "guessed"), told.values(), strict=True):
        yield Line(-1, f"{name}   " + " ".join(str(value or "-") for value in said))


def loss(played, reference):
    return Totals(abs(played["guess"] - played["number"]).mean(axis=1))


def hits(played, reference):
    found = played["guess"] == played["number"]
    return Totals(found.sum(axis=1, dtype=float), found.shape[1] + 0.0 * found[:, 0], share=True)


TOY = Domain(
    name="toy",
    title="guess a hidden number",
    experiment=ToyExperiment,
    measures=registry(
        Measure(
            "loss_per_step", "loss/step", "How far off guesses are.", "numbers", -1, "toy", loss
        ),
        Measure("hit_percent", "hit %", "Share of guesses that are right.", "%", 1, "toy", hits),
    ),
    play=play,
    schema=Schema(episodes={"start": "INTEGER"}, steps={"number": "INTEGER", "guess": "INTEGER"}),
    headline=("loss_per_step", "hit_percent"),
    lines=lines,
    by=("guesser", "size"),
    task=("size", "on_invalid"),
    questions=episodes,
)
register_domain(TOY)
