"""The reader of generated answers against a table of cases and an independent, strict reader."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tomeval.strategies.readers import MARKER, JsonShape, Labels, visible

JF = ("J", "F")


def read(text, labels=JF, finish="stop"):
    outcome, action, _ = Labels(labels).read(text, finish)
    assert (action is not None) == (outcome == "valid")
    return outcome if action is None else labels[action]


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: J",
        "final ANSWER: j",
        "Final answer:J",
        "  Final answer:   J  ",
        "Final answer: J.",
        "Final answer: **J**",
        "Final answer: *J*",
        "Final answer: `J`",
        'Final answer: "J"',
        "Final answer: “J”",
        "Final answer: 'J'.",
        "Final answer: **J.**",
        "**Final answer: J**",
        "**Final answer:** J",
        "**Final answer**: J",
        "**Final answer:** **J**",
        "__Final answer:__ J",
        "*Final answer:* J.",
        '"Final answer: J"',
        "`Final answer: J`",
        "F looks bad.\nFinal answer: J",
        "I would say Final answer: F, but no.\nFinal answer: J",
        "Final answer: J\n\n   \n",
        "{'answer': 'F'}\nFinal answer: J",
        "<think>Final answer: F</think>\nFinal answer: J",
        "Final answer: F</think>Final answer: J",
        "<THINK>F</THINK>Final answer: J",
        "<think>a<think>b</think>c</think>Final answer: J",
        "Final answer: J\r\n",
    ],
)
def test_accepted(text):
    assert read(text) == "J"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", "unparsable"),
        ("J", "unparsable"),
        ("I choose J.", "unparsable"),
        ("Answer: J", "unparsable"),
        ("The final answer: J", "unparsable"),
        ("Final answer is J", "unparsable"),
        ("Final answers: J", "unparsable"),
        ("Final answer: J\nUnless F is better.", "unparsable"),
        ("Final answer: J\nFinal answer: F", "unparsable"),
        ("Final answer: J\nFinal answer: J", "unparsable"),
        ("**Final answer:** F\nFinal answer: J", "unparsable"),
        ("Final answer:\nJ", "unparsable"),
        ('{"answer": "J"}', "unparsable"),
        ("ﬁnal answer:J", "unparsable"),
        ("<think>Final answer: J</think>", "unparsable"),
        ("Final answer: J</think>", "unparsable"),
        ("Final answer:", "illegal"),
        ("Final answer: ...", "illegal"),
        ("Final answer: J or F", "illegal"),
        ("Final answer: not J", "illegal"),
        ("Final answer: J!", "illegal"),
        ("Final answer: J..", "illegal"),
        ("Final answer: JJ", "illegal"),
        ("Final answer: J (or F)", "illegal"),
        ("Final answer: Ј", "illegal"),  # Cyrillic
        ("Final answer: Ｊ", "illegal"),  # full width
        ("Final answer: K", "illegal"),
        ("Final answer: [J]", "illegal"),
        ("Final answer: **J", "illegal"),
        ("<think>J", "truncated"),
        ("<think>Final answer: J", "truncated"),
        ("<think>a</think>b<think>\nFinal answer: J", "truncated"),
    ],
)
def test_rejected(text, outcome):
    assert read(text) == outcome


def test_finish_decides_first():
    assert read("Final answer: J", finish="length") == "truncated"
    assert read("Final answer: J", finish="refusal") == "refusal"
    assert read("", finish="refusal") == "refusal"


@pytest.mark.parametrize(
    ("said", "labels", "expected"),
    [
        ("Cooperate", ("Co", "Cooperate"), "Cooperate"),
        ("Co", ("Co", "Cooperate"), "Co"),
        ("Co op", ("Co", "Co op"), "Co op"),
        ("J.", ("J", "J."), "J."),
        ("J", ("J", "J."), "J"),
        ("*a", ("*a", "a"), "*a"),
        ("*a", ("a", "b"), "illegal"),
        ("_x", ("_x", "x"), "_x"),
        ("**a**", ("a", "**a**"), "**a**"),
        ('"J"', ('"J"', "J"), '"J"'),
        ("J", ('"J"', "J"), "J"),
        ("stay, don't go", ("stay, don't go", "go"), "stay, don't go"),
        ("not J", ("J", "not J"), "not J"),
        ("Final answer: F", ("F", "J"), "illegal"),
        ("Final answer: F", ("F", "Final answer: F"), "Final answer: F"),
        ("STRASSE", ("straße", "weg"), "straße"),
        ("A  B", ("A B", "C"), "illegal"),
        ("U.S.", ("U.S.", "U.S"), "U.S."),
        ("J" * 21, ("J" * 21, "F" * 21), "J" * 21),
        ("J" * 20, ("J" * 21, "F" * 21), "illegal"),
        ("{{ 7 * 7 }}", ("{{ 7 * 7 }}", "49"), "{{ 7 * 7 }}"),
    ],
)
def test_awkward_labels(said, labels, expected):
    assert read(f"{MARKER} {said}", labels) == expected


def test_visible():
    assert visible("a<think>b") is None
    assert visible("a<think>b</think> c") == " c"
    assert visible("plain") == "plain"


# --- one rule for all readers ---------------------------------------------------------------------

FRAMES = {
    "@": "valid",
    "Because.\n@": "valid",
    "I would say @, but no.\n@": "valid",
    "**@**": "valid",
    "<think>@</think>@": "valid",
    "@\n\n": "valid",
    "": "unparsable",
    "?": "unparsable",
    "@\n@": "unparsable",
    "**@**\n@": "unparsable",
    "So @": "unparsable",
    "- @": "unparsable",
    "@\nOr not.": "unparsable",
    "> @": "unparsable",
    "@</think>": "unparsable",
    "<think>@": "truncated",
    "@<think>": "truncated",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_labels_and_json_follow_one_rule(frame):
    pair = JsonShape("pair", int, 2, tuple)
    for reader, answer in ((Labels(JF), "J"), (pair, '{"pair": [1, 2]}')):
        text = frame.replace("@", f"{MARKER} {answer}")
        assert reader.read(text, "stop").outcome == FRAMES[frame]
        assert reader.read(text, "length").outcome == "truncated"
        assert reader.read(text, "refusal").outcome == "refusal"


# --- the strict reader -------------------------------------------------------------------------

QUOTES = {("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”")}


def enclosed(text: str) -> set[str]:
    """Return a text and all that is left of it when enclosing marks and full stops come off."""
    found, todo = set(), [text.strip()]
    while todo:
        text = todo.pop()
        if text in found:
            continue
        found.add(text)
        if text.endswith("."):
            todo.append(text[:-1])
        for left, right in QUOTES:
            if len(text) > len(left + right) and text.startswith(left) and text.endswith(right):
                todo.append(text[len(left) : -len(right)].strip())
    return found


def claims(line: str) -> set[str] | None:
    """Return what a line may be said to name, by any reading of marks; None: it has no marker."""
    found: set[str] | None = None
    for text in enclosed(line):
        for mark in ("", "*", "_", "**", "__"):
            for head in (f"{mark}final answer:{mark}", f"{mark}final answer{mark}:"):
                if text[: len(head)].lower() == head:
                    found = (found or set()) | enclosed(text[len(head) :])
    return found


def strict(text: str, finish: str, labels: tuple[str, ...]) -> set[int]:
    """Return the labels that a strict reader could take the reply to name.

    It allows more readings of marks than the parser, so that what the parser accepts must be
    among them; but only ever of the last line, with no other marked line before it.
    """
    low = text.lower()
    shown = text[low.rfind("</think>") + len("</think>") :] if "</think>" in low else text
    if finish != "stop" or "<think>" in shown.lower():
        return set()
    lines = [line for line in shown.splitlines() if line.strip()]
    if not lines or any(claims(line) is not None for line in lines[:-1]):
        return set()
    said = {name.casefold() for name in claims(lines[-1]) or ()}
    return {index for index, label in enumerate(labels) if label.casefold() in said}


LABELS = [
    JF,
    ("Rock", "Paper", "Scissors"),
    ("J" * 21, "F" * 21, "B" * 21),
    ("Co", "Cooperate", "Co op"),
    ("not J", "J", "J."),
    ("*a", "a", "**a**"),
    ("Жить", "жито", "生きる"),
    ("Final answer: J", "J", "final"),
    ('"yes"', "yes", "y.e.s."),
    ("{{ a }}", "<think>", "a"),
]
PIECES = [
    *(MARKER, "final answer:", "**Final answer:**", "**Final answer**:", "FINAL ANSWER : "),
    *("Final answer", "Answer:", "_Final answer:_", "- Final answer:", "> ", "# ", "1. "),
    *("<think>", "</think>", "<THINK>", "</Think>", "<thinking>", "```", "```json\n"),
    *('{"answer": "', '"}', "{'action': '", "'}", "[", "]", "\\boxed{", "}", "|"),
    *("not ", "never ", "or ", "and ", "either ", "I choose ", "do not choose ", "n't", "!", "?"),
    *("**", "*", "_", "__", "`", '"', "“", "”", "'", ".", "..", "...", ",", ":", ";"),
    *(" ", "\n", "\n\n", "\r\n", "\t", "\u2028", "\x85", "\x0b", "\u00a0", "\u200b", "\ufeff"),
    *("ﬁnal answer:", "Финальный ответ:", "最終回答：", "Ј", "Ｆ", "ſ", "İ", "ß", "😀", "\x00"),
    *("The partner plays it often.", "Final answer: ...", "Final answer: J or F", "because"),
]


MARKS = ["", "**", "*", "`", '"', ".", " ", "_", "not "]
HEADS = [MARKER, "**Final answer:**", "final answer:", "*Final answer*:"]
FINISHES = ["stop"] * 8 + ["length", "refusal"]


def reply(choice, letters):
    """Make a reply, given a function that picks from a list and one that gives a few letters."""
    labels = choice(LABELS)
    text = ""
    for _ in range(choice(range(10))):
        text += choice([choice(PIECES), choice(labels), letters(), "\n"])
    if choice([True, False]):  # most such texts hold no answer at all: end half of them with one
        mark = choice(MARKS)
        text += f"\n{choice(HEADS)} {mark}{choice(labels)}{mark}"
    return text, choice(FINISHES), labels


def check(text, finish, labels):
    """Return whether a reply is accepted, after comparing with the strict reader."""
    parsed = Labels(labels).read(text, finish)
    if finish != "stop":
        assert parsed.outcome == {"refusal": "refusal", "length": "truncated"}[finish]
    if parsed.value is None:
        return False
    assert parsed.value in strict(text, finish, labels)
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_replies_that_shrink(data):
    """Few replies, but a counterexample comes out small."""
    check(
        *reply(
            lambda options: data.draw(st.sampled_from(options)),
            lambda: data.draw(st.text(max_size=3)),
        )
    )


ACCEPTED = []


@settings(max_examples=500, deadline=None)
@given(st.randoms(use_true_random=True))
def ten_thousand(random):
    def letters():
        return "".join(chr(random.choice([random.randrange(32, 127), random.randrange(0xD800)])))

    for _ in range(20):
        ACCEPTED.append(check(*reply(random.choice, letters)))


def test_never_accepts_what_a_strict_reader_would_not():
    ten_thousand()
    assert len(ACCEPTED) >= 10_000
    assert sum(ACCEPTED) > len(ACCEPTED) / 10  # the fuzz does reach answers


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(LABELS[:-1]),
    st.integers(0, 2),
    st.text(st.characters(exclude_characters="<>"), max_size=40).filter(
        lambda text: not re.search("final answer", text, re.IGNORECASE)
    ),
)
def test_the_asked_form_is_always_read(labels, index, before):
    label = labels[index % len(labels)]
    assert read(f"{before}\n{MARKER} {label}", labels) == label
