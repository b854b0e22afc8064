"""Tables of ratings and errors on games written down by hand, and of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings import error_notes, error_rows, pairs_of, rating_rows
from tomeval.extensions.ratings.bradley_terry import ELO
from tomeval.games.arena.records import ErrorRecord, GameRecord


def game(number, wins, errors=(), rounds=5, status="complete", players=("A", "B", "C"), **more):
    """Return a game of three seats in which `wins` are the rewards too."""
    values = {
        "cell": 0,
        "episode": number,
        "deal": str(number),
        "game": "ipd3",
        "players": players,
        "teams": ((0,), (1,), (2,)),
        "rewards": tuple(map(float, wins)),
        "rounds": rounds,
        "usual": 5,
        "status": status,
        "errors": tuple(errors),
    }
    return GameRecord(**{**values, **more})


FORFEIT = ErrorRecord(1, "format", fatal=True)
RECORDS = [
    game(0, (1, 0, 0)),
    game(1, (0, 1, 0), [ErrorRecord(0, "format", repaired=True)]),
    game(2, (1, 0, 0), [FORFEIT], rounds=1),
    game(3, (1, 0, 0), [FORFEIT, ErrorRecord(1, "target", repaired=True)], rounds=2),
    game(4, (), [ErrorRecord(2, "refusal", fatal=True)], 1, "void"),
]


def row_of(rows, **where):
    (row,) = (row for row in rows if all(row[key] == value for key, value in where.items()))
    return row


def test_errors_are_counted_for_who_made_them_and_who_saw_them():
    rows = error_rows(RECORDS)
    a = row_of(rows, player="A", error="any")
    assert (a["caused"], a["witnessed"], a["games"]) == (1, 4, 5)
    assert (a["caused_fatal"], a["witnessed_fatal"], a["repaired"]) == (0, 3, 1)
    assert a["caused_percent"] == pytest.approx(20)
    assert a["witnessed_percent"] == pytest.approx(60)
    assert a["witnessed_fatal_percent"] == pytest.approx(60)
    assert a["caused_percent_ci95_low"] == pytest.approx(
        100 * proportion_confint(1, 5, method="wilson")[0]
    )
    b = row_of(rows, player="B", error="format")
    assert (b["caused"], b["caused_fatal"], b["witnessed"]) == (2, 2, 1)
    assert row_of(rows, player="B", error="target")["repaired"] == 1
    assert {row["error"] for row in rows} == {"any", "format", "target", "refusal"}
    # What one player caused, each of the two others witnessed.
    whole = [row for row in rows if row["error"] == "any"]
    assert sum(row["witnessed"] for row in whole) == 2 * sum(row["caused"] for row in whole)


def test_the_validity_rule():
    notes = error_notes(RECORDS)  # depths 1, 1, 0.2, 0.4, 0.2
    assert "80 % of the games have an error" in notes[0]
    assert "0.40 of the usual rounds: all games rank who survives" in notes[0]
    # Either condition alone does not do it, and 30 % is not above 30 %.
    deep = [game(k, (1, 0, 0), [FORFEIT]) for k in range(5)]
    short = [game(k, (1, 0, 0), rounds=1) for k in range(7)]
    for records in (deep, short, deep[:3] + short):
        assert not any("survives" in note for note in error_notes(records))
    assert not error_notes(short)


def test_pairs_are_all_teams_of_complete_games():
    four = {"players": ("A", "B", "B", "C"), "game": "mafia", "teams": ((0,), (1, 2, 3))}
    twins = game(5, (0, 0, 0), players=("A", "A", "B"))
    table = pairs_of([game(0, (1, -1, -1, -1), **four), RECORDS[0], RECORDS[4], twins])
    assert table.names == ("A", "B", "C")
    assert table.apart[0] == pytest.approx([1, -2 / 3, -1 / 3])
    assert table.apart[1:4].tolist() == [[1, -1, 0], [1, 0, -1], [0, 1, -1]]
    assert table.apart[4:].tolist() == [[1, -1, 0], [1, -1, 0]]  # A with itself tells nothing
    assert table.won.tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    assert table.deal.tolist() == [0, 0, 0, 0, 1, 1]  # the first two games share a deal


def drawn_games(count, strength, errors=None, seed=0):
    """Draw games of Plackett and Luce; who errs, with its chance, comes last and ends the game."""
    rng = np.random.default_rng(seed)
    records = []
    for number in range(count):
        order = rng.permutation(3)
        players = tuple("ABC"[k] for k in order)
        luck = np.array([strength[k] for k in order]) + rng.gumbel(size=3)
        broke = [seat for seat in range(3) if rng.random() < (errors or {}).get(players[seat], 0)]
        made = ()
        if broke:
            luck[broke[0]] = -99
            made = (ErrorRecord(broke[0], "format", fatal=True),)
        places = np.argsort(np.argsort(luck)) - 1.0
        records.append(game(number, places, made, players=players))
    return records


def test_equals_who_err_differently_are_ranked_apart_in_all_games_only():
    rows, notes = rating_rows(drawn_games(600, (0, 0, 0), {"A": 0.5, "B": 0.2}))
    everything = {r["player"]: r for r in rows if r["subset"] == "all"}
    clean = [r for r in rows if r["subset"] == "clean"]
    assert everything["C"]["rating_ci95_low"] > everything["A"]["rating_ci95_high"] + 100
    assert [r["player"] for r in rows[:3]] == ["C", "B", "A"]
    assert all(r["rating_ci95_low"] < 0 < r["rating_ci95_high"] for r in clean)
    assert not notes
    assert sum(r["rating"] for r in rows[:3]) == pytest.approx(0, abs=1e-9)


def test_what_cannot_be_rated_is_said_and_the_rest_is_rated():
    records = [*drawn_games(60, (0.3, 0, -0.3)), game(99, (1, 0, 0), players=("X", "Y", "Y"))]
    with pytest.raises(TomevalError, match=r"no chain of games connects \{.*\} and \{X, Y\}"):
        rating_rows(records)
    records[-1] = replace(records[-1], game="blotto")
    rows, notes = rating_rows(records)
    assert {row["game"] for row in rows} == {"ipd3", "blotto"}
    assert any("all games" in note and "no chain of games" in note for note in notes)
    few = "on fewer than 5 deals: X, Y"
    assert any("blotto (all)" in note and few in note for note in notes)
    assert all(np.isnan(row["rating"]) for row in rows if row["game"] == "blotto")
    with pytest.raises(TomevalError, match="nobody to rate"):
        rating_rows(records[:9], dict.fromkeys("ABC", 0.0))
    with pytest.raises(TomevalError, match="no game to rate"):
        rating_rows([])


def test_a_newcomer_among_a_frozen_pool():
    records = drawn_games(300, (0.8, 0, 0), seed=3)
    rows, _ = rating_rows(records, {"B": 100.0, "C": {"ipd3": 100.0}})
    value = {row["player"]: row["rating"] for row in rows if row["subset"] == "all"}
    assert value["B"] == value["C"] == pytest.approx(100)
    assert value["A"] == pytest.approx(100 + 0.8 * ELO, abs=60)


def test_openskill_moves_players_as_plackett_and_luce_do():
    """One duel of fresh players, by hand: sigma^2 / c / 2, with c^2 = 2 (sigma^2 + beta^2).

    Who wins most has the highest mu in any order of the games, and a game with itself moves nobody.
    """
    skill = pytest.importorskip("tomeval.extensions.ratings.skill")
    pytest.importorskip("openskill")
    duel = {"teams": ((0,), (1,)), "players": ("A", "B")}
    variance = (25 / 3) ** 2 + (25 / 300) ** 2  # as every game adds tau^2
    moved = variance / np.sqrt(2 * (variance + (25 / 6) ** 2)) / 2
    mean, sd = skill.skills([game(0, (1, 0), **duel)], "AB")
    assert mean == pytest.approx([25 + moved, 25 - moved], abs=1e-9)
    assert sd == pytest.approx([0, 0], abs=1e-9)
    records = drawn_games(60, (1, 0, -1))
    rows = rating_rows(records)[0][:3]
    assert [row["player"] for row in sorted(rows, key=lambda row: -row["openskill"])] == list("ABC")
    assert all(0 < row["openskill_sd"] < 3 for row in rows)
    alone = game(99, (0, 0, 0), players=("A", "A", "A"))
    assert rating_rows([*records, alone])[0][0]["openskill"] == rows[0]["openskill"]


def test_without_openskill_the_table_says_so(monkeypatch):
    monkeypatch.setattr("tomeval.extensions.ratings.is_known", lambda: False)
    rows, notes = rating_rows(drawn_games(10, (1, 0, -1)))
    assert all(np.isnan(row["openskill"]) for row in rows)
    assert any("tomeval[ratings]" in note for note in notes)


def test_on_one_deal_who_is_beaten_in_a_circle_has_a_number_and_who_never_loses_has_none():
    """Of a circle games limit the distances; a rating without a limit would be the prior's."""
    circle = [
        ((2, 1, 0), ("A", "B", "C")),
        ((2, 1, 0), ("B", "C", "A")),
        ((2, 1, 0), ("C", "A", "B")),
    ]
    games = [game(k, wins, deal="one", players=who) for k, (wins, who) in enumerate(circle)]
    rows, _ = rating_rows(games)
    assert [row["rating"] for row in rows if row["subset"] == "all"] == pytest.approx([0, 0, 0])
    assert all(np.isnan(row["rating_ci95"]) for row in rows)
    best = [game(k + 3, (1, 0, 0), deal="one", players=("D", "A", "B")) for k in range(3)]
    rows, notes = rating_rows([*games, *best])
    shown = {row["player"]: row["rating"] for row in rows if row["subset"] == "all"}
    assert np.isnan(shown.pop("D"))
    assert np.isfinite(list(shown.values())).all()
    assert any("never lost, or never won, on fewer than 5 deals: D" in note for note in notes)
    many = [game(k, (1, 0, 0), deal=str(k), players=("D", "A", "B")) for k in range(5)]
    rows, _ = rating_rows([*games, *many])
    held = row_of(rows, player="D", subset="all")
    assert np.isfinite(held["rating"])
    assert np.isnan(held["rating_ci95"])
