"""A scripted model that plays Decrypto through the prompts, for tests without a language model.

``scripted:decrypto`` is a model of known behaviour: the results of its games and probes can be
worked out by hand. It reads the shipped prompts as a language model would, finds what is asked by
the form of the answer, and draws nothing.
"""

from __future__ import annotations

import hashlib
import json
import re

from tomeval.games.decrypto.game import CODES, DIGITS
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import Script
from tomeval.strategies.readers import MARKER

_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mi", "no", "pu", "ra", "so", "te", "vi", "zu")


def known_hint(keyword: str, number: int) -> str:
    """Return a made-up word for a keyword in a turn: Bob can make and so decode it, Eve cannot."""
    digest = hashlib.sha256(f"{keyword} {number}".encode()).digest()
    return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[:5])


def play_decrypto(request: GenerateRequest | ScoreRequest) -> str:
    """Answer a question of the shipped prompts.

    Alice gives `known_hint`. Bob decodes it, so he is always right. Eve guesses 1-2-3 and names the
    keywords one, two, three and four; asked afterwards, she says she had known the keywords, and
    that others will know them. Alice predicts that Bob and Eve are right. Lessons and summaries are
    one sentence.
    """
    text = "\n".join(message.content for message in request.prompt.messages)
    question = request.prompt.messages[-1].content
    keywords = re.findall(r"^[1-4]\. (.+)$", text, re.MULTILINE)
    turns = re.findall(
        r"(?:^Turn|In turn) (\d+)(?: of at most| you gave| you could| Alice)", question, re.M
    )
    number = int(turns[-1]) if turns else 0
    if MARKER not in question:
        return "Nothing is certain yet."
    if '{"hints"' in question:
        (code,) = re.findall(r"The code is ([1-4]-[1-4]-[1-4])", question)
        words = [keywords[int(digit) - 1] for digit in code.split("-")]
        return _said("hints", [known_hint(word, number) for word in words])
    if '{"keywords"' in question:
        shown = re.findall(r'[1-4] is "(.+?)"', question)
        return _said("keywords", shown[-4:] or ["one", "two", "three", "four"])
    if "Which code will" in question:
        (code,) = re.findall(r"for the code ([1-4]-[1-4]-[1-4])", question)
        return _said("code", [int(digit) for digit in code.split("-")])
    hints = re.findall(r"^(?:first|second|third): (.+)$", question, re.MULTILINE)
    if keywords:
        made = {
            known_hint(word, number): digit for digit, word in zip(DIGITS, keywords, strict=True)
        }
        return _said("code", [made.get(hint, 1) for hint in hints])
    return _said("code", list(CODES[0]))


def _said(key: str, value: list[str] | list[int]) -> str:
    return f"This is what I think.\n{MARKER} {json.dumps({key: value})}"


SCRIPTS: dict[str, Script] = {"decrypto": play_decrypto}
"""What experiments can name ``scripted:NAME``."""
