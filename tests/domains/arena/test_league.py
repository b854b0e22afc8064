"""Several models in one league: who meets whom, talk by default, and the board by hand."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.arena.experiment import round_robin
from tomeval.extensions.ratings.board import _score, _voted
from tomeval.runs.experiment import load_experiment, make_experiment
from tomeval.statistics.shares import clustered_sums

VOICES = ["scripted:arena", "scripted:arena_rival"]
LEAGUE = {
    "domain": "arena",
    "model": VOICES,
    "players": {"follower": {"kind": "follower"}, "mixer": {"kind": "uniform"}},
    "lineups": [
        {"game": "mafia", "subject": "models", "others": "models", "episodes": 12},
        {"game": "mafia", "subject": "models", "others": "follower", "episodes": 6},
        {"game": "blotto", "subject": "models", "others": "models", "episodes": 4},
        {"game": "blotto", "subject": "models", "others": "mixer", "episodes": 4},
    ],
    "seed": 3,
}


@given(st.integers(1, 6), st.integers(1, 14))
def test_everybody_meets_everybody_as_often_in_every_place(count, seats) -> None:
    players = [f"p{k}" for k in range(count)]
    pairs: Counter[tuple[str, str]] = Counter()
    for subject in players:
        tables = round_robin(subject, players, seats)
        assert all(len(others) == seats for others in tables)
        for place in range(seats):
            seen = Counter(others[place] for others in tables)
            assert set(seen.values()) == {1}
            assert set(seen) == set(players) - ({subject} if count > 1 else set())
        pairs += Counter((subject, other) for others in tables for other in others)
    assert len(set(pairs.values())) == 1


def test_what_is_wrong_with_a_league_is_said_once() -> None:
    lineups = [{"game": "chess", "subject": "models", "others": "models"}]
    for change, said in (
        ({"models": {"a": "pocket"}, "model": ["a"], "players": {"a": {"kind": "random"}}},
         "experiment: model: the name 'a' is taken, empty or not printable"),
        ({"lineups": lineups, "games": {"mafia": {"game": "mafia"}}},
         "lineups[0].game: unknown game 'chess'; known: mafia, ipd3, blotto, codenames"),
    ):  # fmt: skip
        with pytest.raises(TomevalError) as caught:
            _ = make_experiment(LEAGUE | change).cells
        assert str(caught.value).endswith(said)
        assert str(caught.value).count(said.split(":")[0]) == 1


def test_cells_of_a_league_name_their_models() -> None:
    cells = make_experiment(LEAGUE | {"model": [*VOICES, "pocket"]}).cells
    assert Counter(cell.key[0] for cell in cells) == {"mafia": 6 + 3, "blotto": 6 + 3}
    among = {cell.key[1:3] for cell in cells if cell.key[0] == "blotto" and cell.key[2] != "mixer"}
    names = [*VOICES, "pocket"]
    assert among == {(a, b) for a in names for b in names if a != b}
    alone = make_experiment(LEAGUE | {"model": "pocket"}).cells
    assert {cell.key[1:3] for cell in alone} == {
        ("pocket", "pocket"), ("pocket", "follower"), ("pocket", "mixer"),
    }  # fmt: skip
    named = {"models": {"Ours": "openai:m@http://127.0.0.1:1/v1", "Theirs": "pocket"}}
    data = {key: value for key, value in LEAGUE.items() if key != "model"} | named
    assert {cell.key[1] for cell in make_experiment(data).cells} == {"Ours", "Theirs"}


def test_names_of_served_models_hold_no_address() -> None:
    cells = make_experiment(LEAGUE | {"model": ["openai:org/m@http://node:1/v1", "pocket"]}).cells
    assert {cell.key[1] for cell in cells} == {"openai:org/m", "pocket"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": []}, "lineups[0]: 'models' needs models: list them in the key model"),
        ({"model": ["pocket", "pocket"]}, "model: contains a value twice"),
        ({"model": ["pockt"]}, "model"),
        ({"players": {"pocket": {"kind": "follower"}}, "model": "pocket"}, "'pocket' is taken"),
        ({"players": {"llm": {"kind": "llm"}}}, "players.llm: needs a model"),
    ],
)
def test_leagues_that_cannot_be_played_are_one_line(change, said) -> None:
    with pytest.raises(TomevalError) as caught:
        _ = make_experiment(LEAGUE | change, where="x.toml").cells
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_models_of_the_command_line_are_the_league() -> None:
    loaded = load_experiment("arena_league", model=["pocket", "scripted:arena"])
    assert {cell.key[1] for cell in loaded.cells} == {"pocket", "scripted:arena"}
    matrix = load_experiment("table_1", ["episodes=1"], ["pocket", "pocket-rational"])
    assert {c.spec.model_name for c in matrix.cells} - {""} == {"pocket", "pocket-rational"}
    with pytest.raises(TomevalError, match="players of decrypto share one model"):
        load_experiment("decrypto_quickstart", model=["pocket", "scripted:arena"])


def talks(experiment) -> dict[str, str]:
    return {cell.table.name: cell.table.rules.talk for cell in make_experiment(experiment).cells}


def test_language_models_talk_freely_unless_the_experiment_says_otherwise() -> None:
    scripts = {"players": {"a": {"kind": "follower"}}}
    lineup = {"game": "mafia", "subject": "a", "others": "a"}
    base = {"domain": "arena", "lineups": [lineup]}
    assert talks(base | scripts) == {"mafia": "none"}
    model = {"players": {"a": {"model": "pocket"}, "b": {"kind": "follower"}}}
    assert talks(base | model) == {"mafia": "free"}
    scoring = {"players": {"a": {"model": "pocket", "strategy": "LM"}}}
    assert talks(base | scoring) == {"mafia": "none"}
    # All line-ups of one game are of the same rules, so that players can be compared.
    more = {"lineups": [lineup, lineup | {"subject": "b", "others": "b"}]}
    assert talks(base | model | more) == {"mafia": "free"}
    for rules, expected in (({"talk": "none"}, "none"), ({"preset": "acts"}, "acts"), ({}, "free")):
        games = {"games": {"mafia": {"game": "mafia"} | rules}}
        assert talks(base | model | games) == {"mafia": expected}
    assert talks({"domain": "arena", "model": "pocket", "lineups": [
        {"game": "mafia", "subject": "models", "others": "models"}
    ]}) == {"mafia": "free"}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with tomeval.run(LEAGUE, tmp_path_factory.mktemp("league") / "run") as opened:
        yield opened


def board(run) -> tuple[list[dict], list[str]]:
    from tomeval.extensions.ratings.tables import rating_tables

    [table] = rating_tables(run, ["board"])
    return table.rows, table.notes


def test_the_board_by_hand(run) -> None:
    """Wins from the table of episodes, votes and what was named from those of steps and answers."""
    games, steps = run.episodes(), run.steps()
    seated = []
    for _, game in games.iterrows():
        others = game["others"]
        names = [game["player"]]
        for part in others.split(" + "):
            count, _, name = part.rpartition(" x ")
            names += [name] * int(count or 1)
        deal = f"{game['game']} {game['deal']}"
        for slot, seat in enumerate(json.loads(game["seats"])):
            won = json.loads(game["wins"])[seat]
            seated.append((game["game"], names[slot], deal, won))
    roles = {(g["cell"], g["episode"]): json.loads(g["roles"]) for _, g in games.iterrows()}
    deals = {(g["cell"], g["episode"]): g["deal"] for _, g in games.iterrows()}
    votes, chances = {}, {}
    ballots = steps[(steps["kind"] == "vote")]
    for (cell, episode, _), day in ballots.groupby(["cell", "episode", "stage"]):
        who = roles[cell, episode]
        for _, vote in day.iterrows():
            if who[vote["seat"]] == "mafia":
                continue
            hit = who[int(vote["action"])] == "mafia"
            votes.setdefault(vote["name"], []).append((hit, deals[cell, episode]))
            living = [who[seat] for seat in day["seat"]]
            chances.setdefault(vote["name"], []).append(living.count("mafia") / (len(living) - 1))
    rows, notes = board(run)
    assert [row["player"] for row in rows] == sorted(
        VOICES, key=lambda name: -next(r["score"] for r in rows if r["player"] == name)
    )
    assert notes == ["not in all games, so not on the board: follower, mixer"]
    for row in rows:
        parts = []
        for name in ("mafia", "blotto"):
            who = (name, row["player"])
            mine = [(won, deal) for game, one, deal, won in seated if (game, one) == who]
            won = [one for one, _ in mine]
            found = clustered_sums(won, np.ones(len(won)), [deal for _, deal in mine])
            assert row[f"{name}, win %"] == pytest.approx(100 * sum(won) / len(won))
            assert row[f"{name}, win %_ci95_low"] == pytest.approx(100 * found.low, nan_ok=True)
            parts.append((100 * found.share, 100 * found.low, 100 * found.high))
        mean = sum(share for share, *_ in parts) / 2
        below = math.hypot(*(share - low for share, low, _ in parts)) / 2
        above = math.hypot(*(high - share for share, _, high in parts)) / 2
        assert row["score"] == pytest.approx(mean)
        assert row["score_ci95_low"] == pytest.approx(mean - below, nan_ok=True)
        assert row["score_ci95_high"] == pytest.approx(mean + above, nan_ok=True)
        hits = [hit for hit, _ in votes[row["player"]]]
        assert row["votes_percent"] == pytest.approx(100 * np.mean(hits))
        assert row["votes_chance_percent"] == pytest.approx(100 * np.mean(chances[row["player"]]))
        own = steps[(steps["player"] == row["player"]) & (steps["game"] == "mafia")]
        told = [value for text in own["probes"].dropna() for value in json.loads(text).values()]
        named = [one["hit"] for one in told if one["probe"] == "mafia" and one["hit"] is not None]
        assert row["named_percent"] == pytest.approx(100 * np.mean(named))


def test_the_interval_of_a_score_by_hand() -> None:
    shares = [
        {"win_percent": 50.0, "win_percent_ci95_low": 40.0, "win_percent_ci95_high": 70.0},
        {"win_percent": 100.0, "win_percent_ci95_low": 80.0, "win_percent_ci95_high": 100.0},
    ]
    row = _score(shares)
    below, above = math.hypot(10, 20) / 2, 20 / 2
    assert [row[f"score{end}"] for end in ("", "_ci95", "_ci95_low", "_ci95_high")] == (
        pytest.approx([75.0, (below + above) / 2, 75.0 - below, 75.0 + above])
    )


def test_a_vote_that_was_drawn_for_a_player_is_none(tmp_path) -> None:
    lineups = [{"game": "mafia", "subject": "sloppy", "others": "sloppy", "episodes": 6}]
    data = {
        "domain": "arena",
        "players": {"sloppy": {"kind": "follower", "error_rate": 0.5}},
        "lineups": lineups,
        "on_invalid": "random",
        "attempts": 1,
        "seed": 1,
    }
    with tomeval.run(data, tmp_path / "run") as run:
        steps, games = run.steps(), run.episodes()
        counted = len(list(_voted(run)))
    roles = {(g["cell"], g["episode"]): json.loads(g["roles"]) for _, g in games.iterrows()}
    votes = steps[steps["kind"] == "vote"]
    of_village = [roles[v["cell"], v["episode"]][v["seat"]] != "mafia" for _, v in votes.iterrows()]
    valid = votes[of_village]["verdict"] == "valid"
    assert 0 < counted == valid.sum() < len(valid)


def test_what_a_player_plays_against_itself_alone_is_not_on_its_board(tmp_path) -> None:
    """One model and no other player: nobody won anything against anybody."""
    lineups = [{"game": "blotto", "subject": "models", "others": "models", "episodes": 2}]
    data = {"domain": "arena", "model": VOICES[0], "lineups": lineups}
    with tomeval.run(data, tmp_path / "run") as run, pytest.raises(TomevalError) as caught:
        board(run)
    assert "no player sat in every game (blotto) with others" in str(caught.value)


def test_more_games_of_one_kind_do_not_weigh_more(run, tmp_path) -> None:
    """The board of half of the games of one kind has the same score where each is like the last."""
    lineups = [dict(one) for one in LEAGUE["lineups"]]
    for one in lineups:
        one["episodes"] *= 2 if one["game"] == "blotto" else 1
    with tomeval.run(LEAGUE | {"lineups": lineups}, tmp_path / "run") as more:
        scores = {row["player"]: row for row in board(more)[0]}
    for row in board(run)[0]:
        parts = [scores[row["player"]][f"{name}, win %"] for name in ("mafia", "blotto")]
        assert scores[row["player"]]["score"] == pytest.approx(sum(parts) / 2)
        assert scores[row["player"]]["mafia, win %"] == row["mafia, win %"]
