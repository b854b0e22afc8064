"""Make the vocabulary that packed texts of the store refer to, see `tomeval.runs.schema`.

It holds the lines of the prompts in ``tests/golden``, each once whatever its numbers and labels,
the commonest last, and then what every record of a model call is made of. Text is written as it
stands in JSON. A vocabulary in use must not change, so an existing file is never written over.

    python benchmarks/vocabulary.py vocabulary_2.txt
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
MOST = 11_000
"""Characters: with a record they fit into the window of `zlib`."""

SAMPLING = '"sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "max_tokens": '
USAGE = '"usage": {"prompt": 1024, "completion": 256, "cached": 0}, "latency": 0.0, "details": {}}'
FRAME = [
    '{"purpose": "observe", "kind": "notes", "error": "',
    '{"purpose": "predict", "kind": "lm", "step": 10, "prompt_same": 2048, "prompt_rest": "Round ',
    '\\n\\n[assistant begins]\\nI choose", "labels": ["J", "F", "B"], "scores": {"logprobs": '
    '[-Infinity, -0.6931471805599453, -1.0986122886681098], "mass": 0.9999, "method": "forward", ',
    '"usage": {"prompt": 0, "completion": 0, "cached": 0}, "latency": 0.0, "details": '
    '{"argmax_is_label": true}}}',
    '{"purpose": "act", "kind": "qa", "step": 1, "prompt_same": 0, "prompt_rest": "[user]\\nYou ',
    '\\nFinal answer: ...", "attempt": 1, "seed": 7530184629',
    f'{SAMPLING}2048, "stop": []}}, "reply": {{"text": "\\nFinal answer: J", "reasoning": null, ',
    '"outcome": "illegal", "unparsable", "truncated", "refusal"',
    f'"finish": "stop", {USAGE}, "outcome": "valid"}}',
]


def vocabulary() -> str:
    """Return the text."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for path in sorted(GOLDEN.rglob("*.txt")):
        for line in dict.fromkeys(path.read_text(encoding="utf-8").splitlines()):
            kind = re.sub(r"[-+]?\d+|\b[A-Z]\b|points?|rounds?", "#", line)
            counts[kind] += 1
            first.setdefault(kind, line)
    chosen, room = [], MOST - sum(map(len, FRAME))
    for kind, count in sorted(counts.items(), key=lambda item: -item[1] * len(item[0])):
        text = json.dumps(first[kind])[1:-1] + "\\n"
        if 20 < len(text) <= room:
            chosen.append((count, text))
            room -= len(text)
    return "".join([text for _, text in sorted(chosen)] + FRAME)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    with parser.parse_args().out.open("x", encoding="utf-8") as file:
        file.write(vocabulary() + "\n")


if __name__ == "__main__":
    main()
