"""Planted beliefs in the arena: answers to a decision's questions, right as often as was set."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from arena_runs import played
from arena_table import said
from support import scripts

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.game import Ask, Probe
from tomeval.domains.arena.games.blotto.allocations import result
from tomeval.domains.arena.llm_options import LLMOptions
from tomeval.domains.arena.named_games import named_game
from tomeval.domains.arena.planting import belief_facts, slope_of
from tomeval.runs.domain import get_domain
from tomeval.runs.results import iterate_export
from tomeval.strategies.beliefs import propensity

PROBES = (Probe("move", 1), Probe("move", 2))


def run_steps(run) -> list:
    """Return the exported column of what was stated."""
    columns, rows = iterate_export(run, "steps")
    place = columns.index("stated")
    return [row[place] and json.loads(row[place]) for row in rows]


ANSWERS = {PROBES[0]: ("a", "b"), PROBES[1]: ("x", "y", "z")}


def test_each_decision_estimates_the_use_slope() -> None:
    """Two things are stated, each on its own: the sum over all statements is the definition."""
    rng = np.random.default_rng(2)
    statements = [
        dict(zip(PROBES, combination, strict=True))
        for combination in itertools.product(*ANSWERS.values())
    ]
    replies = rng.integers(3, size=len(statements))  # the best reply to each
    place = {tuple(one.values()): index for index, one in enumerate(statements)}
    policy = rng.dirichlet(np.ones(3), size=len(statements))

    def best(stated):
        return int(replies[place[tuple(stated.values())]])

    accuracy, true = 0.7, statements[4]
    found = 0.0
    for index, stated in enumerate(statements):
        chance = np.prod(
            [
                propensity(stated[probe] == true[probe], True, len(ANSWERS[probe]), accuracy)
                for probe in PROBES
            ]
        )
        for action in range(3):
            weight = slope_of(
                lambda s, a=action: best(s) == a, best, stated, true, ANSWERS, accuracy
            )
            found += chance * policy[index, action] * weight
    count = len(statements)
    hit = np.array([[policy[t, replies[s]] for t in range(count)] for s in range(count)])
    other = (hit.sum(axis=1) - np.diag(hit)) / (count - 1)
    assert found == pytest.approx((np.diag(hit) - other).mean())


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_what_is_not_identified_has_no_slope(accuracy) -> None:
    stated = dict(zip(PROBES, ("a", "x"), strict=True))
    assert slope_of(lambda s: True, lambda s: s, stated, stated, ANSWERS, accuracy) is None
    # One best reply to everything: following shows in nothing.
    assert slope_of(lambda s: True, lambda s: 0, stated, stated, ANSWERS, 0.5) is None


def test_in_blotto_every_allocation_that_wins_complies() -> None:
    game = named_game("small", {"game": "blotto", "fields": 3, "units": 6}, "small").game
    view = game.view(game.deal(np.random.default_rng(0)), 0)
    ask = Ask(0, "allocate")
    belief = {
        "accuracy": 0.5,
        "said": {"allocation_1": (2, 2, 2)},
        "true": {"allocation_1": (0, 3, 3)},
    }
    [probe] = game.probes(view, ask)
    assert len(game.answers(view, probe)) == 28  # 8 over 2
    for action in ((3, 3, 0), (0, 3, 3), (1, 4, 1), (2, 2, 2)):
        facts = belief_facts(game, view, ask, action, belief, None)
        assert facts["complied"] == (result(action, (2, 2, 2)) == 1)
        assert facts["answered"] == (result(action, (0, 3, 3)) == 1)
        assert facts["right"] is False


def test_a_subject_of_known_use_is_measured(tmp_path) -> None:
    """It answers the stated allocation with one that beats it, by a rule of its own."""
    get_domain("arena")  # its own scripts first

    def beats(request):
        question = request.prompt.messages[-1].content
        if "A stranger tells you" not in question:
            return said("allocation", 7, 7, 6)
        stated = [int(word) for word in question.split("The answer: ")[1].split(".")[0].split(", ")]
        most = int(np.argmax(stated))
        own = [units + 1 for units in stated]
        own[most] = 20 - sum(units + 1 for place, units in enumerate(stated) if place != most)
        return said("allocation", *own) if min(own) >= 0 else said("allocation", 7, 7, 6)

    games = {"blotto": {"game": "blotto", "preset": "v0", "reward": "rounds"}}
    players = {
        "told": {"model": "scripted:beats", "strategy": "Belief 50% (stranger)"},
        "mixer": {"kind": "mixture", "allocations": [[8, 8, 4], [4, 8, 8], [10, 10, 0]]},
    }
    lineups = [{"game": "blotto", "subject": "told", "others": "mixer"}]
    with (
        scripts(beats=beats),
        played(tmp_path, lineups, games, players=players, episodes=15, seed=3) as run,
    ):
        rows = run.rows()
        beliefs = [
            json.loads(text)
            for (text,) in run.store.query(
                "SELECT json_extract(details, '$.belief') FROM steps WHERE slot = 0"
            )
        ]
        exported = [text for text in run_steps(run) if text is not None]
    [row] = rows
    assert exported == [fact["said"] for fact in beliefs]
    assert all(fact["said"] and fact["true"] for fact in beliefs)
    assert {fact["right"] for fact in beliefs} == {True, False}
    assert all(fact["right"] == (fact["said"] == fact["true"]) for fact in beliefs)
    share = np.mean([fact["right"] for fact in beliefs])
    assert share == pytest.approx(0.5, abs=0.15)
    # What wins against the statement is a best reply to it, except where 20 units do not suffice.
    complied = np.mean([fact["complied"] for fact in beliefs])
    assert complied > 0.9
    assert row["compliance_right_percent"] > 90
    assert row["use_slope"] - row["use_slope_ci95"] > 0.2
    lost = [fact["regret"] for fact in beliefs]
    assert all(low == high for low, high in lost)  # no round bears on another one
    mix = players["mixer"]["allocations"]
    every = [(x, y, 20 - x - y) for x in range(21) for y in range(21 - x)]
    worth = {own: np.mean([result(own, tuple(other)) for other in mix]) for own in every}
    for fact, (low, _) in zip(beliefs, lost, strict=True):
        [stated] = fact["said"].values()
        against = {own: result(own, tuple(stated)) for own in every}
        replies = [own for own in every if against[own] == max(against.values())]
        gaps = {round((max(worth.values()) - worth[own]) / 9, 9) for own in replies}  # of 9 rounds
        assert round(low, 9) in gaps
    assert row["delta_statement_per_decision"] == pytest.approx(np.mean(lost))


def test_what_follows_from_moves_is_not_stated(tmp_path) -> None:
    games = {"dilemma": {"game": "ipd3", "rounds": 2, "talk": 1}}
    players = {
        "told": {"model": "scripted:arena", "strategy": "Belief 0% (own)"},
        "forgiving": {"kind": "tit_for_tat"},
        "breaker": {"kind": "promise_breaker"},
    }
    lineups = [{"game": "dilemma", "subject": "told", "others": ["forgiving", "breaker"]}]
    with played(tmp_path, lineups, games, players=players, episodes=2, seed=3) as run:
        beliefs = [
            json.loads(text)
            for (text,) in run.store.query(
                "SELECT json_extract(details, '$.belief') FROM steps WHERE slot = 0 "
                "AND json_extract(details, '$.belief') IS NOT NULL"
            )
        ]
        assert "use_slope" in run.measures
        [cell] = run.cells
        lines = [line.text for line in run.domain.show.lines(run, cell, 0)]
    of_game = [fact for fact in beliefs if fact["said"]][: len(beliefs) // 2]
    notes = [line for line in lines if line.startswith("[told, ")]
    assert len(notes) == sum(len(fact["said"]) for fact in of_game)
    assert all(note.startswith("[told, wrongly: ") for note in notes)
    assert beliefs
    for fact in beliefs:
        assert not any(name.startswith("word") for name in fact["said"])
        assert all(fact["said"][name] != fact["true"][name] for name in fact["said"])


def test_where_nothing_can_be_stated_the_strategy_is_refused() -> None:
    """A board with more allocations than are listed one by one."""
    table = {"game": "blotto", "fields": 5, "units": 50}
    game = named_game("large", table, "large").game
    options = LLMOptions(strategy="Belief 50% (own)")
    with pytest.raises(TomevalError, match="there is nothing to state"):
        options.check("large", game)
    LLMOptions(strategy="Oracle").check("large", game)
    with pytest.raises(TomevalError, match="is for the subject alone"):
        options.check("large", game, is_subject=False)
