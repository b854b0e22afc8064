"""A scripted model that plays Decrypto through the prompts, for tests without a language model.

``scripted:decrypto`` is a model of known behaviour: the results of its games and probes can be
worked out by hand. It reads the shipped prompts as a language model would, finds what is asked by
the form of the answer, and draws nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import re

from tomeval.games.decrypto.game import CODES, DIGITS
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import Said
from tomeval.strategies.readers import MARKER

_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mi", "no", "pu", "ra", "so", "te", "vi", "zu")


def known_hint(keyword: str, number: int) -> str:
    """Return a made-up word for a keyword in a turn: Bob can make and so decode it, Eve cannot."""
    digest = hashlib.sha256(f"{keyword} {number}".encode()).digest()
    return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[:5])


def play_decrypto(request: GenerateRequest | ScoreRequest) -> Said:
    """Answer a question of the shipped prompts.

    Alice gives `known_hint`. Bob decodes it, so he is always right. Eve guesses 1-2-3 and names the
    keywords one, two, three and four; asked afterwards, she says she had known the keywords, and
    that others will know them. Alice predicts that Bob and Eve are right, Bob and Eve that the
    other one guesses as they do. Lessons and summaries are one sentence. Where codes are scored,
    each of the others has a hundredth of the probability of the one that is meant.
    """
    text = "\n".join(message.content for message in request.prompt.messages)
    question = request.prompt.messages[-1].content
    keywords = re.findall(r"^[1-4]\. (.+)$", text, re.MULTILINE)
    turns = re.findall(
        r"(?:^Turn|In turn) (\d+)(?: of at most| you gave| you could)", question, re.M
    )
    number = int(turns[-1]) if turns else 0
    if isinstance(request, ScoreRequest):
        meant = "-".join(map(str, _code(question, keywords, number)))
        return [0.0 if label == meant else -math.log(100) for label in request.labels]
    if MARKER not in question:
        return "Plans: none yet.\nInsights: none yet." if '"Plans:"' in question else _NOTHING
    if '{"hints"' in question:
        (code,) = re.findall(r"The code is ([1-4]-[1-4]-[1-4])", question)
        words = [keywords[int(digit) - 1] for digit in code.split("-")]
        return _said("hints", [known_hint(word, number) for word in words])
    if '{"keywords"' in question:
        shown = re.findall(r'[1-4] is "(.+?)"', question)
        return _said("keywords", shown[-4:] or ["one", "two", "three", "four"])
    return _said("code", _code(question, keywords, number))


_NOTHING = "Nothing is certain yet."


def _code(question: str, keywords: list[str], number: int) -> list[int]:
    """Return the code that is guessed, or predicted."""
    if told := re.findall(r"for the code ([1-4]-[1-4]-[1-4])", question):
        return [int(digit) for digit in told[-1].split("-")]
    if not keywords:
        return list(CODES[0])
    hints = re.findall(r"^(?:first|second|third): (.+)$", question, re.MULTILINE)
    hints = hints or re.findall(r"in the order of the code: (.+); (.+); (.+)\. Bob", question)[0]
    made = {known_hint(word, number): digit for digit, word in zip(DIGITS, keywords, strict=True)}
    return [made.get(hint, 1) for hint in hints]


def _said(key: str, value: list[str] | list[int]) -> str:
    return f"This is what I think.\n{MARKER} {json.dumps({key: value})}"
