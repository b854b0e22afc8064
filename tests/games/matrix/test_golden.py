"""Prompts as models read them, one file per template and game, for people to review.

``python tests/games/matrix/test_golden.py --write`` (or ``make golden``) writes the files anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # as a test, pytest has put the folder on the path
    sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest
from known import Known, make_setup, play

from tomeval.games.matrix.games import GAMES, get_game
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.strategies import parse_strategy
from tomeval.strategies.templates import load_prompts, prompt_sets

FOLDER = Path(__file__).parents[2] / "golden" / "matrix"
HORIZON, ROUND = 10, 3
# For every template a strategy, further options, and the call of round 3 that shows it.
SHOWN: dict[str, tuple[str, dict[str, str], str]] = {
    "context/rules": ("QA -History", {}, "act"),
    "context/history": ("QA -Payoffs", {}, "act"),
    "context/s2a_act": ("S2A", {}, "summarise"),
    "context/s2a_predict": ("S2A", {}, "summarise for predict"),
    "context/summary": ("S2A", {}, "act"),
    "advice/oracle": ("Oracle", {}, "act"),
    "advice/oracle_max": ("Oracle + Max", {}, "act"),
    "advice/plans_insights": ("Plans + Insights", {}, "predict"),
    "advice/plans_insights_ask": ("Plans + Insights", {}, "act"),
    "advice/plans_insights_write": ("Plans + Insights + LM", {}, "plan"),
    "advice/reflexion": ("Reflexion 2", {}, "act"),
    "advice/reflexion_write": ("Reflexion 2", {}, "reflect"),
    "advice/social": ("Social QA", {}, "act"),
    "answer/lm_act": ("LM", {}, "act"),
    "answer/lm_predict_agent_first": ("LM", {}, "predict"),
    "answer/lm_predict_partner_first": ("Social LM", {}, "predict"),
    "answer/lm_react": ("LM", {}, "react"),
    "answer/qa_act": ("QA", {}, "act"),
    "answer/qa_predict": ("QA", {}, "predict"),
    "answer/qa_react": ("QA", {}, "react"),
    "answer/cot_act": ("CoT", {}, "act"),
    "answer/cot_predict": ("CoT", {}, "predict"),
    "answer/cot_react": ("CoT", {}, "react"),
    "answer/examples_act": ("CoT + 3-Shot", {}, "act"),
    "answer/examples_predict": ("CoT + 3-Shot", {}, "predict"),
}
PLACES = [("default", name, game) for name in SHOWN for game in GAMES]
PLACES += [("akata", name, game) for name in SHOWN for game in ("RPS", "IPD")]


def path_of(wording: str, name: str, game: str) -> Path:
    folder = FOLDER if wording == "default" else FOLDER / wording
    return folder / f"{name.replace('/', '-')}.{game}.txt"


def rendered(wording: str, name: str, game_name: str) -> str:
    """Return the prompt that shows a template in round 3 of a made-up play."""
    strategy, options, purpose = SHOWN[name]
    if wording != "default":
        options = {**options, "prompts": wording}
    game = get_game(game_name)
    partners = get_partner("tit_for_tat", game) if game.n == game.m else get_partner("grim", game)
    script = Known(game, game.label_set("neutral"))
    setup = make_setup(
        game, partners, parse_strategy(strategy), HORIZON, "neutral", conditional=True, **options
    )
    play(setup, script)
    step = ROUND - (purpose == "reflect")
    text = next(text for p, s, text in script.log if (p, s) == (purpose, step))
    return f"{name}: {strategy}, {purpose}, {game_name}, round {step} of {HORIZON}\n\n{text}\n"


def test_every_template_and_game_is_shown():
    for wording in prompt_sets("matrix"):
        assert sorted(SHOWN) == load_prompts("matrix", wording).names()
        sources = {load_prompts("matrix", wording).get(name).source for name in SHOWN}
        # A set is whole: no template is that of another one.
        assert all(("Akata" in source) == (wording == "akata") for source in sources) or (
            wording == "default"
        )
    assert set(FOLDER.rglob("*.txt")) == {path_of(*place) for place in PLACES}


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name):
    for place in PLACES:
        if place[1] != name:
            continue
        path = path_of(*place)
        assert rendered(*place) == path.read_text(encoding="utf-8"), (
            f"{path.name} differs: review the change, then run make golden"
        )


def write() -> None:
    """Write all files anew."""
    for path in FOLDER.rglob("*.txt"):
        path.unlink()
    for place in PLACES:
        path_of(*place).parent.mkdir(parents=True, exist_ok=True)
        path_of(*place).write_text(rendered(*place), encoding="utf-8")
    print(f"{len(PLACES)} files in {FOLDER}")


if __name__ == "__main__":
    if "--write" not in sys.argv[1:]:
        sys.exit("run with --write to write the golden files anew")
    write()
