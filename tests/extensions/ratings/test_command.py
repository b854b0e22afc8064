"""``tomeval ratings``: tables, notes, and one clear line where there is nothing to rate."""

from __future__ import annotations

import json

import pytest

from tomeval import run
from tomeval.extensions.ratings.tables import RATED

ARENA = {
    "domain": "arena",
    "episodes": 9,
    "on_invalid": "eliminate",
    "games": {"g": {"game": "ipd3", "talk": 0, "rounds": 4}},
    "players": {
        "noisy": {"kind": "tit_for_tat", "noise": 0.3},
        "sloppy": {"kind": "tit_for_tat", "error_rate": 0.2, "noise": 0.3},
        "chance": {"kind": "random"},
    },
    "lineups": [{"game": "g", "subject": "noisy", "others": ["sloppy", "chance"]}],
    "values": False,
    "probes": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arena") / "run"
    run(ARENA, folder).close()
    return folder


def test_all_tables_with_their_captions(tomeval, folder):
    code, out, errors = tomeval("ratings", folder, "--all")
    assert code == 0
    for caption in RATED.values():
        assert caption in out
    assert "note: clean games are not a random sample" in errors


def test_one_screen_has_every_player_once_for_all_and_for_clean_games(tomeval, folder):
    code, out, errors = tomeval("ratings", folder)
    lines = out.splitlines()
    assert (code, len(lines) <= 12) == (0, True)
    rated, erred = (
        json.loads(tomeval("ratings", folder, "--what", what, "--format", "json")[1])
        for what in ("ratings", "errors")
    )
    for row in rated:
        (line,) = (one for one in lines if one.split()[:2] == [row["subset"], row["player"]])
        assert line.split()[2] == f"{row['rating']:.0f}"
        assert f"{row['rank']} ({row['rank_low']} to {row['rank_high']})" in line
        (made,) = (e for e in erred if (e["player"], e["error"]) == (row["player"], "any"))
        of_clean = row["subset"] == "clean"
        assert line.split()[-1] == ("–" if of_clean else f"{made['witnessed_percent']:.2f}")
    assert "--all prints all tables" in errors
    code, _, errors = tomeval("ratings", folder, "--all", "--what", "errors")
    assert (code, "--all and --what cannot be combined" in errors) == (2, True)


def test_one_screen_shows_each_of_a_few_games(tomeval, tmp_path):
    few = ARENA | {"games": ARENA["games"] | {"h": {"game": "ipd3", "rounds": 5}}}
    lineups = [few["lineups"][0] | {"game": name} for name in ("g", "h")]
    run(few | {"lineups": lineups}, tmp_path / "run").close()
    (head,) = (
        line for line in tomeval("ratings", tmp_path / "run")[1].splitlines() if "g " in line
    )
    assert {"player", "rating", "g", "h"} <= set(head.split())


def test_one_table_for_programs(tomeval, folder):
    rows = json.loads(tomeval("ratings", folder, "--format", "json")[1])
    assert {row["subset"] for row in rows} <= {"all", "clean"}
    everything = [row for row in rows if row["subset"] == "all"]
    assert {row["player"] for row in everything} == {"noisy", "sloppy", "chance"}
    assert all(row["games"] == 9 and row["deals"] == 3 for row in everything)
    assert [row["rank"] for row in everything] == sorted(row["rank"] for row in everything)
    rows = json.loads(tomeval("ratings", folder, "--what", "errors", "--format", "json")[1])
    caused = {row["player"]: row["caused"] for row in rows if row["error"] == "any"}
    assert caused["noisy"] == caused["chance"] == 0 < caused["sloppy"]
    again = tomeval("ratings", folder, "--format", "json")[1]
    assert again == tomeval("ratings", folder, "--format", "json")[1]


def test_bad_options_are_one_line(tomeval, folder):
    code, out, errors = tomeval("ratings", folder, "--what", "errrors")
    assert (code, out) == (2, "")
    assert "unknown table 'errrors' (did you mean 'errors'?)" in errors
    code, _, errors = tomeval(
        "ratings", folder, "--format", "csv", "--what", "errors", "--what", "games"
    )
    assert code == 2
    assert "one --what" in errors
    assert len(errors.strip().splitlines()) == 1


def test_other_domains_have_no_ratings(tomeval, tmp_path):
    matrix = {"games": "IPD", "subjects": "random", "episodes": 1, "horizon": 3}
    run(matrix, tmp_path / "run").close()
    for options in ((), ("--what", "ratings")):
        code, out, errors = tomeval("ratings", tmp_path / "run", *options)
        assert (code, out) == (2, "")
        assert "of the domain 'matrix', which has no ratings" in errors
        assert len(errors.strip().splitlines()) == 1
