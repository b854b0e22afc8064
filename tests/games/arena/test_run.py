"""Runs of the arena: what is stored, what it is worth, broken rules, resuming."""

import itertools
import json
from contextlib import ExitStack

import arena_runs
import numpy as np
import pytest
from arena_table import said
from asking import query
from support import dump, scripts

import tomeval
from tomeval.core.streams import Stream
from tomeval.extensions.ratings import error_rows
from tomeval.games.arena.records import game_records
from tomeval.games.arena.replaying import actions_of, replay
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

PLAYERS = {
    "tft": {"kind": "tit_for_tat"},
    "alld": {"kind": "always_defect"},
    "noisy": {"kind": "tit_for_tat", "noise": 0.2},
    "chance": {"kind": "random"},
    "planner": {"kind": "planner"},
    "sloppy": {"kind": "tit_for_tat", "error_rate": 0.4},
}


def experiment(subject, others, **more):
    return make_experiment(
        {
            "domain": "arena",
            "episodes": 6,
            "seed": 1,
            "games": {"g": {"game": "ipd3", "talk": 0, "rounds": 4}},
            "players": PLAYERS,
            "lineups": [{"game": "g", "subject": subject, "others": others}],
            **more,
        },
        where="x.toml",
    )


@pytest.fixture
def played(tmp_path):
    """Return a function that plays an experiment, and opens the run."""
    with ExitStack() as runs:
        folders = (tmp_path / f"run{n}" for n in itertools.count())
        yield lambda *arguments, **more: runs.enter_context(
            tomeval.run(experiment(*arguments, **more), next(folders))
        )


def test_reward_and_regret_add_up_to_the_best_attainable(played):
    """Without chance V* - reward is the sum of what single decisions lost, game by game."""
    # Two who repay: cooperate with both for three rounds, then defect: 3 * 6 + 10.
    run = played(["tft", "alld", "planner"], ["tft", "tft"])
    for cell in run.cells:
        rewards = cell.totals("reward").values
        lost = cell.totals("delta_functional_per_game").values
        assert rewards + lost == pytest.approx([28.0] * len(rewards))
    by_name = {cell.player: cell for cell in run.cells}
    assert by_name["tft"].totals("reward").values == pytest.approx(24.0)
    assert by_name["alld"].totals("reward").values == pytest.approx(10 + 3 * 2)
    assert by_name["planner"].totals("reward").values == pytest.approx(28.0)
    assert by_name["planner"].totals("tom_percent").values == pytest.approx(100.0)


def test_without_chance_every_seating_is_played_once(played):
    run = played(["tft"], ["tft", "alld"], episodes=30)
    [cell] = run.cells
    assert cell.episodes.tolist() == [0, 1, 2]
    assert cell.each_once
    assert cell.wanted(30) == 3
    noisy = played(["tft"], ["noisy", "alld"], episodes=30)
    assert len(noisy.cells[0].episodes) == 30


def test_regret_is_what_is_lost_in_expectation(played):
    run = played(["chance"], ["noisy", "tft"], episodes=150)
    [cell] = run.cells
    from tomeval.games.arena.described import bounds_rows

    cells = list(experiment(["chance"], ["noisy", "tft"]).cells)
    best = {row["best"] for row in bounds_rows(cells)}
    [best] = {round(value, 9) for value in best}
    found = cell.estimate(["reward", "delta_functional_per_game"])
    assert found.mean.sum() == pytest.approx(best, abs=4 * float(found.half[0]) / 1.96)
    assert found.half[1] < found.half[0]  # which is why it is measured so


def test_a_stored_game_is_replayed_to_what_was_paid(played):
    run = played(["chance"], ["noisy", "sloppy"], on_invalid="eliminate", attempts=2, episodes=12)
    [cell] = run.cells
    game = cell.table.game
    endings = []
    for episode, deal, rewards, marks in query(
        run, "SELECT episode, deal, rewards, marks FROM episodes"
    ):
        rows = run.store.read("steps", ("stage", "seat", "verdict", "action"), 0, episode)
        first = game.deal(Stream.of(1, "arena", "deal", cell.table.stream).episode(deal))
        *_, (_, last) = replay(game, first, json.loads(marks), actions_of(rows))
        assert game.rewards(last) == tuple(json.loads(rewards))
        endings.append(any(isinstance(mark, list) for mark in json.loads(marks)))
        assert [*cell.lines(episode)]
    assert True in endings
    assert False in endings


