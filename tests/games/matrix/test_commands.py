"""``tomeval import`` of logs from elsewhere, and every verb on the run."""

from __future__ import annotations

import csv
import io
import json

import pytest

MOVES = {"C": "Cooperate", "D": "Defect"}
ROWS = [
    (who, condition, "ipd", bot, match, step, MOVES[own], MOVES[theirs], said)
    for who in ("Ann", "ben")
    for condition in ("calm", "hurried")
    for bot in ("TIT_for_tat", "")
    for match, moves in enumerate(("CC DC DD", "CC CC DC", "DC DD CD"))
    for step, (own, theirs) in enumerate(moves.split(), 1)
    for said in ("" if (match, step) == (0, 2) else MOVES[theirs],)
]
HEAD = ("participant", "condition", "game", "bot", "match", "round", "choice", "their", "guess")
HOW = ("--map", "own_action=choice", "--map", "partner_action=their", "--map", "step=round")
HOW += ("--map", "episode=match", "--map", "predicted_action=guess")
HOW += ("--by", "participant,condition", "--map", "partner=bot")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "games.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *ROWS])
    return path


def test_rows_of_a_table_and_of_its_matches(tomeval, log, tmp_path) -> None:
    assert tomeval("import", log, *HOW, "--out", tmp_path / "run")[0] == 0
    code, out, errors = tomeval("table", tmp_path / "run", "--format", "json")
    assert code == 0
    rows = json.loads(out)
    keys = [(row["subject"], row["condition"], row["partners"]) for row in rows]
    assert len(keys) == len(set(keys)) == 8
    assert {row["game"] for row in rows} == {"IPD"}
    # against tit for tat: 8 + 10 + 5, 8 + 8 + 10 and 10 + 5 + 0 where 26 could be had
    known = [row for row in rows if row["partners"] == "tit_for_tat"]
    assert [row["delta_functional_per_step"] for row in known] == [
        pytest.approx((3 + 0 + 11) / 9)
    ] * 4
    assert "hindsight" in errors
    exported = tomeval("export", tmp_path / "run", "--what", "episodes")[1]
    rows = [r for r in csv.DictReader(io.StringIO(exported)) if r["partners"] == "tit_for_tat"]
    assert len(rows) == 4 * 3
    for row in rows:
        lost = {"0": 3, "1": 0, "2": 11}[row["match"]]
        assert float(row["delta_functional_per_step"]) == pytest.approx(lost / 3)
        assert (row["partner"], row["status"], row["steps"]) == ("tit_for_tat", "complete", "3")


def test_bad_input_is_one_message(tomeval, log) -> None:
    log.write_text(log.read_text().replace("ate,Cooperate,", "ate,X,", 1))
    code, out, errors = tomeval("import", log, *HOW, "--out", log.parent / "run")
    assert (code, out) == (2, "")
    assert errors.startswith(f"tomeval: {log}, line 2: their 'X' is neither")
    assert not (log.parent / "run").exists()
    code, out, errors = tomeval("import", log, *HOW, "--skip-bad", "--out", log.parent / "run")
    assert code == 0
    assert "left out: 1 match\n" in errors
    assert "line 2, match '0' (3 rows): their 'X' is neither" in errors


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--map", "own_action"), "--map 'own_action': write FIELD=COLUMN"),
        (("--map", "step=rund"), "--map: 'step' is given twice"),
        (("--partner", "unknown"), "--partner and --map partner=COLUMN cannot be combined"),
        (("--labels", "neutrl"), "did you mean 'neutral'?"),
    ],
)
def test_options_that_do_not_fit(tomeval, log, more, message) -> None:
    code, _, errors = tomeval("import", log, *HOW, *more)
    assert code == 2
    assert message in errors
