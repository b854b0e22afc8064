"""Prompts of Decrypto as models read them, one file per template, for people to review.

``python tests/games/decrypto/test_golden.py --write`` writes the files anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # as a test, pytest has put the folder on the path
    sys.path.insert(0, str(Path(__file__).parents[2]))

import golden_files
import pytest
from decrypto_support import ALL_PROBES, Logged, everything, play, table

from tomeval.games.decrypto.game import Rules
from tomeval.games.decrypto.seats import ROLES
from tomeval.strategies.templates import Prompts

# For every template a role, options, and texts that the first question with them holds.
SHOWN: dict[str, tuple] = {
    "context/rules": ("interceptor", {}, "turn 1 of"),
    "context/history": ("decoder", {}, "turn 3 of"),
    "context/revealed": ("decoder", {"memory": "conversation"}, "turn 2 of"),
    "context/s2a_act": ("interceptor", {"strategy": "S2A"}, "who has to play turn"),
    "context/s2a_predict": ("interceptor", {"strategy": "S2A"}, "who has to say in turn"),
    "context/summary": ("interceptor", {"strategy": "S2A"}, "turn 3 of"),
    "ask/encoder": ("encoder", {}, "turn 2 of"),
    "ask/decoder": ("decoder", {}, "turn 2 of"),
    "ask/interceptor": ("interceptor", {}, "turn 2 of"),
    "probe/eve": ("encoder", {}, "not guessed yet.\nWhich code will Eve"),
    "probe/eve_reminded": ("encoder", {}, "Remember that Eve"),
    "probe/bob": ("encoder", {}, "Which code will Bob"),
    "probe/keywords": ("interceptor", {}, "Going by the hints so far"),
    "probe/own_belief": ("interceptor", {}, "Before you were shown them"),
    "probe/other_belief": ("interceptor", {}, "A second interceptor"),
    "probe/own_belief_in_view": ("interceptor", {}, "you answered: ", "Before you were shown"),
    "probe/other_belief_in_view": ("interceptor", {}, "you answered: ", "A second interceptor"),
    "answer/qa": ("decoder", {}, "turn 1 of"),
    "answer/cot": ("decoder", {"strategy": "CoT"}, "turn 1 of"),
    "answer/examples_encoder": ("encoder", {"strategy": "CoT + 3-Shot"}, "turn 1 of"),
    "answer/examples_decoder": ("decoder", {"strategy": "CoT + 3-Shot"}, "turn 1 of"),
    "answer/examples_interceptor": ("interceptor", {"strategy": "CoT + 3-Shot"}, "turn 1 of"),
    "advice/plans_insights": ("interceptor", {"strategy": "Plans + Insights"}, "turn 3 of"),
    "advice/plans_insights_ask": ("decoder", {"strategy": "Plans + Insights"}, "turn 1 of"),
    "advice/social": (
        "encoder",
        {"strategy": {"encoder": "Social QA"}},
        "Given that you have thought",
    ),
    "advice/oracle": ("encoder", {"strategy": {"encoder": "Oracle"}}, "You know for certain"),
    "advice/oracle_max": (
        "encoder",
        {"strategy": {"encoder": "Oracle + Max"}},
        "You know for certain",
    ),
    "advice/reflexion": ("decoder", {"strategy": "Reflexion 2"}, "turn 3 of"),
    "advice/reflexion_write": ("decoder", {"strategy": "Reflexion 2"}, "Write one lesson"),
}


def rendered(name: str) -> str:
    """Return the first question of a made-up game that shows a template."""
    role, options, *parts = SHOWN[name]
    logs = {seat: Logged(everything) for seat in ROLES}
    rules = Rules(turns=3, miscommunications=9, interceptions=9)
    probes = ALL_PROBES.model_copy(update={"beliefs_in_view": True})
    play(table(logs, rules=rules, probes=probes, every=options))
    return f"{name}: {role}, {options or 'QA'}\n\n{logs[role].asked(*parts)[0]}\n"


def test_every_template_is_shown() -> None:
    assert sorted(SHOWN) == Prompts("decrypto").names()
    golden_files.check_names("decrypto", SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name) -> None:
    golden_files.check("decrypto", name, rendered(name))


if __name__ == "__main__":
    golden_files.write("decrypto", SHOWN, rendered)