# Broken rules


def statuses(run):
    return dict(query(run, "SELECT status, COUNT(*) FROM episodes GROUP BY status"))


def test_asked_again_nothing_changes_but_the_count(played):
    clean = played(["tft"], ["noisy", "alld"], episodes=30)
    broken = played(["sloppy"], ["noisy", "alld"], episodes=30)
    rewards = [run.cells[0].totals("reward").values.tolist() for run in (clean, broken)]
    assert rewards[0] == rewards[1]
    assert broken.rows()[0]["reask_rate"] == pytest.approx(0.4, abs=0.15)
    assert broken.cells[0].totals("exact_percent").values == pytest.approx(100.0)


def test_a_void_game_counts_in_no_measure(played):
    run = played(["sloppy"], ["noisy", "alld"], episodes=60, attempts=1)
    found = statuses(run)
    # A game of four decisions stays whole with probability 0.6 ** 4 = 0.13.
    assert 1 <= found["complete"] <= 20
    assert found["void"] == 60 - found["complete"]
    assert len(run.cells[0].totals("reward").values) == found["complete"]
    records = game_records(run)
    assert all(any(e.fatal for e in r.errors) for r in records if not r.complete)
    assert all(r.clean for r in records if r.complete)


def test_errors_that_made_games_void_are_counted(played):
    run = played(["tft"], ["sloppy", "alld"], episodes=60, attempts=1)
    void = statuses(run)["void"]
    errors = error_rows(game_records(run))
    [own] = (r for r in errors if r["player"] == "tft" and r["error"] == "any")
    assert 30 < void < 60
    assert own["witnessed_fatal_percent"] == pytest.approx(100 * void / 60)
    assert own["caused_fatal_percent"] == run.rows()[0]["invalid_rate"] == 0


def test_forfeit_loses_at_once(played):
    run = played(["sloppy"], ["noisy", "alld"], episodes=60, on_invalid="forfeit", attempts=1)
    assert statuses(run) == {"complete": 60}
    [cell] = run.cells
    fatal = np.array([any(e.fatal for e in r.caused("sloppy")) for r in game_records(run)])
    assert 40 <= fatal.sum() <= 60
    assert (cell.totals("win_percent").values[fatal] == 0).all()


def test_who_breaks_rules_beside_the_seat_that_forfeits_loses_nothing_by_it(played):
    ranked = {"g": {"game": "ipd3", "talk": 0, "rounds": 4, "reward": "rank"}}
    more = {"games": ranked, "episodes": 60, "on_invalid": "forfeit", "attempts": 1}
    run = played(["sloppy"], ["sloppy", "sloppy"], **more)
    records = game_records(run)
    assert any(len(r.errors) > 1 for r in records)
    for record in records:
        # Who forfeits has the last place alone, whoever else erred beside it.
        cost = [e.seat for e in record.errors if e.fatal]
        assert cost == ([record.rewards.index(-1.0)] if record.errors else [])


def test_the_default_action_is_not_the_players_own(played):
    run = played(["sloppy"], ["noisy", "alld"], episodes=30, on_invalid="default", attempts=1)
    rows = query(
        run,
        "SELECT action, regret, chosen FROM steps WHERE slot = 0 AND verdict = 'default'",
    )
    assert len(rows) > 20
    assert set(rows) == {('["cooperate", "cooperate"]', None, None)}


# One seed, one run


def test_rows_do_not_depend_on_sessions_or_workers(tmp_path):
    def made(episodes):
        return experiment(["chance", "sloppy"], [["noisy", "alld"], ["chance", "tft"]],
                          episodes=episodes)  # fmt: skip

    run_experiment(made(40), tmp_path / "whole")
    run_experiment(made(10), tmp_path / "parts")
    run_experiment(made(40), tmp_path / "parts", workers=2)
    assert dump(tmp_path / "whole") == dump(tmp_path / "parts")


# Bad input


