"""A kind of language model for tomeval: it always gives the same answer.

    tomeval --plugin example_name.py list models example_name
    tomeval --plugin example_name.py run EXPERIMENT --model example_name:J

In a package with an entry point, as `tomeval init strategy` makes one, it needs no --plugin.
"""

from __future__ import annotations

import tomeval
from tomeval.models.base import (
    GenerateRequest,
    Model,
    Opening,
    Reply,
    ScoreRequest,
    Scores,
)


class ExampleName(Model):
    """Says one word, whatever it is asked.

    A `Model` answers one request at a time and may wait; a `tomeval.models.base.LocalModel` answers
    many in a batch.
    """

    def __init__(self, name: str, word: str) -> None:
        self.name, self.word = name, word

    async def generate(self, request: GenerateRequest) -> Reply:
        """Answer a prompt: `request` has its messages, how to sample, and a seed."""
        return Reply(f"Final answer: {self.word}")

    async def score(self, request: ScoreRequest) -> Scores:
        """Return log-probabilities of labels, for strategies with LM answers."""
        raise tomeval.TomevalError(f"{self.name}: scores no labels; use a strategy that writes")


@tomeval.register_model("example_name", "example_name:WORD", about="says one word, always")
def open_example_name(name: str, options: dict, opening: Opening) -> Model:
    """Open a model: its whole name, the options of its table in the experiment, and the rest."""
    if options:
        raise tomeval.TomevalError(f"model {name!r} takes no options, got {', '.join(options)}")
    return ExampleName(name, name.partition(":")[2])
