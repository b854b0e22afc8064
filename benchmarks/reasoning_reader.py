"""How well expectations are read from reasoning: a corpus with a careful reader's verdicts.

The verdicts were written before the reader (`tomeval.extensions.reasoning.expectations`) was
opened, by this rule: what does the text last name as what the writer expects the other player to
do in this round? Nothing, where it names only suppositions, the past, later rounds, the writer's
own move, wishes, "either could", mixed strategies, denials, or a pattern without its conclusion
("they always play J"). A verb counts as the action of its name ("they will defect"), what is told
of everybody counts ("both of us will play J"), and so does a probability above a half.

Half of the texts, told by their hash, served to mend the reader; the other half only measures it.
Prints the rates of docs/measures/reasoning.md.

    python benchmarks/reasoning_reader.py            # both halves and the voices
    python benchmarks/reasoning_reader.py --voices   # by voice
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from voice_styles import VOICES, Asked

from tomeval.extensions.reasoning.expectations import last_expectation
from tomeval.statistics.shares import wilson

_TESTS = Path(__file__).resolve().parent.parent / "tests"

RIGHT, WRONG, UNREAD = "read rightly", "read wrongly", "not read"
INVENTED, SILENT = "invented", "read as none"


class Text(NamedTuple):
    """Reasoning, the labels of the partner, and what it last expects of them ("": nothing)."""

    voice: str
    labels: tuple[str, ...]
    expects: str
    text: str

    @property
    def held_out(self) -> bool:
        """Whether the text belongs to the half that nothing was mended with."""
        return bool(hashlib.sha256(self.text.encode()).digest()[0] % 2)

    @property
    def verdict(self) -> str:
        """What the reader makes of it, beside what the careful reader does."""
        found = last_expectation(self.text, self.labels)
        said = "" if found is None else self.labels[found.label]
        if not self.expects:
            return INVENTED if said else SILENT
        if not said:
            return UNREAD
        return RIGHT if said == self.expects else WRONG


def corpus() -> list[Text]:
    """Return the texts of tests/extensions/reasoning/corpus, a file per voice."""
    return [
        Text(path.stem, tuple(group["labels"]), group["expects"], text)
        for path in sorted((_TESTS / "extensions" / "reasoning" / "corpus").glob("*.toml"))
        for group in tomllib.loads(path.read_text(encoding="utf-8"))["texts"]
        for text in group["texts"]
    ]


_EXPECTING = {
    "They have been alternating, which suggests @B next": "F",
    "I'm about 60% sure that the other player goes for @B next": "F",
    "I think they'd say @B again": "F",
    "If nothing changes they will repeat @B": "F",
    '{"answer": {"me": "@A", "them": "@B"}}': "F",
    "I predict the other player will play @A next": "J",
}
"""The only replies of the voices corpus that name an expectation before their answer."""

_PREDICTIONS = (
    "other player: @",
    "their move",
    "they would say",
    "the other player)",
    "opponent's",
)
"""In these the marked answer itself is the prediction: replies to another question."""


def voices() -> Iterator[Text]:
    """Yield the replies of the voices corpus, and what the voices of the simulated server say."""
    for path in sorted((_TESTS / "strategies" / "corpus").glob("*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        for name, lists in tables.items():
            if not name.startswith(("labels", "letters")):
                continue
            for wording in (wording for wordings in lists.values() for wording in wordings):
                if any(part in wording for part in _PREDICTIONS):
                    continue
                expects = next((said for part, said in _EXPECTING.items() if part in wording), "")
                text = wording.replace("@A", "J").replace("@B", "F")
                yield Text(path.stem, ("J", "F"), expects, text)
    asked = Asked(
        "Final answer:", "J", ("J", "F"), reasoned=True, question="J or F?\nFinal answer: ..."
    )
    for name, voice in VOICES.items():
        for seed in range(5):
            yield Text(name, ("J", "F"), "", "\n".join(voice.speak(asked, random.Random(seed))))


def count(texts: Iterable[Text]) -> Counter[str]:
    """Return how often the reader comes to which verdict."""
    return Counter(text.verdict for text in texts)


def share(found: int, of: int) -> str:
    """Return a share of texts with Wilson's interval, in percent."""
    if of == 0:
        return "-"
    low, high = wilson(found, of)
    return f"{100 * found / of:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def row(name: str, found: Counter[str]) -> str:
    """Return a line of the table."""
    named, unnamed = sum(found[k] for k in (RIGHT, WRONG, UNREAD)), found[INVENTED] + found[SILENT]
    cells = [share(found[kind], named) for kind in (RIGHT, WRONG, UNREAD)]
    read = found[RIGHT] + found[WRONG] + found[INVENTED]
    cells += [str(unnamed), share(found[INVENTED], unnamed), share(found[RIGHT], read)]
    return f"| {name} | {named} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voices", action="store_true", help="a line per voice")
    given = parser.parse_args()
    texts, heard = corpus(), list(voices())
    heads = ("texts", "with an expectation", RIGHT, WRONG, UNREAD, "without one", INVENTED)
    print(f"| {' | '.join(heads)} | of those read, right |")
    print("| --- | ---: | --- | --- | --- | ---: | --- | --- |")
    print(row("half to mend with", count(text for text in texts if not text.held_out)))
    print(row("half held out", count(text for text in texts if text.held_out)))
    print(row("replies of the voices", count(heard)))
    for voice in sorted({text.voice for text in texts}) if given.voices else ():
        print(row(voice, count(text for text in texts if text.voice == voice)))


if __name__ == "__main__":
    main()
