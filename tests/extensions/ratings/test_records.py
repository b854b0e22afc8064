"""Tables of errors on games written down by hand, and on rankings that errors mislead."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.records import ErrorRecord, GameRecord
from tomeval.domains.arena.tables import subject_errors
from tomeval.extensions.ratings import errors
from tomeval.extensions.ratings import rows as ratings
from tomeval.extensions.ratings.rating import ELO
from tomeval.statistics.shares import wilson

PLAYERS = ("A", "B", "C")


def game(number, wins, errors=(), rounds=5, status="complete", players=PLAYERS, **more):
    """Return a game of three seats in which `wins` are the rewards too."""
    given = {
        "cell": 0,
        "episode": number,
        "deal": str(number),
        "game": "ipd3",
        "players": players,
        "roles": ("player",) * 3,
        "teams": ((0,), (1,), (2,)),
        "rewards": tuple(map(float, wins)),
        "wins": tuple(map(float, wins)),
        "rounds": rounds,
        "usual": 5,
        "status": status,
        "errors": tuple(errors),
    }
    return GameRecord(**{**given, **more})


FORFEIT = ErrorRecord(1, "format", fatal=True, decided=True)
RECORDS = [
    game(0, (1, 0, 0)),
    game(1, (0, 1, 0), [ErrorRecord(0, "format", repaired=True)]),
    game(2, (1, 0, 0), [FORFEIT], rounds=1),
    game(3, (1, 0, 0), [FORFEIT, ErrorRecord(1, "target", repaired=True)], rounds=2),
    game(4, (), [ErrorRecord(2, "refusal", fatal=True, decided=True)], 1, "void"),
]


def rows_of(rows, **where):
    found = [row for row in rows if all(row[key] == value for key, value in where.items())]
    assert found, where
    return found[0] if len(found) == 1 else found


def test_errors_are_counted_for_who_made_them_and_who_saw_them():
    rows = errors.error_rows(RECORDS)
    a = rows_of(rows, player="A", error="any")
    assert (a["caused"], a["witnessed"], a["games"]) == (1, 4, 5)
    assert (a["caused_fatal"], a["witnessed_fatal"], a["repaired"]) == (0, 3, 1)
    assert a["caused_percent"] == pytest.approx(20)
    assert a["witnessed_percent"] == pytest.approx(60)
    assert a["witnessed_fatal_percent"] == pytest.approx(60)
    assert a["caused_percent_ci95_low"] == pytest.approx(100 * wilson(1, 5)[0])
    b = rows_of(rows, player="B", error="format")
    assert (b["caused"], b["caused_fatal"], b["witnessed"]) == (2, 2, 1)
    assert rows_of(rows, player="B", error="target")["repaired"] == 1
    assert {row["error"] for row in rows} == {"any", "format", "target", "refusal"}
    # What one player caused, each of the two others witnessed.
    whole = [row for row in rows if row["error"] == "any"]
    assert sum(row["witnessed"] for row in whole) == 2 * sum(row["caused"] for row in whole)


def test_games_and_the_validity_rule():
    [row] = errors.game_rows(RECORDS)
    assert (row["games"], row["void"]) == (5, 1)
    assert row["error_percent"] == pytest.approx(80)
    assert row["fatal_percent"] == row["decided_percent"] == pytest.approx(60)
    assert row["depth"] == pytest.approx(0.4)  # of 1, 1, 0.2, 0.4, 0.2
    assert row["depth_with_error"] == pytest.approx(0.3)
    assert row["valid"] == "no"
    assert "80 % of the games have an error" in errors.validity_notes(RECORDS)[0]
    # Either condition alone does not do it.
    deep = [game(k, (1, 0, 0), [FORFEIT]) for k in range(5)]
    short = [game(k, (1, 0, 0), rounds=1) for k in range(5)]
    for records in (deep, short):
        assert errors.game_rows(records)[0]["valid"] == "yes"
        assert not errors.validity_notes(records)
    border = [*deep[:3], *[game(k, (1, 0, 0), rounds=1) for k in range(7)]]
    assert errors.game_rows(border)[0]["valid"] == "yes"  # 30 % is not above 30 %


def test_errors_of_the_measured_seat_are_those_of_all_games():
    """Void games too; the numbers are those of the table of errors for a player of one seat."""
    row = subject_errors(RECORDS)
    a = rows_of(errors.error_rows(RECORDS), player="A", error="any")
    assert row["void"] == 1
    assert row["witnessed_fatal_percent"] == a["witnessed_fatal_percent"] == pytest.approx(60)
    assert row["caused_fatal_percent"] == a["caused_fatal_percent"] == 0
    assert row["refused_per_game"] == pytest.approx(1 / 5)
    second = subject_errors([replace(record, subject=1) for record in RECORDS])
    b = rows_of(errors.error_rows(RECORDS), player="B", error="any")
    assert second["caused_fatal_percent"] == b["caused_fatal_percent"] == pytest.approx(40)
    assert second["witnessed_fatal_percent"] == b["witnessed_fatal_percent"] == pytest.approx(20)


def test_clean_games_are_said_to_be_selected():
    rows = errors.selection_rows(RECORDS)
    assert rows_of(rows, player="A", side="seat 0")["clean"] == 1
    note = errors.selection_note(RECORDS)
    assert "not a random sample: 1 of 5 games are clean" in note
    assert errors.selection_note(RECORDS[:1]) == ""


def test_deals_are_the_sampling_unit():
    apart = [game(k, (k % 2, 0, 1 - k % 2), [FORFEIT] if k < 4 else []) for k in range(24)]
    same = [game(k, r.wins, r.errors, deal=str(k // 4)) for k, r in enumerate(apart)]
    wide, narrow = (errors.game_rows(records)[0] for records in (same, apart))
    assert wide["error_percent"] == narrow["error_percent"]
    width = [r["error_percent_ci95"] for r in (wide, narrow)]
    assert width[0] > 1.5 * width[1]  # all errors fall on one deal
    reward = [rows_of(ratings.payoff_rows(r), subset="all", player="A") for r in (same, apart)]
    assert reward[0]["reward_ci95"] < 1e-9 < reward[1]["reward_ci95"]  # deals are alike in it


MAFIA = {
    "game": "mafia",
    "roles": ("mafia", "doctor", "villager", "villager"),
    "teams": ((0,), (1, 2, 3)),
    "usual": 4,
}


def mafia(number, players, won):
    wins = tuple(float((seat == 0) == won) for seat in range(4))
    return game(number, wins, players=players, rewards=tuple(2 * w - 1 for w in wins), **MAFIA)


def test_contests_have_teams_sides_and_places():
    table = ratings.contests_of([mafia(0, ("A", "B", "B", "C"), True), RECORDS[0], RECORDS[4]])
    assert table.names == ("A", "B", "C")
    assert table.sides[:2] == ("mafia: mafia", "mafia: doctor + villager")
    assert table.sides[2:] == tuple(f"ipd3: seat {k}" for k in range(3))
    assert table.players[1] == pytest.approx([0, 2 / 3, 1 / 3])
    assert table.game.tolist() == [0, 0, 1, 1, 1]  # a void game has no winner
    assert table.place.tolist() == [-1, 1, -1, 0, 0]
    assert table.kind.tolist() == [0, 1]
    roles = {"roles": ("guide", "guesser") * 2, "teams": ((0, 1), (2, 3))}
    codenames = game(0, (1, 1, 0, 0), players=("A", "A", "B", "B"), game="codenames", **roles)
    assert codenames.team_sides() == ["seats 0, 1", "seats 2, 3"]
    assert codenames.sides() == ["guide", "guesser", "guide", "guesser"]


def drawn_games(count, strength, errors=None, seed=0):
    """Draw games of Plackett and Luce; who errs, with its chance, comes last and ends the game."""
    rng = np.random.default_rng(seed)
    records = []
    for number in range(count):
        order = rng.permutation(3)
        players = tuple("ABC"[k] for k in order)
        luck = np.array([strength[k] for k in order]) + rng.gumbel(size=3)
        broke = [seat for seat in range(3) if rng.random() < (errors or {}).get(players[seat], 0)]
        found = ()
        if broke:
            luck[broke[0]] = -99
            found = (ErrorRecord(broke[0], "format", fatal=True, decided=True),)
        places = np.argsort(np.argsort(luck)) - 1.0
        records.append(game(number, places, found, players=players))
    return records


def test_equals_who_err_differently_are_ranked_apart_in_all_games_only():
    records = drawn_games(600, (0, 0, 0), {"A": 0.5, "B": 0.2})
    rows, notes = ratings.rating_rows(records, np.random.default_rng(1))
    everything = {r["player"]: r for r in rows if r["subset"] == "all"}
    clean = {r["player"]: r for r in rows if r["subset"] == "clean"}
    assert everything["C"]["rating_ci95_low"] > everything["A"]["rating_ci95_high"] + 100
    assert [r["player"] for r in rows[:3]] == ["C", "B", "A"]
    assert all(r["rating_ci95_low"] < 0 < r["rating_ci95_high"] for r in clean.values())
    assert all((r["rank_low"], r["rank_high"]) == (1, 3) for r in clean.values())
    assert not notes
    assert sum(r["rating"] for r in rows[:3]) == pytest.approx(0, abs=1e-9)


def test_what_cannot_be_rated_is_said_and_the_rest_is_rated():
    records = [*drawn_games(60, (0.3, 0, -0.3)), game(99, (1, 0, 0), players=("X", "Y", "Y"))]
    with pytest.raises(TomevalError, match=r"no chain of games connects \{.*\} and \{X, Y\}"):
        ratings.rating_rows(records, np.random.default_rng(1))
    other = game(99, (1, 0, 0), players=("X", "Y", "Y"), game="blotto")
    rows, notes = ratings.rating_rows([*records[:-1], other], np.random.default_rng(1))
    assert {row["game"] for row in rows} == {"ipd3"}
    assert any("blotto (all)" in note and "same team-mates" in note for note in notes)
    with pytest.raises(TomevalError, match="nobody to rate"):
        ratings.rate_records(records[:9], np.random.default_rng(1), frozen=dict.fromkeys("ABC", 0))


def test_few_deals_are_judged_by_player_whatever_else_is_pooled():
    """A player of one deal has no interval in its game, and so none over all games."""
    records = [*drawn_games(60, (0.3, 0, -0.3)), *drawn_games(12, (0.3, 0, -0.3))]
    for number, record in enumerate(records[60:]):
        players = tuple("X" if name == "C" else name for name in record.players)
        records[60 + number] = replace(record, game="duel", deal="one", players=players)
    rows, notes = ratings.rating_rows(records, np.random.default_rng(1))
    for scope, deals in (("duel", 1), (ratings.TOGETHER, 1)):
        row = rows_of(rows, subset="all", game=scope, player="X")
        assert (row["games"], row["deals"]) == (12, deals)
        assert math.isnan(row["rating_ci95_low"])
        assert (row["rank_low"], row["rank_high"]) == (1, 3 if scope == "duel" else 4)
    assert all(row["rating_ci95_low"] > -math.inf for row in rows if row["deals"] > 60)
    assert rows_of(rows, subset="all", game=ratings.TOGETHER, player="A")["deals"] == 61
    assert any("no interval for the rating of X" in note for note in notes)


def test_a_newcomer_among_a_frozen_pool():
    records = drawn_games(300, (0.8, 0, 0), seed=3)
    pool = {"B": 100.0, "C": 100.0}
    found = ratings.rate_records(records, np.random.default_rng(1), frozen=pool)
    value = dict(zip(found.names, ELO * found.value, strict=True))
    assert value["B"] == pytest.approx(100)
    assert value["A"] == pytest.approx(100 + 0.8 * ELO, abs=60)


@given(st.permutations(range(5)), st.integers(-5, 5))
def test_neither_order_nor_a_constant_reward_moves_a_table(order, shift):
    shuffled = [RECORDS[k] for k in order]
    moved = [
        game(
            r.episode, r.wins, r.errors, r.rounds, r.status, rewards=[x + shift for x in r.rewards]
        )
        for r in shuffled
    ]
    assert ratings.contests_of(moved).place + shift == pytest.approx(
        ratings.contests_of(shuffled).place
    )
    whole = rows_of(ratings.payoff_rows(moved), subset="all", player="A")["reward"]
    assert whole == pytest.approx(0.75 + shift)
