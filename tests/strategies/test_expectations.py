"""What a text names as expected: stated forms, what takes them back, and hostile texts."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.strategies.expectations import last_expectation

LABELS = ("J", "F", "B")

NAMED = [
    ("The other player always chose J. I expect J. I choose F.", 0),
    ("They'll most likely play F again, so I pick B.", 1),
    ("Given the pattern, it is very likely that they will choose J again.", 0),
    ("I predict that the opponent will go with B this round.", 2),
    ("My prediction for the other player: **F**", 1),
    ("Prediction: they will play J", 0),
    ("Their next move will probably be B.", 2),
    ("J is the most likely choice of the other player", 0),
    ("Most likely, the other player's next action is F.", 1),
    ("I expect the other player to choose option J.", 0),
    ("Based on the pattern, the other player is likely to continue choosing F.", 1),
    ("Since they always choose B, I should choose F.", 2),
    ("it's probable that player 2 will select J.", 0),
    ("I expect them to stick with 'B'.", 2),
    ("Assuming the other player sticks with J, the best response is F.", 0),
    ("Expected opponent action: J", 0),
    ("I expect J. But wait: they have switched twice. So I expect F after all.", 1),
    ("I expect **J**\n\nFinal answer: F", 0),
]
UNNAMED = [
    "If the other player chooses J, I get 3.",
    "The other player will not choose J.",
    "The opponent will choose J or F.",
    "I think J is best for me.",
    "I will choose J.",
    "The other player chose J in round 3.",
    "I expect to choose J.",
    "They might choose J.",
    "You think the other player will choose J in round 3 of 10.",
    "If I play J now, the other player will choose F next.",
    "I doubt that they will choose J.",
    "Nothing can be said.\n\nFinal answer: J",
    "They will just keep going, I expect.",
]


@pytest.mark.parametrize(("text", "label"), NAMED)
def test_named(text: str, label: int) -> None:
    found = last_expectation(text, LABELS)
    assert found is not None
    assert found.label == label


@pytest.mark.parametrize("text", UNNAMED)
def test_unnamed(text: str) -> None:
    assert last_expectation(text, LABELS) is None


def test_labels_of_one_letter_are_read_as_written_others_in_any_case() -> None:
    assert last_expectation("I expect b, as always.", ("A", "B")) is None
    found = last_expectation("The opponent will surely cooperate.", ("Cooperate", "Defect"))
    assert found is not None
    assert found.label == 0
    # a label within a longer one, and one with marks of regular expressions
    assert last_expectation("I expect JJ.", ("J", "JJ")).label == 1  # type: ignore[union-attr]
    assert last_expectation("I expect (J.", ("(J", "F")) is not None
    assert last_expectation("I expect Jo.", ("J", "F")) is None


@settings(max_examples=60, deadline=None)
@given(st.permutations([0, 1, 2]), st.sampled_from([text for text, _ in NAMED]))
def test_relabelled_texts_name_the_relabelled_action(order: list[int], text: str) -> None:
    before = last_expectation(text, LABELS)
    after = last_expectation(text, tuple(LABELS[i] for i in order))
    assert before is not None
    assert after is not None
    assert order[after.label] == before.label


@pytest.mark.parametrize(
    "part",
    ["they will ", "I expect J or ", "I expect J", "the same ", "prediction of the ", '"*_', " "],
)
def test_hostile_texts_take_time_in_proportion_to_their_length(part: str) -> None:
    def seconds(size: int) -> float:
        text = f"they will {part * (size // len(part))}"
        begun = time.process_time()
        last_expectation(text, LABELS)
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(60_000) < 16 * seconds(15_000) + 0.5  # four times the text, with room
