"""The reader of generated answers against a table of cases and an independent, strict reader."""

import json
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.strategies.labels import Labels
from tomeval.strategies.readers import MARKER
from tomeval.strategies.shapes import JsonShape

JF = ("J", "F")


def read(text, labels=JF, finish="stop"):
    outcome, action, *_ = Labels(labels).read(text, finish)
    assert (action is not None) == (outcome == "valid")
    return outcome if action is None else labels[action]


@pytest.mark.parametrize(
    "text",
    [
        "final ANSWER: j",
        "Ｆｉｎａｌ ａｎｓｗｅｒ：Ｊ。",
        "ﬁnal answer:J",
        "Final answer: \u200bJ\ufeff",
    ],
)
def test_accepted(text):
    assert read(text) == "J"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (" \n\u200b", "empty"),
        ("Their answer: J", "unparsable"),
        ("The answer is close to J", "illegal"),
        ("Final answer: J\nUnless F is better.", "unparsable"),
        ('Final answer: {"partner": "J"}', "illegal"),
        ("Final answer: not J", "illegal"),
        ("Final answer: Ј", "illegal"),  # Cyrillic
        ("Final answer: K", "illegal"),
        ("<thinking>J is good.\nFinal answer: J", "truncated"),
        ("<|channel|>analysis<|message|>So J.\nFinal answer: J", "truncated"),
        ("Final answer: J\n\nWait, if I play J they will exploit me. F is better.", "unparsable"),
        ("Final answer: J because it pays more", "illegal"),
        # a list of answers
        ("If they do:\nFinal answer: J\nIf they don't:\nFinal answer: F", "unparsable"),
        ('If I were bold: "Final answer: J"', "unparsable"),
    ],
)
def test_rejected(text, outcome):
    assert read(text) == outcome


@pytest.mark.parametrize(
    ("text", "lenient"),
    [
        ("Final answer: J", False),
        ("They copy me.\n\nFinal answer: J\n", False),
        ("<think>F?</think>\nFinal answer: J", False),
        ("Final answer: J.", True),
        ("**Final answer:** J", True),
        ("Final answer: F\nNo.\nFinal answer: J", True),
        ("If they cooperate:\nFinal answer: J", True),
        ("final answer: J", True),
    ],
)
def test_the_exact_form_is_told_from_others(text, lenient):
    assert Labels(JF).read(text, "stop") == ("valid", 0, "", lenient)


@pytest.mark.parametrize(
    ("said", "labels", "expected"),
    [
        ("Cooperate", ("Co", "Cooperate"), "Cooperate"),
        ("Co", ("Co", "Cooperate"), "Co"),
        ("J.", ("J", "J."), "J."),
        ("J", ("J", "J."), "J"),
        ("*a", ("*a", "a"), "*a"),
        ("*a", ("a", "b"), "a"),
        ("_x", ("_x", "x"), "_x"),
        ('"J"', ('"J"', "J"), '"J"'),
        ("not J", ("J", "not J"), "not J"),
        ("Final answer: F", ("F", "J"), "illegal"),
        ("Final answer: F", ("F", "Final answer: F"), "Final answer: F"),
        ("STRASSE", ("straße", "weg"), "straße"),
        ("A  B", ("A B", "C"), "A B"),
        ("A B", ("AB", "C"), "illegal"),
        ("Co (Cooperate)", ("Co", "Cooperate"), "unparsable"),
        ("Coop", ("Co", "Cooperate"), "illegal"),
        ("Option A", ("Option A", "Option B"), "Option A"),
        ("B", ("Option A", "Option B"), "Option B"),
        ("Option A", ("A", "Option"), "unparsable"),
        ("A", ("Option A", "Action A"), "illegal"),
        ("option", ("Option", "Choice"), "Option"),
        ("x2", ("x²", "x2"), "x2"),
        ("x²", ("x²", "y"), "x²"),
        ("X2", ("x²", "x2"), "illegal"),
        ("Ｊ", ("J", "Ｊ"), "Ｊ"),
        ("A (left)", ("A (left)", "A (right)"), "A (left)"),
        ("()", ("()", "J"), "()"),
        ("J" * 21, ("J" * 21, "F" * 21), "J" * 21),
        ("{{ 7 * 7 }}", ("{{ 7 * 7 }}", "49"), "{{ 7 * 7 }}"),
    ],
)
def test_awkward_labels(said, labels, expected):
    assert read(f"{MARKER} {said}", labels) == expected


SIGNS = [("Don't", "'", sign) for sign in "'’‘‛ʼ′´＇"]
SIGNS += [("Stay-in", "-", sign) for sign in "-‐‑‒–—−－"]


@pytest.mark.parametrize(("plain", "ascii_sign", "sign"), SIGNS)
def test_apostrophes_and_hyphens_are_those_of_ascii(plain, ascii_sign, sign):
    other = plain.replace(ascii_sign, sign)
    for label, said in ((other, plain), (plain, other)):
        assert read(f"{MARKER} {said}", ("Go", label)) == label
        assert read(f"{MARKER} Go\nI {said} know.", ("Go", label)) == "unparsable"
    labels = ("Stay-in", "Go")
    assert read(f"{MARKER} Go – it pays", labels) == read(f"{MARKER} Go—it pays", labels) == "Go"


