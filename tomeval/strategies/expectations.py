"""What a written text says that the other player will do: the last expectation that it names.

No model judges the text. A statement counts if it has one of a few stated forms in English and
names a label exactly; everything else counts as nothing said. So the reader is made to be right
where it reads something, at the price of what it leaves unread; docs/measures.md has both rates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tomeval.strategies.readers import MARKER

# Who is meant. "They" and its like can only be the other player: nobody else plays.
_WHO = (
    r"(?:(?:the|my|this|our|that)\s+)?(?:(?:other|opposing|second)\s+(?:player|agent|side|one|person"
    r"|party|participant)|opponent|partner|counterpart|rival|adversary)"
    r"|the\s+other|player\s+(?:2|two|b)|they|he|she"
)
_DO = (
    r"(?:choose|play|pick|select|use|take|repeat|show|go\s+(?:with|for|to)|opt\s+for|be\s+on"
    r"|stick\s+(?:with|to)|stay\s+(?:with|on|at)|settle\s+on|switch\s+(?:back\s+)?to|return\s+to"
    r"|go\s+back\s+to|move\s+(?:back\s+)?to|come\s+back\s+to|answer\s+with|respond\s+with|reply\s+with"
    r"|continue\s+(?:with|to\s+(?:choose|play|pick|select|use)|choosing|playing|picking|selecting|using)"
    r"|keep\s+(?:on\s+)?(?:choosing|playing|picking|selecting|using|to|with))"
)
_DOES = (
    r"(?:chooses?|plays?|picks?|selects?|uses?|goes?\s+(?:with|for)|sticks?\s+(?:with|to)|repeats?"
    r"|keeps?\s+(?:choosing|playing|picking|selecting|using)"
    r"|continues?\s+(?:with|choosing|playing|picking))"
)
_DOING = (
    r"(?:choosing|playing|picking|selecting|using|going\s+(?:with|for)|repeating"
    r"|sticking\s+(?:with|to))"
)
_SURE = (
    r"(?:(?:most|very|quite|almost|pretty|just|simply|once|now|also|again|next|then|therefore|still"
    r"|likely|probably|certainly|surely|definitely|presumably|again|always|consistently|usually"
    r"|logically|naturally|rationally|in\s+all\s+likelihood)\s+)*"
)
_WILL = (
    rf"{_SURE}(?:will|'ll|’ll|shall|(?:is|are)\s+{_SURE}(?:(?:likely|going|expected|bound|certain|sure"
    rf"|set|about|predicted|inclined)\s+to)|(?:is|are|'s|'re|’s|’re)\s+gonna|should)\s+{_SURE}"
)
_FILL = (
    r"(?:(?:the|an?|same|action|option|choice|move|label|letter|their|its|his|her|with|again"
    r"|usual)\s+)*"
)
_MOVE = r"(?:action|move|choice|play|decision|pick|selection|option|label|response|behaviou?r)"
_IS = (
    r"\s*(?:(?:is|would\s+be|will\s+be|should\s+be)\s+(?:that\s+(?:it\s+is\s+)?)?"
    r"|[:=→]|->|=>|–|—)\s*"
)
_OPEN = r"[\"'“”‘’`*_«(\[{$\\]{0,6}(?:(?:text|boxed|mathbf)\s?\{)?[\"'“”‘’`*_]{0,6}\s?"
_THINK = r"(?:expect|predict|anticipate|forecast|foresee|am\s+expecting|am\s+anticipating)"

_FORMS = (
    # The other player will choose J; they are most likely to stick with J.
    rf"\b(?:{_WHO})(?:\s+or\s+she)?\s*,?\s*{_WILL}{_DO}\s+{_FILL}@",
    # The opponent will cooperate: the label is the verb.
    rf"\b(?:{_WHO})\s*,?\s*{_WILL}@",
    # The other player always plays J; they tend to choose J; they probably choose J.
    rf"\b(?:{_WHO})\s+(?:always|usually|typically|consistently|probably|likely|presumably|surely"
    rf"|generally|normally)\s+{_DOES}\s+{_FILL}@",
    rf"\b(?:{_WHO})\s+(?:{_SURE})tends?\s+to\s+{_DO}\s+{_FILL}@",
    # Assuming that they play J; given that the other player chooses J; since they choose J.
    rf"\b(?:assuming|given|since|because|as|knowing)\s+(?:that\s+)?(?:{_WHO})\s+{_SURE}{_DOES}\s+{_FILL}@",
    # I expect J; I predict that it is J; I expect them to play J; I anticipate J from them.
    rf"\b(?:i|we)\s*(?:'d|would|can|do|also|now|still|therefore|thus|again)?\s*{_THINK}\s+(?:that\s+)?(?:another\s+)?{_FILL}@",
    rf"\b(?:i|we)\s*(?:'d|would|can|do|also|now|still|therefore|thus|again)?\s*{_THINK}\s+(?:(?:{_WHO}|them|him|her)\s+)"
    rf"(?:to\s+{_SURE}(?:{_DO}\s+{_FILL})?|{_DOING}\s+{_FILL})@",
    # My prediction is J; most likely move of the other player: J.
    rf"\b(?:prediction|expectation|forecast|best\s+guess|(?:expected|predicted|anticipated|likel(?:y|iest)"
    rf"|probable)\s+(?:next\s+)?(?:(?:{_WHO})(?:'s|’s)?\s+)?{_MOVE})"
    rf"(?:\s+(?:of|for|from|by|about)\s+(?:(?:{_WHO}|them|him|her)(?:'s|’s)?|(?:this|the\s+(?:next|coming"
    rf"|current))\s+round|round\s+\d+)(?:\s+{_MOVE})?)*"
    rf"(?:\s+(?:in|for)\s+(?:(?:this|the\s+(?:next|coming|current))\s+round|round\s+\d+))?{_IS}"
    rf"(?:(?:{_WHO})\s+(?:{_WILL}|{_SURE}){_DO}s?\s+)?{_FILL}@",
    # The other player's next move will be J; their choice is probably J.
    rf"\b(?:(?:{_WHO})(?:'s|’s|s'|s’)|their|his|her)\s+(?:next|coming|likely|most\s+likely|likeliest|probable|expected)?\s*"
    rf"{_MOVE}(?:\s+(?:in|for)\s+(?:this\s+round|the\s+(?:next|coming)\s+round|round\s+\d+))?\s+"
    rf"(?:(?:will|should)\s+{_SURE}be|is\s+{_SURE}(?:(?:likely|going|expected)\s+to\s+be)?)\s*{_SURE}{_FILL}@",
    # J is the most likely choice of the other player; J is what they will play.
    rf"@\s+(?:is|looks|seems|remains|appears)\s+(?:by\s+far\s+)?(?:the\s+)?(?:(?:most|more)\s+(?:likely|probable)|likeliest"
    rf"|expected)\b(?:\s+(?:next\s+)?{_MOVE})?(?:\s+(?:of|for|from|by)\s+(?:{_WHO}|them|him|her))?",
    rf"@\s+is\s+what\s+(?:i\s+{_THINK}|(?:{_WHO})\s+{_WILL}{_DO})",
)

# A supposition names no expectation; nor does what the prompt itself said.
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|imagine|in\s+case|even\s+if|when(?:ever)?|should\s+(?:they|the)"
    r"|had|were\s+to|either|might|could|may|perhaps|maybe)\b"
    r"|\byou\s+(?:think|know|expect|believe|predict|are\s+told)\b|\bwhat\s+if\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|never|no\s+longer|neither|unlikely|hardly|rarely|seldom|doubt|avoid|stop|instead\s+of"
    r"|rather\s+than|cannot)\b|n['’]t\b|\bwrong\b|\bless\s+likely\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?<=[.!?;])[\"'”’*_)\]]*\s+|\n+|;\s*|,\s+(?=(?:so|but|and|then|hence|thus|therefore)\b)"
)


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
        of the past ("they chose J"), deny, or name two labels in one breath do not count.

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
    cut = text.casefold().rfind(MARKER.casefold())
    return _last(text[: cut if cut >= 0 else None], tuple(labels))


def _last(text: str, labels: tuple[str, ...]) -> Expectation | None:
    form, again = _patterns(labels)
    for raw in reversed(_END.split(text)):
        sentence = " ".join(raw.split())
        found = None
        for match in form.finditer(sentence):
            before, inside = sentence[max(0, match.start() - _NEAR) : match.start()], match[0]
            if _SUPPOSED.search(before + inside) or _DENIED.search(_clause(before) + inside):
                continue
            if again.match(sentence, match.end()):
                continue
            said = next(value for value in match.groups() if value is not None)
            found = Expectation(_index(said, labels), sentence)
        if found is not None:
            return found
    return None


def _clause(before: str) -> str:
    """Return what stands before a statement in its own clause."""
    return re.split(r"[,:()]|\b(?:so|and|but|because|since)\b", before)[-1]


def _index(said: str, labels: tuple[str, ...]) -> int:
    """Return which label is said: one as it is written, else one in other letters."""
    if said in labels:
        return labels.index(said)
    return [label.casefold() for label in labels].index(said.casefold())


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a statement, and what finds another label right after it."""
    names = sorted(labels, key=len, reverse=True)
    plain = [re.escape(name) if len(name) > 1 else f"(?-i:{re.escape(name)})" for name in names]
    label = rf"(?<!\w)(?:{'|'.join(plain)})(?!\w)"
    slot = rf"({label})[\"'“”‘’`*_»)\]}}$]{{0,6}}"
    # What a statement begins with needs no opening marks: they would be tried at every place.
    forms = "|".join(f"(?:{_slots(form, slot)})" for form in _FORMS)
    again = rf"\s*(?:,?\s*(?:or|and|and/or)|/|,)\s*(?:{_FILL}){_OPEN}{label}"
    return re.compile(forms, re.IGNORECASE), re.compile(again, re.IGNORECASE)


def _slots(form: str, slot: str) -> str:
    """Return a form with the labels put in."""
    begins = form.startswith("@")
    return slot * begins + form[begins:].replace("@", _OPEN + slot)
