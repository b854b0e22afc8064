"""Trajectories of games played elsewhere: what is read, what is refused, what they become."""

from types import SimpleNamespace

import pytest
from extensions.trajectories.trajectory_files import finish, lines_of, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import ANYTHING
from typer.testing import CliRunner

from tomeval.cli.app import app
from tomeval.core.errors import TomevalError
from tomeval.extensions.trajectories import Line, recorded_games
from tomeval.games.arena.results import SCHEMA
from tomeval.runs.results import Run

NAMES = {"ThreePlayerIPD-v0": 3, "ColonelBlotto-v0": 2, "SecretMafia-v0": 6, "Codenames-v0": 4}


def ipd_lines(players=("ann", "bob", "cal")):
    """Player 0 defects on both, always; the others cooperate with everybody.

    By hand: 0 gets 5 + 5 a round, so 50 points; 1 and 2 get 0 + 3, so 15. TextArena spreads the two
    different scores over -1 and 1.
    """
    decisions = [
        "[1 defect] [2 Defect]",
        "[0 cooperate][2 cooperate]",
        "I say [0 cooperate] and [1 cooperate].",
    ]
    lines = []
    for _ in range(5):
        lines += [{"seat": seat, "action": f"hello from {seat}"} for seat in range(3)]
        lines += [{"seat": seat, "action": decisions[seat]} for seat in range(3)]
    finish(lines, "ThreePlayerIPD-v0", "m1", (1.0, -1.0, -1.0), players)
    return lines


def blotto_lines(first="[A10 B10]", rewards=(1.0, -1.0), episode=7):
    """Seat 0 takes two of three fields in every round, 10 and 10 against 7, 7, 6: three rounds."""
    lines = [{"seat": s, "action": (first, "A7 B7 C6")[s]} for _ in range(3) for s in (0, 1)]
    finish(lines, "ColonelBlotto-v0-small", episode, rewards)
    return lines


def one_cell(path, **keys):
    """Return the definition of the only cell of games, and what was played as rows.

    Episodes are (episode, status, steps, *own), steps (episode, step, *columns).
    """
    ((definition, records),) = recorded_games(path, **keys).cells
    names = ("step", *SCHEMA.steps)
    rows = [
        (one.episode, *row) for one in records for row in one.rows("steps", names, SCHEMA.asked)
    ]
    episodes = [(one.episode, one.status, one.steps, *one.own.values()) for one in records]
    answers = [row for one in records for row in one.answers]
    return definition, SimpleNamespace(episodes=episodes, steps=rows, answers=answers)


def test_a_game_by_hand(tmp_path):
    path = write(tmp_path / "t.jsonl", ipd_lines())
    definition, block = one_cell(path)
    assert [p["name"] for p in definition["players"]] == ["ann", "bob", "cal"]
    assert definition["game"]["rules"]["rules"] == "textarena-0.7.4"
    ((index, status, steps, _, role, reward, won, rounds, ending, *_),) = block.episodes
    assert (index, status, steps, role, reward, won) == (0, "complete", 30, "player", 1.0, 1.0)
    assert (rounds, ending) == (5, "played")
    rows = list(block.steps)
    assert rows[3][2:9] == (3, 1, 0, 0, "moves", ("defect", "defect"), "valid")
    assert all(row[9] == "valid" and row[10] == 1 for row in rows)
    assert all(value is None for row in rows for value in row[13:21])  # nothing is made up
    assert block.answers == []


@pytest.mark.parametrize(("name", "seats"), NAMES.items())
def test_random_games_come_back(tmp_path, name, seats):
    games = [lines_of(name, seats, f"g{seed}", seed) for seed in range(5)]
    path = write(tmp_path / "t.jsonl", *(lines for lines, _, _ in games))
    _, block = one_cell(path)
    for (lines, game, state), episode in zip(games, block.episodes, strict=True):
        assert episode[2] == len(lines)
        assert episode[8] == game.ending(state)
        assert list(episode[12]) == list(game.rewards(state))
        assert list(episode[10]) == list(game.roles(state))
    rows = [row for row in block.steps if row[0] == 0]
    assert [row[9] for row in rows] == ["valid"] * len(rows)
    assert sorted(row[4] for row in rows) == sorted(line["seat"] for line in games[0][0])


