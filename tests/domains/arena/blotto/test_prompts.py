"""What language models are told of Blotto: read whole, and worked examples that are right."""

import json
import re

import pytest

from tomeval.domains.arena.game import Ask
from tomeval.domains.arena.games.blotto.allocations import result
from tomeval.domains.arena.games.blotto.rules import Blotto, BlottoRules, State
from tomeval.strategies.templates import Prompts

GAME = Blotto(BlottoRules(fields=3, units=6, rounds=5))
ASK = Ask(1, "allocate")


def told(template, game=GAME, state=None, seat=1, **more):
    view = game.view(State() if state is None else state, seat)
    return Prompts("arena").render(f"blotto/{template}", game=game, view=view, **more)


def test_rules_say_what_the_game_does():
    text = told("rules")
    assert "against Player 0. You are Player 1." in text
    assert "There are 3 fields: A, B, C." in text
    assert "exactly 6 units" in text
    assert "A player who has taken 3 rounds wins the match at once." in text
    assert "after 5 rounds" in text
    assert text.endswith("a win is worth 1, a tie 0, a loss -1.")
    one = told("rules", Blotto(BlottoRules(fields=26, units=5, rounds=1, win=2.5, loss=0.5, tie=1)))
    assert "There is one round. The player who takes it wins the match." in one
    assert "a win is worth 2.5, a tie 1, a loss 0.5" in one
    assert "Y, Z" in one
    each = told("rules", Blotto(BlottoRules(rounds=4, reward="rounds")))
    assert "All 4 rounds are played." in each
    assert "taking all is worth 1, as many as the other player 0, losing all -1" in each
    assert "at once" not in each


@pytest.mark.parametrize("seat", [0, 1])
def test_events_are_told_from_the_seat_that_reads_them(seat):
    state = GAME.outcomes(State(), {0: (0, 3, 3), 1: (2, 2, 2)})[0][1]
    state = GAME.outcomes(state, {0: (2, 2, 2), 1: (2, 2, 2)})[0][1]
    state = GAME.struck(state, ASK, "forfeit")
    lines = [told("event", GAME, state, seat, event=event) for event in GAME.events(state)]
    expected = [
        [
            "Round 1: you A 0, B 3, C 3; Player 1 A 2, B 2, C 2. You take the round. Rounds taken:"
            " you 1, Player 1 0.",
            "Round 2: you A 2, B 2, C 2; Player 1 A 2, B 2, C 2. A tie. Rounds taken: you 1, Player"
            " 1 0.",
            "Player 1 has lost the match by breaking its rules.",
        ],
        [
            "Round 1: you A 2, B 2, C 2; Player 0 A 0, B 3, C 3. Player 0 takes the round. Rounds"
            " taken: you 0, Player 0 1.",
            "Round 2: you A 2, B 2, C 2; Player 0 A 2, B 2, C 2. A tie. Rounds taken: you 0, Player"
            " 0 1.",
            "You have lost the match by breaking its rules.",
        ],
    ]
    assert lines == expected[seat]


def test_questions_name_round_score_and_form():
    state = GAME.outcomes(State(), {0: (0, 3, 3), 1: (2, 2, 2)})[0][1]
    text = told("ask/allocate", GAME, state, ask=ASK)
    assert "This is round 2 of at most 5. Rounds taken: you 0, Player 0 1." in text
    assert "Give 3 whole numbers, in the order A, B, C, that add up to 6." in text
    (probe,) = GAME.probes(GAME.view(state, 1), ASK)
    text = told(f"probe/{probe.name}", GAME, state, probe=probe, ask=ASK)
    assert "How many units does Player 0 put on each field in this round?" in text


def test_the_worked_examples_are_right():
    """Answers are legal on the board that they name, and do what their reasoning says."""
    text = told("examples/allocate", marker="Final answer:")
    assert "12 units are divided among 4 fields" in text
    board = Blotto(BlottoRules(fields=4, units=12, rounds=7))
    answers = [json.loads(found)["allocation"] for found in re.findall(r"Final answer: (.*)", text)]
    against = [(6, 6, 0, 0), (5, 4, 3, 0), (3, 3, 3, 3)]
    assert len(answers) == 3
    for answer, other in zip(answers, against, strict=True):
        assert board.broken(answer) is None
        assert result(answer, other) == 1
    assert result(answers[2], against[0]) == -1
