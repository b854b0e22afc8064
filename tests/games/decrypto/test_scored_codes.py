"""LM in Decrypto: codes are scored, hints are written; and what -History takes away."""

from __future__ import annotations

import re

import numpy as np
import pytest
from decrypto_support import ALL_PROBES, DEAL, Logged, everything, experiment, play, said, table

import tomeval
from tomeval.core.streams import Stream
from tomeval.games.decrypto.game import CODES
from tomeval.games.decrypto.seats import ROLES
from tomeval.games.decrypto.stages import shown
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS

SHARE = 1 / 1.23  # of the code that the script means; each of the 23 others has a hundredth of it


def run(tmp_path, **more):
    return tomeval.run(experiment(episodes=3, **more), tmp_path / "run")


def test_brier_scores_of_predictions_by_hand(tmp_path) -> None:
    """Alice says Bob and Eve guess the code; Bob does, and Eve guesses 1-2-3 whatever it is."""
    players = {"s": {"model": "scripted:decrypto", "strategy": "LM", "decide": "argmax"}}
    with run(tmp_path, players=players, probes={"eve": True, "bob": True}) as found:
        [row] = found.rows()
        [cell] = found.cells
        played = cell.played
    squares = (1 + 23 * 0.01**2) * SHARE**2
    assert row["brier_bob"] == pytest.approx(1 - 2 * SHARE + squares)
    right = played["code"] == 123
    expected = np.where(right, 1 - 2 * SHARE + squares, 1 - 2 * 0.01 * SHARE + squares)
    assert played["brier_eve"] == pytest.approx(expected)
    assert row["tom_bob_percent"] == 100
    assert row["miscommunication_per_turn_percent"] == 0
    assert row["tom_eve_percent"] == pytest.approx(100 * right.mean())
    chance = (1 - 1 / 24) ** 2 + 23 / 24**2  # of equal probabilities: what the measure's text says
    assert chance == pytest.approx(1 - 1 / 24)


def test_written_predictions_have_no_brier_score(tmp_path) -> None:
    players = {"s": {"model": "scripted:decrypto", "strategy": "QA"}}
    with run(tmp_path, players=players, probes={"eve": True}) as found:
        assert not [name for name in found.measures if name.startswith("brier")]


def test_guesses_are_drawn_from_the_scores_by_the_seat_s_own_chance(tmp_path, monkeypatch) -> None:
    weights = np.arange(1, 25) / np.arange(1, 25).sum()
    monkeypatch.setitem(SCRIPTS, "weighted", lambda request: np.log(weights).tolist())
    players = {
        "minilm": {"embedding": "minilm"},
        "s": {"model": "scripted:weighted", "strategy": "LM"},
    }
    pairings = [{"encoder": "minilm", "decoder": "s", "interceptor": "s"}]
    with run(tmp_path, players=players, pairings=pairings) as found:
        played = found.cells[0].played
    for role, guesses in (("decoder", played["bob"]), ("interceptor", played["eve"])):
        for game in range(3):
            mine = guesses[played["game"] == game]
            u = Stream.of(5, "decrypto", role, "s").episode(game).random(len(mine))
            drawn = [CODES[int((x >= weights.cumsum()[:-1]).sum())] for x in u]
            assert mine.tolist() == [int("".join(map(str, code))) for code in drawn]


def test_alice_writes_her_hints_and_codes_are_listed() -> None:
    found = {role: Logged(everything) for role in ROLES}
    every = {"strategy": "Social LM + LM", "decide": "argmax"}
    game = play(table(found, probes=ALL_PROBES, every=every))
    assert game.status == "complete"
    for role, log in found.items():
        scored = [one for one in log.requests if isinstance(one, ScoreRequest)]
        written = [one for one in log.requests if isinstance(one, GenerateRequest)]
        assert {one.labels for one in scored} == {tuple(map(shown, CODES))}
        asked = {re.findall(r'{"(\w+)"', one.prompt.messages[-1].content)[-1] for one in written}
        assert asked == {"encoder": {"hints"}, "decoder": set(), "interceptor": {"keywords"}}[role]
    assert {turn.bob for turn in game.turns} == {turn.eve for turn in game.turns} == {(1, 2, 3)}


WORDS = [[f"{name}{turn}" for name in ("ash", "elm", "oak")] for turn in ("one", "two", "three")]


def by_turn(question: str) -> str:
    """Give hints that no other turn has, and guess 1-2-3."""
    notes = "Plans: a plan\nInsights: none\n" if 'begins with "Plans:"' in question else ""
    if '{"hints"' in question:
        return notes + said(
            "hints", WORDS[int(re.findall(r"turn (\d) of at most", question)[-1]) - 1]
        )
    if '{"keywords"' in question:
        return said("keywords", ["a", "b", "c", "d"])
    return notes + said("code", [1, 2, 3]) if "Final answer:" in question else "A text."


@pytest.mark.parametrize(
    "strategy", ["QA", "CoT + 3-Shot", "LM", "Social QA", "Social LM + LM", "Plans + Insights"]
)
def test_without_history_no_prompt_holds_an_earlier_hint_or_code(strategy) -> None:
    def told(name: str) -> list[tuple[str, bool, bool]]:
        """Return of every request whose it is, and whether it holds earlier hints, and codes."""
        logs = {role: Logged(by_turn) for role in ROLES}
        game = play(table(logs, probes=ALL_PROBES, every={"strategy": name}))
        assert (game.status, len(game.turns)) == ("complete", 3)
        found = []
        for role, log in logs.items():
            for text in log.texts():
                shown_turns = re.findall(r"[Tt]urn (\d)(?: of at most| Alice| you)", text)
                turn = int(shown_turns[-1]) if shown_turns else 1
                listed = ", ".join(map(shown, CODES))
                rest = text.replace(listed, "").replace(shown(DEAL.codes[turn - 1]), "")
                rest = rest.replace("1-2-3", "") if "social" in name.lower() else rest
                earlier = [word for words in WORDS[: turn - 1] for word in words]
                codes = [shown(code) for code in DEAL.codes[: turn - 1]]
                held = any(word in text for word in earlier), any(code in rest for code in codes)
                found.append((role, *held))
        return found

    hidden, open_ = told(f"{strategy} -History"), told(strategy)
    assert not any(hints or codes for _, hints, codes in hidden)
    for role in ROLES:
        assert any(hints and codes for whose, hints, codes in open_ if whose == role)