def test_unreadable_decisions_count_as_errors_although_textarena_cooperated(tmp_path):
    lines = ipd_lines()
    own = [line for line in lines if line["seat"] == 1 and "cooperate" in line["action"]]
    own[0]["action"] = "I will cooperate with everyone."
    own[1]["action"] = "[0 cooperate] [2 cooperate] [2 defect] [2 cooperate]"
    own[2]["action"] = "[7 defect] [0 cooperate] [2 cooperate]"
    _, block = one_cell(write(tmp_path / "t.jsonl", lines))
    wrong = [row for row in block.steps if row[8] != "valid"]
    assert [(row[4], row[8], row[9], row[10], row[11]) for row in wrong] == [
        (1, "default", "unparsable", 1, "format"),
        (1, "default", "unparsable", 1, "format"),
        (1, "default", "illegal", 1, "target"),
    ]
    assert all(row[7] == ("cooperate", "cooperate") for row in wrong)  # what counted


def test_a_refused_text_is_an_attempt_and_the_second_costs_the_match(tmp_path):
    lines = blotto_lines()
    again = [dict(line) for line in lines]
    again.insert(2, {**again[2], "action": "[A10 B11]"})
    finish(again, "ColonelBlotto-v0-small", 1, (1.0, -1.0))
    lost = [dict(line) for line in lines[:2]]
    lost += [{**lost[0], "action": "[A10 B11]"}, {**lost[0], "action": "none"}]
    finish(lost, "ColonelBlotto-v0-small", 2, (-1.0, 1.0))
    _, block = one_cell(write(tmp_path / "t.jsonl", again, lost))
    first, second = ([row for row in block.steps if row[0] == i] for i in (0, 1))
    assert (first[2][8:11], [*map(list, first[2][12])]) == (
        ("valid", "valid", 2),
        [["rule", "the units add up to 21, not to 20"]],
    )
    assert (second[2][7], *second[2][8:12]) == (None, "fatal", "unparsable", 2, "format")
    assert [(e[5], e[8]) for e in block.episodes] == [(1.0, "majority"), (-1.0, "forfeit")]


def mafia_lines():
    """Seat 0, Mafia, is eliminated in the first night; 4 dies in it; the day takes 1, the Mafia."""
    roles = ["mafia", "mafia", "doctor", "detective", "villager", "villager"]
    said = [(0, "kill somebody"), (0, "[77]"), (1, "I want [Player 4]"), (2, "[5]"), (3, "[1]")]
    said += [(seat, f"talk {n}") for n in range(3) for seat in (5, 2, 1, 3)]
    said += [(seat, "[2] no,\n[1]" if seat == 1 else "[1]") for seat in (3, 1, 5, 2)]
    lines = [{"seat": seat, "action": text} for seat, text in said]
    finish(lines, "SecretMafia-v0", "m", (-1.0, -1.0, 1.0, 1.0, 1.0, 1.0))
    lines[0] |= {"deal": roles}
    return lines


def test_the_second_refused_vote_in_a_row_eliminates(tmp_path):
    _, block = one_cell(write(tmp_path / "t.jsonl", mafia_lines()))
    rows = list(block.steps)
    assert (rows[0][4], rows[0][8], rows[0][10], rows[0][11]) == (0, "fatal", 2, "target")
    assert [entry[0] for entry in rows[0][12]] == ["format", "target"]
    assert [row[7] for row in rows[1:4]] == [4, 5, 1]
    assert [(row[4], row[7]) for row in rows[-4:]] == [(3, 1), (1, 2), (5, 1), (2, 1)]
    assert block.episodes[0][8] == "village"
    assert block.episodes[0][14][0] == (0, "kill", "eliminate")


def changed(lines, place, **values):
    copied = [dict(line) for line in lines]
    copied[place] |= values
    return copied


