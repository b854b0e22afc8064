"""Remarks on an answer in brackets, and whether they leave a doubt about it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tomeval.strategies.wrappings import folded

_SHORT = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,3}")
_SENTENCE = re.compile(r"[^\W_][^?？!！…]{0,300}")
_BRACKETS = re.compile(r"\s*[*_]*[(（\[]([^()（）\[\]]*)[)）\]]\.?[*_]*\s*")
_DOUBT = re.compile(
    r"\b(?:not|no|never|n?or|n?either|maybe|perhaps|probably|possibly|likely|presumably|guess\w*"
    r"|think|uns\w+|uncertain|unclear|unknown|if|unless|but|instead|hmm|wait|actually|tie|leaning"
    r"|tentative\w*|might|may|could|else|otherwise|avoid|except|without|against|random\w*|other"
    r"|opponent|partner|rather|reject\w*|wrong|false|nicht|kein|oder|vielleicht|non|pas|ou|quizás"
    r"|o|ni|не|нет|или)\b"
)
# What a whole sentence can say besides: that the answer is taken back, or is not meant.
_RETRACTION = re.compile(
    r"n['’]t\b|\b(?:though|although|however|yet|still|torn|would|should|scratch|ignore\w*|disregard\w*"
    r"|correct\w*|retract\w*|revis\w+|reconsider\w*|chang\w+|mistake\w*|error|oops|sorry|typo"
    r"|joke\w*|kidding|placeholder|draft|sample|example|hypothetical\w*|pretend\w*|suppos\w+"
    r"|assum\w+|imagin\w+|until|undecided|doubt\w*|confiden\w+|coin|dice|toss|toggle|better"
    r"|worse|cannot|neither|both|question|prompt|instruct\w+|asked|told|quot\w+|said|says"
    r"|wrote|written|format|form|anything|nothing|incorrect|bad|fail\w*|regret|switch\w*"
    r"|swap\w*|second|latter|former|first one|their|his|her|your|for now|to be|tbd|default"
    r"|decided|idk|dunno|ask|later|take|taking|back|tell|idea|hard|opposite|test|mind|pending"
    r"|provisional|really|revert|undo|cancel\w*|void|invalid|pick|tempt\w+|either"
    r"|alternativ\w+|user|you)\b"
)
# What a sentence says that gives a reason: what it expects, or what is gained.
_REASON = re.compile(
    r"\b(?:expect\w*|since|because|given|predict\w*|so that|due to|pays?|paid|earns?|yields?"
    r"|maximi[sz]\w*|keep\w*|high\w*|more|most|best|dominan\w+|payoffs?|points?|cooperat\w+"
    r"|patterns?|history|reason\w*|continu\w+|punish\w*|mutual\w*|match\w*|same|repeat\w*"
    r"|cop(?:y|ies|ied|ying)|safe\w*|equilibrium)\b"
)
_PLAYER = re.compile(r"\b(?:the (?:other )?player|(?:the|my) (?:partner|opponent))\b(?!['’])")


def in_brackets(text: str) -> str | None:
    """Return what stands in the brackets around a text, or None if there are none.

    Examples
    --------
    >>> in_brackets(" *(as before)*"), in_brackets("as before")
    ('as before', None)
    """
    found = _BRACKETS.fullmatch(text)
    return found[1] if found else None


def leaves_no_doubt(text: str, others: Iterable[str] = ()) -> bool:
    """Tell whether a remark on an answer leaves no doubt that it is meant.

    It may be a few plain words, or a sentence that gives a reason. It names no answer of `others`.

    Examples
    --------
    >>> leaves_no_doubt("Cooperate"), leaves_no_doubt("I expect my partner to go on.")
    (True, True)
    >>> leaves_no_doubt("not F"), leaves_no_doubt("Scratch that."), leaves_no_doubt("J", ["J"])
    (False, False, False)
    """
    plain = folded(text.strip("*_\"' "))
    if any(re.search(rf"(?<!\w){re.escape(folded(name))}(?!\w)", plain) for name in others):
        return False
    if _SHORT.fullmatch(plain):
        return _DOUBT.search(plain) is None and _RETRACTION.search(plain) is None
    plain = _PLAYER.sub("them", plain)
    said = _SENTENCE.fullmatch(plain) and _REASON.search(plain)
    return bool(said) and not _DOUBT.search(plain) and not _RETRACTION.search(plain)
