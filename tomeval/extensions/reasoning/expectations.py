"""What a written text says that the other player will do: the last expectation that it names.

No model judges the text. The rule: a sentence names an expectation if the other player, a word for
what is to come ("will", "likely", "next") and a label follow each other with at most a few words
between; or "I expect", or "the prediction is", and a label. It does not count with a word that
supposes, denies or tells of another time, or with a second label in the same breath. Everything
else counts as nothing said. So the reader is made to be right where it reads something, at the
price of what it leaves unread; docs/measures/reasoning.md has both rates,
benchmarks/reasoning_reader.py measures them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tomeval.strategies.readers import MARKER

# Who is meant: "they" and its like can only be the other player, as nobody else plays.
_WHO = (
    r"(?:(?:the|my)\s+)?(?:(?:other|opposing|second)\s+(?:player|agent|side|one|person|party"
    r"|participant)|the\s+(?:other|player)|opponent|partner|counterpart|rival|adversary"
    r"|player\s+(?:2|two|b)|both|they|he|she|them|him|her|their|his)"
)
_AHEAD = (
    r"(?:will|shall|should|would|going\s+to|gonna|likely|likeliest|probable|probably|presumably"
    r"|surely|expected|predicted|(?:bound|set|about|certain|sure|inclined)\s+to|next|now"
    r"|this\s+(?:time|round))"
)
_THINK = r"(?:expect|predict|anticipat|forecast|foresee|assum)(?:e|ing)?"
_NOUN = r"(?:prediction|expectation|forecast|best\s+guess)"
_MOVE = r"(?:action|move|choice|play|option|response)"
# What makes a plain present ("they choose J") a belief about this round.
_BELIEVED = (
    r"(?:think|believe|guess|bet|say|suspect|reckon|figure|likely|probable|(?:chances?|odds)\s+are"
    r"|chance|sure|certain|confident|convinced|predict|expect|assum(?:e|ing)|given|since|because|as"
    r"|knowing|means|suggests)"
)
_IS = r"\s*(?:\b(?:is|be)\b|[:=→–—]|->)\s*"
# "I expect J to pay more" expects nothing of the other player.
_NO_RESULT = r"(?!\s+(?:to|will|would|can|gives?|yields?|earns?|pays?|brings?|is|has|was)\b)"

# What names an expectation: @ is a label, <N> at most N words of no importance.
_FORMS = (
    rf"\b{_WHO},?\s+<4>{_AHEAD}\s+<6>@",
    rf"\b{_WHO}\s+[^.;:\n]{{1,60}}?\band\s+{_AHEAD}\s+<3>@",
    rf"\b{_WHO}['’](?:ll|d|re)\s+<6>@",
    rf"\b{_WHO}[\s:]+<3>@(?=\s+(?:next|now|this\s+time)\b)",
    rf"\b{_WHO}\s*:\s*{_AHEAD}:?\s*<2>@",
    rf"\b{_BELIEVED}\s+<2>{_WHO}\s+<3>@",
    rf"\b(?:i|we)(?:['’](?:d|m|ll))?\s+<3>{_THINK}\s+(?!to\b|(?:that\s+)?\w+ing\b)"
    rf"(?:that\s+)?<6>@{_NO_RESULT}",
    rf"\b(?:{_NOUN}|{_AHEAD}\s+(?:{_WHO}(?:['’]s)?\s+)?{_MOVE}|{_WHO}(?:['’]s)?\s+<2>{_MOVE}"
    rf"|next\s+(?:one|\w+\s+line))\s*<7>(?:{_WHO})?{_IS}<6>@",
    r"\bit(?:['’]ll|\s+will|\s+should)\s+be\s+<3>@(?!\s+(?:for\s+me|then)\b)",
    r"\b(?:suggests|means|implies)\s+(?:that\s+)?@(?=\s+(?:next|again|now)\b)",
    rf"@\s+<4>(?:from|for|of|by)\s+{_WHO}\b",
    r"@\s+(?:is|looks|seems|remains)\s+(?:by\s+far\s+)?(?:the\s+)?(?:more|most|likel|expect)\w*",
    r"@\s*\((?:predicted|expected|prediction|most\s+likely|likely)\)",
)
# Words between that would make it another statement.
_IMPORTANT = (
    r"(?:me|my|i|and|that|than|have|were|was|chose|played|picked|went|better|what|win|pay|get)\b"
)

# Suppositions that say no more than "as before".
_AS_BEFORE = re.compile(
    r"\bif\s+(?:the|this|that|their)\s+(?:pattern|trend|cycle|sequence)\s+\w+"
    r"|\bunless\s+\w+\s+changes|\bif\s+nothing\s+changes|\bif\s+i['’]?\s*(?:m|am|had)\s+(?:right|to\s+(?:bet|guess))",
    re.IGNORECASE,
)
# A condition, a wish, a possibility, what the prompt said, what was once thought, later rounds.
_SUPPOSED = re.compile(
    r"\b(?:(?<!even\s)if|unless|whether|suppos(?:e|ing)|imagine|in\s+(?:case|that\s+case"
    r"|which\s+case)|otherwise|or\s+else|when(?:ever)?|once(?!\s+more)|as\s+long\s+as|should\s+(?:they|the)"
    r"|had\s+(?:they|the|i)|were\s+(?:they|the|to)|either|might|could|may|perhaps|maybe|possib\w+"
    r"|equilibri\w+|hop(?:e|ing|efully)|wish|want|would\s+like|ideally"
    r"|(?:a|some|small|slight|little)\s+chance|(?:i|we)(?:['’]d)?\s+(?:\w+\s+)?(?:thought|believed|expected|hoped|assumed)"
    r"|you\s+(?:think|know|expect|believe|predict|are\s+told)|to\s+(?:think|believe)"
    r"|later|eventually|afterwards|one\s+day|at\s+some\s+point|after\s+(?:this|that|which)"
    r"|(?:in|for|during|by)\s+the\s+(?:final|last|later|future|following|subsequent|long)"
    r"|(?:then|there)\s+on)\b|\bthen,?\s*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|never|no\s+(?:longer|reason|evidence|way|sign|guarantee|one)|nobody|nothing|neither"
    r"|(?:un|less\s+)likely|hardly|rarely|seldom|doubt|avoid|stop|(?:instead|rather)\s+(?:of|than)"
    r"|cannot|wrong|false|without|too\s+(?:early|soon))\b|n['’]t\b",
    re.IGNORECASE,
)
# The writer gives up, or starts to correct what was said.
_TAKEN_BACK = re.compile(
    r"\b(?:n['’]t\s+(?:really\s+)?(?:know|tell|say|predict)|(?:not|cannot)\s+(?:know|tell|predict)"
    r"|no\s+idea|unpredictable|either\s+way|or\s+(?:will|would|do)\s+they|wait|actually|hmm+"
    r"|scratch\s+that|(?:is|was)\s+wrong)\b|\b\w+n['’]t\s+(?:know|tell|say|predict)\b",
    re.IGNORECASE,
)
_NEXT_ROUND = re.compile(r"\bin\s+the\s+next\s+rounds?\b|\bthe\s+round\s+after\b", re.IGNORECASE)
# A chance in percent or as a probability.
_CHANCE = re.compile(r"\b(\d{1,3}(?:\.\d+)?)\s?\\?%|\b(0?\.\d+)\b")
_END = re.compile(
    r"(?<=[.!?;])[\"'”’*_)\]]*\s+|\n+|;\s*"
    r"|,\s+(?=(?:so|but|and|then|hence|thus|therefore)\b)"
)
_CLAUSE = re.compile(r"[,:()]|\b(?:so|and|but|because|since)\b")
_OPEN = r"[\"'“”‘’`*_«(\[{$\\]{0,6}(?:(?:text|textbf|boxed|mathbf)\s?\{)?[\"'“”‘’`*_]{0,6}\s?"
# Possessive: what must not follow a label is looked for behind its closing marks.
_CLOSE = r"[\"'“”‘’`*_»)\]}$]{0,6}+"
_NEAR = 300
"""How many characters before a statement, within its sentence, can take it back."""


class Expectation(NamedTuple):
    """A named expectation: which label, by index, and the sentence that names it."""

    label: int
    sentence: str


def last_expectation(text: str, labels: Sequence[str]) -> Expectation | None:
    r"""Return the last expectation of the other player's action that a text names.

    Parameters
    ----------
    text : str
        A reply with all that was written before its answer; the marked answer itself is not read.
    labels : sequence of str
        What the other player can choose. Matched whole; labels of one letter as they are written,
        others in any case.

    Returns
    -------
    Expectation or None
        None if no sentence has one of the forms. Sentences that suppose ("if they choose J"), tell
        of the past ("they chose J") or of later rounds, deny, or name two labels in one breath do
        not count, nor does an expectation that is given up later on ("but I can't tell").

    Examples
    --------
    >>> said = "They chose F at first. If they play F, I lose. I expect **J**. So I choose F."
    >>> last_expectation(said + "\nFinal answer: F", ("J", "F"))
    Expectation(label=0, sentence='I expect **J**.')
    >>> last_expectation("The other player will not choose J.", ("J", "F")) is None
    True
    >>> last_expectation("The opponent will surely cooperate.", ("Cooperate", "Defect")).label
    0
    """
    marks = list(re.finditer(re.escape(MARKER), text, re.IGNORECASE))
    patterns = _patterns(tuple(labels))
    sentences = [
        " ".join(raw.split()) for raw in _END.split(text[: marks[-1].start() if marks else None])
    ]
    statements = [
        # Most sentences name no label, and the forms are long.
        list(patterns.statement.finditer(one)) if patterns.named.search(one) else []
        for one in sentences
    ]
    assumed = {
        patterns.label(match)
        for matches in statements
        for match in matches
        if match[0].casefold().startswith("assum")
    }
    next_round: Expectation | None = None
    for sentence, matches in zip(reversed(sentences), reversed(statements), strict=True):
        for match in reversed(matches):
            # "Assuming J, ..., assuming F, ...": cases, of which none is expected.
            cases = len(assumed) > 1 and match[0].casefold().startswith("assum")
            if cases or not _holds(sentence, match, patterns.another):
                continue
            expected = Expectation(patterns.label(match), sentence)
            if not _NEXT_ROUND.search(sentence):
                return expected
            # It may be this round that is meant, unless something else is said of this one.
            next_round = next_round or expected
        if _TAKEN_BACK.search(sentence):
            break
    return next_round


def _holds(sentence: str, match: re.Match[str], another: re.Pattern[str]) -> bool:
    """Tell whether nothing around a statement takes it back."""
    start, end = match.span()
    before = _AS_BEFORE.sub("", sentence[max(0, start - _NEAR) : start])
    inside, after = match[0], sentence[end:]
    clause = _CLAUSE.split(before)[-1] + inside
    if _SUPPOSED.search(before + inside + re.split(r"[,.:]", after[:40])[0]):
        return False
    if _DENIED.search(clause) or another.match(after) or "?" in (after[:1], sentence[-1]):
        return False
    # The chance that is stated with it.
    after = re.split(r"[,;.](?!\d)|\band\b", after[:40])[0]
    said = list(_CHANCE.finditer(clause)) or list(_CHANCE.finditer(after))
    percent, share = said[-1].groups() if said else (None, "1")
    return (float(percent) / 100 if percent else float(share)) > 0.5


class _Patterns(NamedTuple):
    """What is looked for, with the labels put in.

    Attributes
    ----------
    named : Pattern
        A label, or its form with "-ing".
    statement : Pattern
        The forms of an expectation.
    another : Pattern
        A further label in the same breath ("J or F").
    numbers : dict
        Number of a label by how it can be said, in lower case or as it is written.
    """

    named: re.Pattern[str]
    statement: re.Pattern[str]
    another: re.Pattern[str]
    numbers: dict[str, int]

    def label(self, match: re.Match[str]) -> int:
        """Return which label a match names: one as it is written, else one in other letters."""
        said = next(value for value in match.groups() if value is not None)
        return self.numbers[said if said in self.numbers else said.casefold()]


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> _Patterns:
    """Return what finds statements about some labels."""
    names = sorted(labels, key=len, reverse=True)
    doing = {
        f"{name.removesuffix('e')}ing": name for name in names if len(name) > 1 and name.isalpha()
    }
    # Labels of one letter only as they are written; numbers only where they count nothing.
    said = [re.escape(x) if len(x) > 1 else f"(?-i:{re.escape(x)})" for x in (*doing, *names)]
    label = rf"(?<!\w)(?:{'|'.join(said)})(?!\w)(?!\s*(?:points?|rounds?|times?)\b)"
    word = rf"(?:my\s+\S+\s+with\s+|(?!{_OPEN}{label}|{_IMPORTANT})[^\s.,;:!?]+\s+)"

    def whole(form: str) -> str:
        """Put in words and labels; a label that begins a form needs no marks before it."""
        begins = form.startswith("@")
        rest = form[begins:].replace("@", rf"{_OPEN}({label}){_CLOSE}")
        rest = re.sub(r"<(\d)>", lambda most: f"{word}{{0,{most[1]}}}?", rest)
        return rf"({label}){_CLOSE}" * begins + rest

    numbers = {name.casefold(): labels.index(name) for name in reversed(labels)}
    numbers |= {verb.casefold(): labels.index(name) for verb, name in doing.items()}
    numbers |= {name: number for number, name in enumerate(labels)}
    another = r"\s*(?:,?\s*(?:or|and|and/or|to)|/|,)\s*(?:(?:the|an?|again|option|action)\s+)*"
    return _Patterns(
        re.compile(label, re.IGNORECASE),
        re.compile("|".join(f"(?:{whole(form)})" for form in _FORMS), re.IGNORECASE),
        re.compile(f"{another}{_OPEN}{label}", re.IGNORECASE),
        numbers,
    )