BAD = {
    # Python turns no text of 5,000 digits into a number.
    "an endless number": (lambda x: changed(x, 0, action=f"[A{'9' * 5000}]"), r"line \d+, \w+:"),
    "a step is missing": (lambda x: [*x[:2], *x[3:]], r"line 3, step: 3 where 2"),
    "it breaks off": (lambda x: x[:4], r"line 4, (step|rewards)"),
    "it goes on": (
        lambda x: [*x, {**x[0], "step": 6}],
        r"line 7, step: 6, but game '7' had already ended",
    ),
    "seats out of order": (lambda x: changed(x, 3, seat=0), r"line 4, seat: 0 acts"),
    "unknown game": (
        lambda x: [{**line, "game": "ColonelBloto-v0-small"} for line in x],
        r"line 1: unknown game 'ColonelBloto-v0-small' \(did you mean 'ColonelBlotto-v0-small'",
    ),
    "another reward": (
        lambda x: changed(x, 5, rewards=[-1.0, -1.0]),
        r"line 6, rewards: -1 for seat 0, but",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_line_that_names_the_place(tmp_path, name):
    change, words = BAD[name]
    path = write(tmp_path / "t.jsonl", change(blotto_lines()))
    with pytest.raises(TomevalError, match=words) as caught:
        recorded_games(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_deal_that_cannot_be_told(tmp_path):
    lines, _, _ = lines_of("SecretMafia-v0", 6, "m", 1)
    roles = {}
    for line in lines:
        if "Your role: " in line["observation"]:
            roles[line["seat"]] = line["observation"].split("Your role: ")[1].split("\n")[0].lower()
    blank = [{**line, "observation": None} for line in lines]
    with pytest.raises(TomevalError, match="line 1, observation: "):
        recorded_games(write(tmp_path / "a.jsonl", blank))
    given = [roles.get(seat, "villager") for seat in range(6)]
    ((definition, _),) = recorded_games(
        write(tmp_path / "b.jsonl", changed(blank, 0, deal=given))
    ).cells
    assert definition["deals"] == [given]
    wrong = ["mafia", *given[1:]] if given[0] != "mafia" else ["villager", *given[1:]]
    with pytest.raises(TomevalError, match="line 1, deal: the roles are unknown"):
        recorded_games(write(tmp_path / "c.jsonl", changed(blank, 0, deal=wrong)))


def test_the_subject_is_who_is_asked_for(tmp_path):
    path = write(tmp_path / "t.jsonl", ipd_lines())
    definition, block = one_cell(path, subject="cal")
    assert [p["name"] for p in definition["players"]] == ["cal", "ann", "bob"]
    assert block.episodes[0][5] == -1.0
    assert list(block.episodes[0][9]) == [2, 0, 1]
    with pytest.raises(TomevalError, match="did you mean 'cal'"):
        recorded_games(path, subject="call")


@pytest.mark.parametrize(("name", "seats"), NAMES.items())
def test_as_a_run(tmp_path, name, seats):
    players = [f"p{seat}" for seat in range(seats)]
    games = [lines_of(name, seats, f"g{seed}", seed, players)[0] for seed in range(3)]
    path = write(tmp_path / "t.jsonl", *games)
    out = tmp_path / "run"
    ran = CliRunner().invoke(app, ["import", str(path), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    with Run(out) as run:
        (cell,) = run.cells
        rewards = cell.played.by_game["reward"].tolist()
        assert len(rewards) == 3
        assert rewards == [lines[-1]["rewards"][0] for lines in games]
    told = CliRunner().invoke(app, ["transcript", str(out), "--episode", "2"])
    assert told.exit_code == 0, told.output
    assert "p1" in told.output
    assert CliRunner().invoke(app, ["table", str(out)]).exit_code == 0
    assert CliRunner().invoke(app, ["import", str(path), "--out", str(out)]).exit_code != 0


TEXTS = ["SecretMafia-v0", "[1]", "[A20]", "[0 defect] [1 defect]", "mafia", f"[{'9' * 5000}]"]
FIXTURE = [HealthCheck.function_scoped_fixture]  # every example writes the file anew


@settings(max_examples=60, deadline=None, suppress_health_check=FIXTURE)
@given(data=st.data())
def test_whatever_stands_in_a_field_is_read_or_one_line(tmp_path, data):
    lines = data.draw(st.sampled_from([ipd_lines(), blotto_lines(), mafia_lines()]))
    place = data.draw(st.integers(0, len(lines) - 1))
    name = data.draw(st.sampled_from([*Line.model_fields, "other"]))
    path = write(
        tmp_path / "t.jsonl",
        changed(lines, place, **{name: data.draw(st.none() | ANYTHING | st.sampled_from(TEXTS))}),
    )
    try:
        made = recorded_games(path)
    except TomevalError as error:
        assert "\n" not in str(error)  # noqa: PT017 (both are right)
    else:
        assert len(made.cells) == 1
