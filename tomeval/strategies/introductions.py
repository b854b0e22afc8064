"""What introduces a marked line: whether the answer below it is the writer's own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tomeval.strategies.wrappings import lines_that_say

_PREPOSITIONS = r"(?:\s+(?:with|that|to|in|by|as|this|something like|like this))*"
_SAY = (
    r"(?:wr(?:ite|ites|ote|iting|itten)|sa(?:y|ys|id|ying)|repl(?:y|ies|ied|ying)"
    r"|answer(?:s|ed|ing)?|respond(?:s|ed|ing)?|output(?:s|ted)?|print(?:s|ed)?|propos(?:e|es|ed)"
    rf"|suggest(?:s|ed)?|end(?:s|ed)? with){_PREPOSITIONS}"
)
_END = r"[\s*_\"'“”`,]*[:：]?[\s*_\"'“”`]*$"
_COLON = re.compile(r"[:：][\s*_\"'“”`)]*$")
_SAYS = re.compile(rf"\b{_SAY}{_END}")
# In the middle of a sentence, without a colon.
_OPEN = re.compile(
    rf"\b(?:then|than|is|are|was|be|like|not|never|or|and|instead of|such as|e\.g\.?){_END}"
)
# Where the writer says it, here and now.
_I = r"(?:i|we)"
_NOW = r"(?:now|hereby|therefore|thus|simply|just|only|also|finally)"
_OWN = re.compile(
    rf"^\W*(?:(?:and|then|now|still|here|this (?:time|round)|(?:in|for) round \w+),? )*"
    rf"(?:(?:so|therefore|thus|hence),? )?(?:{_I}(?:'ll|'d| will| shall| should| would| can| must"
    rf"| am going to| (?:have|need|want|would like) to)?|let me|let's)(?: {_NOW})* {_SAY}{_END}"
)
_CLAUSE = re.compile(
    r"[,;] (?=(?:and )?(?:so |therefore |thus |hence )?(?:i|we)\b)| (?=so (?:i|we)\b)"
)
_HAVE_TO = re.compile(r"^\W*(?:but |and )?if (?:i|we) (?:must|(?:have|had|need) to)\b")
_OTHERS = (
    r"(?:users?|humans?|system|assistant|players? \w{1,2}|players?|(?:my )?partner|(?:my )?opponent"
    r"|alice|bob|eve|they|he|she|you)"
)
_NOT_OWN = tuple(
    re.compile(pattern)
    for pattern in (
        # Somebody else's, or an earlier one.
        rf"^\W*{_OTHERS}{_END}",
        rf"\b(?:thinks|believes|claims|insists|wants|demands|expects){_END}",
        r"\b(?:their|his|her|its|your|(?!here's|that's|it's|what's)\w+'s|\w+s')\b(?: \w+)*"
        r" (?:answer|reply|response|line)"
        rf"(?: \w+)?{_END}",
        r"\b(?:previous|earlier|former|old|initial|first|last|yesterday's)\b[^,;]*"
        r"\b(?:answer|reply|response|line|thought|try|attempt|idea)\b[^,;]*$",
        r"\b(?:i|we|they|he|she|you)\b[^,;]*\b(?:wrote|said|answered|replied|responded|written"
        r"|thought|chose|picked|had)\b[^,;]*$",
        # Something to be avoided.
        r"\b(?:wrong|incorrect|bad|false|invalid|rejected|forbidden|instead of|rather than)\b"
        r"[^,;]*$",
        r"\bunder no\b|^\W*(?:not|never|don't|do not|avoid)\b[^,;]{0,20}$",
        # An example, the form alone, something that is only tried.
        r"\b(?:examples?|illustrat\w+|suggest\w+|for instance|e\.g|samples?|templates?"
        r"|placeholder|quot(?:e|es|ed|ing|ation)"
        r"|drafts?|todo|hypothe\w+|(?:something|looks?) like|such as)\b[^;]*$",
        r"\b(?:like this|alternativ\w+|variants?|candidates?|tentativ\w*|maybe|perhaps|possib\w+)\b"
        r"[^,;]*$",
        rf"^\W*(?:old|before|prior|previously|earlier|not mine){_END}",
        rf"\b(?:can't|cannot|won't|refuse to)\b[^,;]{{0,40}}{_END}",
        r"^\W*(?:one|another|a(?:nother)? second) (?:option|possibility|idea|way|choice)\b",
        r"\bwhat (?:i|we|they|he|she|you) (?:would|could|might)\b",
        rf"^\W*(?:option|version|possibility|case|scenario) (?:\d+|\w){_END}",
        rf"^\W*(?:so )?(?:the|its|this) (?:\w+ )?(?:form|format|syntax)\b.*\b(?:is|be|was){_END}",
        # A question.
        r"^\W*(?:(?:or|so|and|but) )?(?:should|shall|could|would|do|does|did|is|are|may|might|can"
        r"|which|what if|what about|how about|(?:what|how|who) would|why not)\b(?!.*[,;] so\b)",
        # A condition.
        r"^\W*(?:(?:or|so|and|but|only) )?(?:if|unless|when\b.*\bwould|in case|in all|provided"
        r"|as long as|only if|depending"
        r"|suppos\w+|assum\w+|imagin\w+|were)\b"
        r"(?!.*\bmy (?:\w+ )?(?:answer|reply|choice|prediction)\b)",
    )
)
# The thing that is said: "here is my answer".
_THING = r"(?:answer|reply|response|output)"
_NOUN = re.compile(rf"\b(?:my|the|an?|final|own|this)(?: \w+)? {_THING}{_END}|^\W*{_THING}{_END}")
_LONGEST = 300  # of a sentence that introduces anything, in characters
_SENTENCE = re.compile(r"(?<!e\.g)[.!?。！？]\s+")


def is_own(above: Sequence[str]) -> bool:
    """Tell whether a marked line below some lines is what the writer answers.

    It is not if the last of them runs on into it and says that this is what somebody else would
    write, an example, a question, or something to be avoided. Lines of marks alone do not count.
    What ends in a word of saying is the writer's own only if the writer says it, here and now.

    Examples
    --------
    >>> is_own(["They copy me, so my answer is:"]), is_own(["My partner would write:"])
    (True, False)
    >>> is_own(["They never change."]), is_own(["I would never reply with", ""])
    (True, False)
    """
    last = next((said[-1] for line in reversed(above) if (said := lines_that_say(line))), "")
    plain = " ".join(last.casefold().replace("’", "'").split())
    sentence = _SENTENCE.split(plain)[-1][-_LONGEST:]
    if _SAYS.search(sentence) and not _NOUN.search(sentence):
        clause = _CLAUSE.split(sentence)[-1]
        return _OWN.search(clause) is not None and not _questioned(sentence)
    if not _COLON.search(sentence) and not _OPEN.search(sentence):
        return True
    return _HAVE_TO.search(sentence) is not None or not _questioned(sentence)


def _questioned(sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in _NOT_OWN)
