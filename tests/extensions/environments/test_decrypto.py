"""Decrypto as an environment: every seat pays what the run of the same replies measures."""

from __future__ import annotations

import json
import random

import pytest
from extensions.environments.test_environment import play

import tomeval

ALL = {"encoder": dict.fromkeys(("payoff", "regret", "literal", "format"), 1.0)}
ALL["interceptor"] = ALL["decoder"] = {"payoff": 1.0, "format": 1.0}
GAMES = 6
HINTS = ("river", "music", "winter", "doctor", "silver", "garden", "engine", "village", "bread")


def made_replies(seat, seed, count=40):
    """Return replies, of which some cannot be read; an encoder is asked two questions a turn."""
    rng, said = random.Random(seed), []
    for number in range(count):
        code = f'Final answer: {{"code": {rng.sample((1, 2, 3, 4), 3)}}}'
        hints = f'Final answer: {{"hints": {json.dumps(rng.sample(HINTS, 3))}}}'
        readable = hints if seat == "encoder" and number % 2 == 0 else code
        said.append(readable if rng.random() < 0.85 else "I would rather not.")
    return said


def experiment(seat, path, others, **more):
    """Return the experiment whose games an environment plays."""
    roles = ("encoder", "decoder", "interceptor")
    names = dict(zip([role for role in roles if role != seat], others, strict=True))
    player = {"model": f"scripted:{path}", "strategy": "QA", "max_attempts": 1}
    tables = {name: {"embedding": name, "k": 16} for name in others}
    return {
        "domain": "decrypto",
        "players": {"player": player, **tables},
        "pairings": [{seat: "player", **names}],
        "episodes": GAMES,
        "seed": 5,
        "on_invalid": "random",
        **more,
    }


@pytest.mark.parametrize("seat", ALL)
@pytest.mark.parametrize("others", [("minilm", "minilm"), ("minilm", "wordnet")])
def test_the_sums_are_those_of_the_run(tmp_path, seat, others) -> None:
    replies = made_replies(seat, seat)
    path = tmp_path / "replies.json"
    path.write_text(json.dumps(replies))
    more = {"probes": {"eve": True}, "best_turn": True} if seat == "encoder" else {}
    keys = {"seat": seat, "seed": 5, "model": f"scripted:{path}"}
    env = tomeval.environment("decrypto", others, reward=ALL[seat], **keys)
    sums = [play(env, game, replies)[0] for game in range(GAMES)]
    assert env.info["status"] == "complete"
    with tomeval.run(experiment(seat, path, others, **more), tmp_path / "run") as run:
        (cell,) = run.cells
        played = cell.played
        turns = cell.totals("turns_per_game").values
        value = (played.bob == played.code) & (played.eve != played.code)
        earned = {"payoff": value * (-1.0 if seat == "interceptor" else 1.0)}
        if seat == "encoder":
            earned |= {"regret": value - played.best}
            earned |= {"literal": played.predicted["eve"] == played.eve}
        for name, of_turns in earned.items():
            for game in range(GAMES):
                measured = sum(map(float, of_turns[played.game == game]))
                assert sums[game][name] == pytest.approx(measured, abs=1e-9), name
    asked = [int(of_game) * (2 if seat == "encoder" else 1) for of_game in turns]
    unread = sum(replies[:count].count("I would rather not.") for count in asked)
    assert unread == -sum(one["format"] for one in sums) > 0
