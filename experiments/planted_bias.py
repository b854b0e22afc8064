"""Three scripted models with known biases, which the label-bias figure has to find.

No model is needed. In 60 % of its answers `first_option` takes the option that is shown first, and
`one_label` the label that comes first in the alphabet; else, and in `fair`, every option is equally
likely. The order of options is drawn anew for every episode, so the two biases can be told apart.

    python experiments/planted_bias.py --out runs/planted_bias
    tomeval plot runs/planted_bias --out plots --only label_bias
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tomeval
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Script
from tomeval.strategies.readers import MARKER

BIAS = 0.6


def options_of(request: GenerateRequest | ScoreRequest) -> list[str]:
    """Return the options of a question in the order in which they are shown."""
    found = re.findall(r"Which action .*?, (.+)\?", request.prompt.messages[-1].content)
    return re.split(r", | or ", found[-1])


def biased(favourite: str) -> Script:
    """Return a script that favours the first option shown, the first label, or nothing."""

    def script(request: GenerateRequest | ScoreRequest) -> str:
        options = options_of(request)
        if favourite == "label":
            options = sorted(options)
        assert isinstance(request, GenerateRequest)
        rng = np.random.default_rng(request.seed)
        first = favourite != "nothing" and rng.random() < BIAS
        return f"{MARKER} {options[0] if first else options[rng.integers(len(options))]}"

    return script


def main(arguments: Sequence[str] | None = None) -> None:
    """Play RPS with each of the three."""
    parser = argparse.ArgumentParser(description="Play with planted label and position biases.")
    parser.add_argument("--out", type=Path, required=True, help="the run folder")
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--horizon", type=int, default=20)
    chosen = parser.parse_args(arguments)
    SCRIPTS["first_option"] = biased("position")
    SCRIPTS["one_label"] = biased("label")
    SCRIPTS["fair"] = biased("nothing")
    experiment: dict[str, Any] = {
        "name": "planted_bias",
        "games": "RPS",
        "labels": "neutral",
        "model": ["scripted:first_option", "scripted:one_label", "scripted:fair"],
        "subjects": {"strategy": "QA", "option_order": "shuffled"},
        "episodes": chosen.episodes,
        "horizon": chosen.horizon,
        "seed": 1,
    }
    tomeval.run(experiment, chosen.out).close()


if __name__ == "__main__":
    main()