def test_belief_response_and_foresight_add_up(played):
    """A planner that knows two who repay gives up 2 a round toward each, and gets it back later."""
    run = played(["planner", "chance"], ["tft", "tft"], episodes=30)
    names = ["belief_per_decision", "response_per_decision", "foresight_per_decision"]
    for cell in run.cells:
        parts = sum(cell.totals(name).values for name in names)
        assert parts == pytest.approx(cell.totals("delta_functional_per_decision").values)
    [planner] = (cell for cell in run.cells if cell.player == "planner")
    # Its predictions are right, so belief loses nothing; in three of four rounds it forgoes
    # 2 * (5 - 3) for cooperation, which the later rounds repay in full.
    assert [planner.totals(name).values[0] for name in names] == pytest.approx([0.0, 3.0, -3.0])


def test_the_split_adds_up_with_talk_and_unreadable_predictions(tmp_path):
    """Messages are decisions of regret and of its parts; without a prediction there is none."""

    def script(request):
        text = request.prompt.messages[-1].content
        key = next(k for k in ("message", "moves", "answer", "move") if f'"{k}"' in text)
        if key == "move" and "round 3" in text.lower():
            return "I cannot tell."
        items = {"message": ["Hello."], "moves": ["cooperate", "defect"], "answer": ["yes"]}
        return said(key, *items.get(key, ["cooperate"]))

    games = {"g": {"game": "ipd3", "rounds": 3}}
    lineups = [{"game": "g", "subject": "m", "others": ["noisy", "alld"]}]
    players = {**PLAYERS, "m": {"model": "scripted:half"}}
    with (
        scripts(half=script),
        arena_runs.played(tmp_path, lineups, games, players=players, attempts=1) as run,
    ):
        [cell] = run.cells
        found = {name: cell.totals(name).values for name in cell.measures}
        parts = [found[f"{name}_per_decision"] for name in ("belief", "response", "foresight")]
        # Of three rounds with a message and two moves, one lacks its prediction.
        assert found["split_percent"] == pytest.approx([100 * 5 / 6] * 6)
        assert found["delta_tom_known_percent"] == pytest.approx([100 * 2 / 3] * 6)
        rows = query(
            run,
            "SELECT episode, SUM(regret) / COUNT(*) FROM steps WHERE slot = 0 "
            "AND NOT (round = 3 AND kind = 'moves') GROUP BY episode",
        )
        assert sum(parts) == pytest.approx([value for _, value in rows])
        assert (parts[2] != 0).any()


@pytest.mark.parametrize(
    ("game", "other"),
    [
        ({"game": "ipd3", "rounds": 3}, {"kind": "promise_breaker"}),
        ({"game": "ipd3", "rounds": 3, "scale": 0.25}, {"kind": "always_defect"}),
        (
            {
                "game": "blotto",
                "units": 6,
                "rounds": 3,
                "reward": "rounds",
                "win": 6.0,
                "loss": -6.0,
            },
            {"kind": "mixture", "allocations": [[3, 2, 1]]},
        ),
    ],
)
def test_there_is_no_foresight_where_nobody_reacts_and_all_can_be_foreseen(tmp_path, game, other):
    """All of regret is then lost in its own round; a part in another unit would not balance it."""
    lineups = [{"game": "g", "subject": "chance", "others": "fixed"}]
    players = {"fixed": other}
    with arena_runs.played(tmp_path, lineups, {"g": game}, players=players) as run:
        [cell] = run.cells
        found = {name: cell.totals(name).values for name in cell.measures}
        assert found["foresight_per_decision"] == pytest.approx([0.0] * 6, abs=1e-12)
        assert found["delta_functional_per_decision"].min() > 0


def test_eliminated_players_leave_the_game_to_others(played):
    run = played(["tft"], ["sloppy", "noisy"], episodes=60, on_invalid="eliminate", attempts=1)
    assert statuses(run) == {"complete": 60}
    out = [r for r in game_records(run) if any(e.fatal for e in r.errors)]
    assert len(out) > 30
    assert all(len(r.errors) == 1 for r in out)
    # An elimination in the last round, or before it, leaves two who play to the end.
    assert query(run, "SELECT DISTINCT ending FROM episodes") == [("played",)]
    # Values are not known where a partner may drop out.
    assert run.cells[0].totals("exact_percent").values.sum() == 0
