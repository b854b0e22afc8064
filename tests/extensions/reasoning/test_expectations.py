"""What a text names as expected: stated forms, what takes them back, and hostile texts."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_reader import INVENTED, RIGHT, WRONG, corpus, count, voices

from tomeval.extensions.reasoning.expectations import last_expectation

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
    ("They're going to play F, so I do, too.", 1),
    (
        "There is about a 70% chance that they will choose J, and a 30% chance that they choose F.",
        0,
    ),
    ("They will choose J now. In the next round they will choose F.", 0),
    ("In the next round they will choose F.", 1),
    ("If the pattern holds, they will choose B.", 2),
    ("So J from them, and F from me.", 0),
]
UNNAMED = [
    "If the other player chooses J, I get 3.",
    "The other player will not choose J.",
    "The opponent will choose J or F.",
    "I think J is best for me.",
    "I will choose J.",
    "The other player chose J in round 3.",
    "The other player now always chose J and the other player chose B.",
    "I expect to choose J.",
    "They might choose J.",
    "You think the other player will choose J in round 3 of 10.",
    "If I play J now, the other player will choose F next.",
    "I doubt that they will choose J.",
    "Nothing can be said.\n\nFinal answer: J",
    "They will just keep going, I expect.",
    "I expect J to pay more.",
    "I hope that they will choose J.",
    "They want me to think that they will choose J.",
    "Assuming the other player plays J, F pays 10. Assuming the other player plays F, F pays 5.",
    "Eventually the other player will choose J.",
    "There is a 30% chance that the other player will choose J.",
    "They will choose J... or will they? I can't tell.",
    "I thought they would choose J.",
    "Will they choose J? They will choose J?",
    "They will choose J. Wait, that is not so: they switched to F in round 3. It must be F.",
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
    [
        "they a b c ",
        "wait they J ",
        "assuming they choose J ",
        "I expect J or ",
        "prediction of the ",
        '"*_',
        " ",
    ],
)
def test_hostile_texts_are_read_to_their_end(part: str) -> None:
    """What tries all ways to read 30,000 characters does not come back for minutes."""
    last_expectation(f"they will {part * (30_000 // len(part))}", LABELS)


def test_verbs_are_labels_too():
    labels = ("Cooperate", "Defect")
    for text, label in (
        ("They will keep cooperating.", 0),
        ("I expect them to continue defecting.", 1),
        ("The opponent is likely to defect again.", 1),
    ):
        found = last_expectation(text, labels)
        assert found is not None, text
        assert found.label == label


def test_the_corpus_of_reasoning_is_read_as_docs_measures_says():
    texts = corpus()
    assert len(texts) >= 350
    assert len({text.voice for text in texts}) >= 15
    halves = Counter(text.held_out for text in texts)
    assert min(halves.values()) >= 150
    found = count(texts)
    assert found[WRONG] + found[INVENTED] <= 3, found  # of 150 to 200 that are read
    assert found[RIGHT] >= 0.8 * sum(bool(text.expects) for text in texts), found
    heard = count(voices())
    assert heard[WRONG] + heard[INVENTED] == 0, heard


def test_letters_that_grow_in_lower_case_do_not_shift_the_end_of_the_reasoning():
    said = "ß" * 40 + " Hm.\nFinal answer: I expect J."
    assert last_expectation(said, LABELS) is None
