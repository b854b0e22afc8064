"""People at the terminal: input is judged as every player's, and what is hidden stays hidden."""

from __future__ import annotations

import io

import pytest
from support import Typing

from tomeval.core.errors import TomevalError
from tomeval.core.printing import Console
from tomeval.games.arena.described import sit
from tomeval.games.game import Form
from tomeval.games.people.session import play_session, typed


def sit_down(game, lines, others=(), **more):
    screen = io.StringIO()
    keys = Typing(lines, screen)
    sitting = sit(game, others, **more)
    over = play_session(sitting, Console(keys, screen))
    return sitting.played if over else None, screen.getvalue(), keys.seen


IPD = {"talk": 0, "rounds": 2}


def test_a_game_to_its_end():
    lines = ["cooperate defect", "cooperate, DEFECT"]
    played, screen, _ = sit_down("ipd3", lines, ["tit_for_tat"], rules=IPD)
    # Round 1: both others cooperate; I get 3 + 5. Round 2: the second one pays back; 3 + 1.
    assert played.rewards[0] == 12
    assert "You are Player 0" in screen
    assert "End of round 2 of 2. Points: you 12 (+4)" in screen
    assert "The game is over" in screen
    assert "Player 0 (you): reward 12" in screen
    assert "Player 2 (tit_for_tat): reward 7" in screen


def test_any_seat_and_the_same_deal_again():
    for seat in range(3):
        played, screen, _ = sit_down("ipd3", ["defect defect"] * 2, ["grim"], seat=seat, rules=IPD)
        assert f"You are Player {seat}." in screen
        assert played.seats[0] == seat
        assert played.rewards[seat] == 10 + 2
    with pytest.raises(TomevalError, match=r"--seat 3: no such seat; the seats are 0 \(Pla"):
        sit_down("ipd3", [], ["grim"], seat=3, rules=IPD)


def test_the_key_stays_hidden_from_operatives():
    rules = {"red": 3, "blue": 3, "neutral": 2, "assassin": 1}
    _, screen, seen = sit_down("codenames", ["pass"] * 20, ["scripted:arena"], seat=1, rules=rules)
    assert seen
    board = screen.partition("The board:\n")[2].partition("\n\n")[0].split("\n")
    assert len(board) == 9
    for text in seen:
        told = text.partition("The board:\n")[2]
        uncovered = [line for line in told.split("\n") if "uncover" in line]
        for word in board:
            shown = [c for c in ("red", "blue", "neutral", "assassin") if f"{word}: {c}" in told]
            assert bool(shown) == any(f" {word}: " in line for line in uncovered)
            assert f"{word} (" not in told


@pytest.mark.parametrize("seat", range(6))
def test_roles_stay_hidden(seat):
    lines = ["1", "2", "3", "4", "5", "0", "silent"] * 60
    _, screen, seen = sit_down(
        "mafia", lines, ["scripted:arena"], seat=seat, rules={"talk": "acts"}
    )
    role = screen.partition("Your role: ")[2].partition(".")[0]
    assert role
    for text in seen:
        for other in {"doctor", "detective", "villager"} - {role}:
            assert f"role {other}" not in text
            assert f"({other})" not in text
        assert role == "Mafia" or "The Mafia:" not in text
        assert "of the Mafia votes" not in text
    assert "Try again" in screen  # some of the numbers name the dead, or oneself


@pytest.mark.parametrize(
    ("line", "form", "items"),
    [
        ("Player 2", Form("vote", str, 1, ("Player 1", "Player 2")), ["Player 2"]),
        ("3", Form("vote", int, 1, ("1", "3")), [3]),
        ("Player 3", Form("vote", int, 1, ("1", "3")), [3]),
        ("5 10 5", Form("allocation", int, 3), [5, 10, 5]),
        ("[5, 10, 5]", Form("allocation", int, 3), [5, 10, 5]),
        ("-1", Form("count", int), [-1]),
        ("2-4-1", Form("code", int, 3), [2, 4, 1]),
        ("241", Form("code", int, 3), [2, 4, 1]),
        ("ocean 2", Form("clue", str, 0), ["ocean", "2"]),
        ("New York, 2", Form("clue", str, 0), ["New York", "2"]),
        ("I say: [no], {no}.", Form("message", str), ["I say: [no], {no}."]),
        ("", Form("message", str), [""]),
    ],
)
def test_what_people_type(line, form, items):
    assert typed(line, form) == items


def test_the_command(tomeval):
    code, out, _ = tomeval("play", "ipd3", "--other", "grim", "--seat", 2,
        "--set", "talk=0", "--set", "rounds=1", stdin="defect defect\n",
    )  # fmt: skip
    assert code == 0
    assert "Player 2 (you): reward 10" in out
    for arguments, message in (
        (("bloto",), "did you mean 'blotto'"),
        (("ipd3", "--other", "grimm"), "did you mean 'grim'"),
    ):
        code, _, error = tomeval("play", *arguments)
        assert code == 2
        assert message in error
        assert len(error.strip().splitlines()) == 1
