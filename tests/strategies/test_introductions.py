"""What stands above a marked line, with the verdict of somebody who reads it."""

from __future__ import annotations

import pytest

from tomeval.strategies.introductions import is_own
from tomeval.strategies.lines import split_lines, without_comments
from tomeval.strategies.remarks import leaves_no_doubt

OWN = (
    "When I weigh everything, I choose:",
    "Considering the possible responses, my final decision is:",
    "Let me answer:",
    "Now I can answer:",
    "I would say:",
    "I'd answer:",
    "Which action is best? Let me answer:",
    "Given that the other player would defect, I should choose:",
    "The answer in the requested form is:",
    "So my answer would be:",
    "After careful consideration of their last answer, I choose:",
    "The other player will choose:",
    "Thus the best response is:",
    "Hence, in round 7, I play:",
    "All in all:",
    "Weighing risk and reward:",
    "Decision:",
    "Final decision",
    "My choice for round 3 is:",
    "Based on their previous moves, I predict:",
    "So the prediction is:",
    "Since nobody has defected so far, I reply:",
    "This means that they will cooperate, and I answer:",
    "Given the pattern (they never change):",
    "Here's the line you asked for:",
    "Here is the answer in the format you requested:",
    "The line, as asked:",
    "As you requested:",
    "OK:",
    "In summary, I pick:",
    "Let's go with:",
)
NOT_OWN = (
    "Bob will answer:",
    "The partner is likely to reply:",
    "They might say:",
    "Your reply:",
    "You said:",
    "You would write:",
    "I might write:",
    "I could have said:",
    "In my first reply I had:",
    "Do I say:",
    "A wrong reply:",
    "Never write:",
    "One must not write:",
    "Nobody should answer:",
    "It makes no sense to say",
    "That's why I refuse to answer",
    "I won't say",
    "I hesitate to write",
    "I am tempted to write",
    "I almost wrote:",
    "I was told to say",
    "The prompt says to write",
    "The template is:",
    "An illustration, e.g.:",
    "Sample output:",
    "Bad answer:",
    "What would the opponent say?  Probably they'd say:",
    "Eve thinks:",
    "Imagine somebody saying:",
    "Should they defect, I would say:",
)


@pytest.mark.parametrize("line", OWN)
def test_the_writers_own(line):
    assert is_own([line])
    assert is_own(["They copy me.", f"**{line}**", "", "```", ""])


@pytest.mark.parametrize("line", NOT_OWN)
def test_somebody_elses(line):
    assert not is_own([line])
    assert not is_own(["They copy me.", f"**{line}**", "", "```", ""])


@pytest.mark.parametrize("line", NOT_OWN)
def test_a_sentence_that_has_ended_introduces_nothing(line):
    assert is_own([f"{line.rstrip(':')} nothing of the kind."])


@pytest.mark.parametrize(
    "mark", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_lines_end_where_a_reader_sees_them_end(mark):
    assert split_lines(f"a{mark}b\nc\rd\r\ne") == [f"a{mark}b\n", "c\r", "d\r\n", "e"]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n<!-- b\nc -->\nd", "a\n\nd"),
        ("a <!-- b --> c", "a <!-- b --> c"),  # a label may look like that
        ("<!-- b", ""),
        ("a <!-- b\nc", "a <!-- b\nc"),
        ("a <!-- b\nc -->d", "a d"),
        ("/* b\n*/c", "c"),
        ("```python\n# b\nc\n```\n# d", "```python\n\nc\n```\n# d"),
        ("```\n# b\n```", "```\n# b\n```"),
        ("# b", "# b"),
    ],
)
def test_comments(text, rest):
    assert without_comments(text) == rest


@pytest.mark.parametrize(
    ("remark", "clear"),
    [
        ("Cooperate", True),
        ("the safe choice", True),
        ("It has the highest expected payoff.", True),
        ("Since my partner repeats itself, this pays more.", True),
        ("Wait, the other one pays more.", False),
        ("my partner's move, since it pays more for them", False),
        ("This pays more, doesn't it?", False),
        ("This pays more, though I may be wrong.", False),
        ("One two three four five six.", False),  # gives no reason
        ("p = 0.5", False),
    ],
)
def test_remarks(remark, clear):
    assert leaves_no_doubt(remark) is clear
    assert not leaves_no_doubt(f"{remark} J", ["J"])
