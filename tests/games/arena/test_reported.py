"""Published numbers of the arena beside a run's: counted again from the games."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings import error_rows
from tomeval.games.arena.records import game_records

PLAYERS = {
    "good": {"kind": "believer"},
    "sloppy": {"kind": "believer", "error_rate": 0.2},
}
EXPERIMENT = {
    "domain": "arena",
    "name": "few",
    "episodes": 72,
    "seed": 3,
    "probes": False,
    "values": False,
    "games": {"night": {"game": "mafia", "talk": "acts"}},
    "players": PLAYERS,
    "lineups": [{"game": "night", "subject": "good", "others": ["sloppy"] + ["good"] * 4}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("arena") / "run") as run:
        yield run


def test_shares_are_those_of_the_games_and_of_the_table_of_errors(run):
    rows = run.table(against="reported_arena").to_dict("records")
    by = {row["metric"]: row for row in rows}
    games = game_records(run)
    dirty = 100 * sum(bool(game.errors) for game in games) / len(games)
    assert 0 < dirty < 100
    assert by["games_with_error_percent"]["ours"] == pytest.approx(dirty)
    assert by["games_with_error_percent"]["difference"] == pytest.approx(dirty - 50.3, abs=0.01)
    rewards = {name: [] for name in PLAYERS}
    for game in games:
        for name, reward in zip(game.players, game.rewards, strict=bool(game.rewards)):
            rewards[name].append(reward)
    best = max(rewards, key=lambda name: sum(rewards[name]) / len(rewards[name]))
    (own,) = (r for r in error_rows(games) if (r["player"], r["error"]) == (best, "any"))
    for name in ("caused_percent", "witnessed_percent"):
        assert by[name]["player"] == best
        assert by[name]["ours"] == pytest.approx(own[name])
        assert by[name]["ours_ci95_low"] == pytest.approx(own[f"{name}_ci95_low"])
    assert len(rows) == 3
    assert "no game in this run for: games_with_error_percent of codenames" in run.text(
        against="reported_arena"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("caused_percents,mafia,,3,here", "line 2: .*did you mean 'caused_percent'"),
        ("caused_percent,mafia,,many,here", "line 2: mean 'many' is no number from 0 to 100"),
    ],
)
def test_bad_files_are_named(run, tmp_path, text, message):
    path = tmp_path / "mine.csv"
    path.write_text(f"measure,game,player,mean,source\n{text}\n", encoding="utf-8")
    with pytest.raises(TomevalError, match=message):
        run.table(against=path)
    with pytest.raises(TomevalError, match="leave out --as-model"):
        run.table(against="reported_arena", interval="t")