@pytest.mark.parametrize("quoted", ['"yes"', "“yes”", "„yes“", "«yes»", "＂yes＂", "”yes”"])
def test_quotes_are_those_of_ascii(quoted):
    assert read(f"{MARKER} {quoted}", ('"yes"', "no")) == '"yes"'
    assert read(f"{MARKER} {quoted}", ("yes", "no")) == "yes"
    text = '{"pair": [1, 2]}'.replace('"', quoted[0], 1).replace('"', quoted[-1], 1)
    assert JsonShape("pair", int, 2, tuple).read(text, "stop").value == (1, 2)


@pytest.mark.parametrize(
    ("labels", "said", "expected"),
    [
        (("左", "右"), "左", "左"),
        (("左", "右"), "左。因为对方总是选左。", "左"),
        (("左", "右"), "左，因为对方总是选左", "左"),
        (("左", "右"), "左\n但是右更好", "unparsable"),
        (("选项A", "选项B"), "选项A\n我想选选项B吧", "unparsable"),
        (("J", "F"), "J\n还是F更好", "unparsable"),
        (("ซ้าย", "ขวา"), "ซ้าย", "ซ้าย"),
        (("ซ้าย", "ขวา"), "ซ้าย\nแต่ขวาดีกว่า", "unparsable"),
        # words beside a label are read in English only
        (("左", "右"), "我选择左", "illegal"),
        (("左", "右"), "I choose 左", "左"),
    ],
)
def test_scripts_without_spaces(labels, said, expected):
    assert read(f"{MARKER} {said}", labels) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: J\nOn reflection I change my answer to the other one.",
        "Final answer: J (scratch that)",
        "**Final answer:** J",
        "J",
    ],
)
def test_lenient_answers_are_refused_under_strict(text):
    assert Labels(JF).read(text, "stop").lenient
    read = Labels(JF).read(text, "stop", strict=True)
    assert read[:3] == ("unparsable", None, "the answer is not in the exact form asked for")
    exact = f"Well.\n{MARKER} J"
    assert Labels(JF).read(exact, "stop", strict=True) == ("valid", 0, "", False)
    shape = JsonShape("code", int, 3, list)
    text = f'{MARKER} {{"code": [2, 4, 1], "valid": false}}'
    assert shape.read(text, "stop").lenient
    assert shape.read(text, "stop", strict=True).outcome == "unparsable"
    assert shape.read(f'{MARKER} {{"code": [2, 4, 1]}}', "stop", strict=True).value == [2, 4, 1]


# --- one rule for all readers ---------------------------------------------------------------------

FRAMES = {
    "@": "valid",
    "Because.\n@": "valid",
    "I would say @, but no.\n@": "valid",
    "**@**": "valid",
    "<think>@</think>@": "valid",
    "@\n\n": "valid",
    "": "empty",
    "?": "unparsable",
    "@\n@": "valid",
    "**@**\n@": "valid",
    "- @": "valid",
    "> @": "valid",
    "# @": "valid",
    "```\n@\n```": "valid",
    "<answer>@</answer>": "valid",
    "<reasoning>@</reasoning>@": "valid",
    "So @": "valid",
    "So they say: @": "unparsable",
    "@\nOr not.": "valid",
    "@</think>": "empty",
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


def shaped(reader, text):
    found = reader.read(f"{MARKER} {text}", "stop")
    return found.outcome if found.value is None else found.value


def test_what_a_server_can_hold_an_answer_to():
    assert Labels(JF).choices == (f"{MARKER} J", f"{MARKER} F")
    schema = json.loads(JsonShape("pair", int, 2, list).schema)
    numbers = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    assert schema["properties"] == {"pair": numbers}
    assert (schema["required"], schema["additionalProperties"]) == (["pair"], False)


WORDS = JsonShape("words", str, 0, list)
COUNT = JsonShape("count", int, 1, lambda items: items if items[0] < 100 else "too many")
SPLIT = JsonShape("split", int, 3, list)


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        # any number of items, also none; one may stand alone
        (WORDS, '{"words": ["a", "b"]}', ["a", "b"]),
        (WORDS, '{"words": []}', []),
        (WORDS, '{"words": "a"}', ["a"]),
        (WORDS, '{"words": ["a \\"b\\" {c}: d\\n", "é 🙂"]}', ['a "b" {c}: d\n', "é 🙂"]),
        (WORDS, '{"words": ["two\nlines"]}', ["two\nlines"]),
        (WORDS, '{"words": ["a", 2.5]}', "unparsable"),
        (WORDS, '{"words": ["a", true]}', "unparsable"),
        (WORDS, '{"words": null}', "unparsable"),
        (WORDS, '{"words": ["a"]} {"words": ["b"]}', "unparsable"),
        (WORDS, '{"words": ["a"', "unparsable"),
        # whole numbers of any length, quoted or not
        (COUNT, '{"count": [12]}', [12]),
        (COUNT, '{"count": 12}', [12]),
        (COUNT, '{"count": "12"}', [12]),
        (COUNT, '{"count": [120]}', "illegal"),
        (COUNT, '{"count": true}', "unparsable"),
        (COUNT, '{"count": 1.5}', "unparsable"),
        (COUNT, '{"count": []}', "unparsable"),
        (SPLIT, '{"split": ["10", "4", "6"]}', [10, 4, 6]),
        (SPLIT, '{"split": [10, "4", 6]}', "unparsable"),
        (SPLIT, '{"split": [10, 10]}', "unparsable"),
    ],
)
def test_lists_of_any_length_and_numbers(reader, text, says):
    assert shaped(reader, text) == says


# --- a second reader, which looks at words only ---------------------------------------------------

# Words that may stand before a label: names of marks, and of what is chosen.
BESIDE = (
    *("option", "action", "choice", "move", "label", "letter", "strategy", "answer", "prediction"),
    *("boxed", "text", "textbf", "json", "is", "i", "choose"),
)


def words(text: str) -> list[str]:
    """Return the words of a text, but for case and width; other characters separate them."""
    plain = unicodedata.normalize("NFKC", re.sub("[\u200b\ufeff\xad]", "", text))
    return re.findall(r"[^\W_]+", plain.lower())


def begins(said: list[str], label: list[str]) -> bool:
    """Tell whether words begin with a label's, after some of `BESIDE`."""
    while said[: len(label)] != label and said and said[0] in BESIDE:
        said = said[1:]
    return said[: len(label)] == label


def names_other(text: str, labels: tuple[str, ...], own: list[str]) -> bool:
    """Tell whether a text holds the words of a label that `own` are not part of, before those."""
    line = f" {' '.join(words(text))} ".partition(f" {' '.join(own)} ")[0] + " "
    others = [words(label) for label in labels if not set(words(label)) & set(own)]
    # "a" is a word, too
    return any(f" {' '.join(other)} " in line for other in others if other and other != ["a"])


def strict(text: str, finish: str, labels: tuple[str, ...]) -> set[int]:
    """Return the labels that a reader of words could take the reply to name.

    It ignores all marks, so that what the parser accepts must be among them: the last line that
    begins with the marker must go on with the label's words, or end there and the next line have
    them, and text below it may have those of another only after them. Without such a line the whole
    reply must be the label's words.
    """
    closings = [found.end() for found in re.finditer("</think>", text, re.IGNORECASE)]
    shown = text[closings[-1] :] if closings else text
    if finish != "stop" or "<think>" in shown.lower():
        return set()
    lines = [
        part
        for line in re.split("\r\n|\n|\r", shown)
        for part in re.split(r"[{,]" if line.strip().startswith("{") else "\n", line)
    ]
    for marker in (["final", "answer"], ["answer"]):
        claims = {}
        for place, line in enumerate(lines):
            said = words(re.sub(r"^\W*(?:\d{1,2}[.)]|(?:(?:boxed|text|textbf)\W+)+)", "", line))
            while said and said[0] in ("so", "thus", "hence", "therefore", "my", "the"):
                said = said[1:]
            if said[: len(marker)] == marker:
                number = re.search(r"\b\d{1,2}[.)]\s*$", line)  # of a list, with nothing in it
                claims[place] = [] if number else said[len(marker) :]
        if claims:
            break
    else:
        whole = [word for word in words(shown) if word not in BESIDE]
        return {index for index, label in enumerate(labels) if words(label) == whole}
    last = max(claims)
    said, below = claims[last], lines[last + 1 :]
    while not said and below:
        said, below = words(below[0]), below[1:]
    return {
        index
        for index, label in enumerate(labels)
        if begins(said, words(label)) and not names_other("\n".join(below), labels, words(label))
    }


LABELS = [
    JF,
    ("Rock", "Paper", "Scissors"),
    ("J" * 21, "F" * 21, "B" * 21),
    ("Co", "Cooperate", "Co op"),
    ("not J", "J", "J."),
    ("*a", "a", "**a**"),
    ("Жить", "жито", "生きる"),
    ("J", "final", "answer"),
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


def test_what_a_free_search_found_is_not_accepted():
    assert not check("⢪Final answer: J or F\n”䏎\nAnswer:*a", "stop", ("*a", "a", "**a**"))


ACCEPTED = []


@settings(max_examples=500, deadline=None)
@given(st.randoms(use_true_random=True))
def ten_thousand(random):
    def letters():
        return "".join(chr(random.choice([random.randrange(32, 127), random.randrange(0xD800)])))

    for _ in range(20):
        ACCEPTED.append(check(*reply(random.choice, letters)))


@pytest.mark.hypothesis
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
    assert read(f"{before}.\n{MARKER} {label}", labels) == label
