"""The stated forms, in English, of what a writer expects the other player to do.

Patterns for `expectations`: in `FORMS`, ``@`` stands for a label, ``~`` for one with "-ing".
"""

from __future__ import annotations

import re

# Who is meant. "They" and its like can only be the other player: nobody else plays.
WHO = (
    r"(?:(?:(?:the|my|this|our|that)\s+)?(?:(?:other|opposing|second)\s+(?:player|agent|side|one|person"
    r"|party|participant)|opponent|partner|counterpart|rival|adversary)"
    r"|the\s+(?:other|player)|player\s+(?:2|two|b)|both(?:\s+of\s+us|\s+players)?|they|he|she)"
)
_ACTING = (
    r"(?:choosing|playing|picking|selecting|using|taking|throwing|going\s+(?:with|for)|repeating"
    r"|sticking\s+(?:with|to))"
)
_DO = (
    r"(?:choose|play|pick|select|use|take|repeat|show|throw|hunt|insist\s+on|go(?:\s+(?:with|for|to))?"
    r"|(?:stick|stay|go|come|continue|carry\s+on)\s+(?:with|to|on|at)|(?:opt|go)\s+for|settle\s+on|be\s+(?:on|at)"
    r"|(?:switch|move|go|come|change)\s+(?:back\s+|over\s+)?to|return\s+to"
    r"|(?:answer|respond|reply|retaliate|counter|punish\s+me|defect|cooperate|say)(?:\s+my\s+\S{1,12})?(?:\s+with)?"
    rf"|continue\s+(?:to\s+(?:choose|play|pick|select|use)|{_ACTING})|be\s+{_ACTING}"
    rf"|keep\s+(?:on\s+)?(?:to|with|{_ACTING}))"
)
_DOES = (
    r"(?:chooses?|plays?|picks?|selects?|uses?|takes?|throws?|(?:goes?|stays?|sticks?|continues?)\s+(?:with|for|to|on)"
    r"|(?:returns?|(?:goes?|switch(?:es)?|comes?|moves?)(?:\s+back|\s+over)?)\s+to|repeats?"
    rf"|(?:keeps?|continues?)\s+{_ACTING})"
)
_DOING = rf"(?:is|are|['’](?:s|re))\s+(?:now\s+|again\s+)?{_ACTING}"
_SURE = (
    r"(?:(?:most|more|very|quite|almost|pretty|just|simply|once|now|also|again|next|then|therefore|thus|still"
    r"|likely|probably|certainly|surely|definitely|presumably|again|always|consistently|usually|rather|clearly"
    r"|logically|naturally|rationally|in\s+all\s+likelihood)\s+)*"
)
# "They will", "they'd", "they're going to", "are most likely to".
_WILL = (
    rf"(?:\s+{_SURE}(?:will|shall|should|would)|['’](?:ll|d)"
    rf"|(?:\s+{_SURE}(?:is|are|seems?|appears?)|['’](?:s|re))\s+(?:{_SURE}(?:likely|going|expected|bound|certain|sure"
    rf"|set|about|predicted|inclined)\s+to|gonna))\s+{_SURE}"
)
FILL = (
    r"(?:(?:the|an?|same|action|option|choice|move|label|letter|their|its|his|her|with|again|another"
    r"|usual)\s+)*"
)
_MOVE = r"(?:action|move|choice|play|decision|pick|selection|option|label|response|behaviou?r)"
_IS = (
    r"\s*(?:(?:is|would\s+be|will\s+be|should\s+be)\s+(?:now\s+)?(?:that\s+(?:it\s+is\s+)?)?"
    r"|[:=→]|->|=>|–|—)\s*"
)
_THINK = (
    r"(?:expect|predict|anticipate|forecast|foresee|assume"
    r"|am\s+(?:expecting|anticipating|assuming))"
)
_I = (
    r"\b(?:i|we)\s*(?:['’](?:d|m|ll)|would|can|do|also|now|still|therefore|thus|again|rather|fully|then"
    r"|expecting|assuming|\s)*"
)
_ROUND = r"(?:in|for)\s+(?:(?:this|the\s+(?:next|coming|current))\s+round|round\s+\d+)"
# What makes a plain present ("they choose J") a belief about this round.
_BELIEVED = (
    r"\b(?:think|believe|guess|bet|say|suspect|reckon|figure|likely(?:\s+than\s+not)?|probable|chance|likely"
    r"\s+thing\s+is|chances\s+are|odds\s+are|sure|confident|certain|convinced|predict|expect|means|suggests)"
)
# "I expect J to pay more" expects nothing of the other player.
_NO_RESULT = (
    r"(?!\s+(?:to|will|would|can|gives?|yields?|earns?|pays?|brings?|is|has|was)\b"
    r"(?!\s+be\s+(?:chosen|played|picked|selected|next|what)))"
)

# Assuming that they play J; given that the other player chooses J.
ASSUMED = rf"\b(?:assum(?:e|ing)|given)\s+(?:that\s+)?{WHO}\s+{_SURE}{_DOES}\s+{FILL}@"

FORMS = (
    # The other player will choose J; they are most likely to stick with J.
    rf"\b{WHO}(?:\s+or\s+she)?,?{_WILL}(?:tend\s+to\s+)?{_DO}\s+{FILL}@",
    # The other player has chosen J and will choose J; never "and I will".
    rf"\b{WHO}\s+[^.;:\n]{{1,60}}?\band{_WILL}{_DO}\s+{FILL}@",
    # The opponent will cooperate, will keep defecting: the label is the verb.
    rf"\b{WHO},?{_WILL}@",
    rf"\b{WHO},?{_WILL}(?:keep(?:\s+on)?|continue|be)\s+~",
    # They probably choose J. ("They always choose J" tells of the past.)
    rf"\b{WHO}\s+(?:most\s+)?(?:probably|likely|presumably|surely)\s+(?:again\s+)?{_DOES}\s+{FILL}@",
    # The partner picks J next; they stay with J now.
    rf"\b{WHO}\s+{_SURE}{_DOES}\s+{FILL}@(?=\s+(?:next|now|this\s+time|(?:in|for)\s+this\s+round)\b)",
    # Opponent likely J; other player: probably J; other player: J next.
    rf"\b{WHO}\s*:?\s*(?:most\s+|very\s+)?(?:likely|probably|predicted|expected)\s*:?\s+{FILL}@",
    rf"\b{WHO}\s*:\s*@(?=\s+next\b)",
    # I think the other player chooses J; it is likely that they choose J; they are choosing J.
    rf"{_BELIEVED}\s+(?:is\s+)?(?:that\s+)?{WHO}\s*{_SURE}(?:{_DOES}|{_DOING})\s+{FILL}@",
    ASSUMED,
    # Since they choose J.
    rf"\b(?:since|because|as|knowing)\s+(?:that\s+)?{WHO}\s+{_SURE}{_DOES}\s+{FILL}@",
    # I expect J; I predict that it is J; I expect them to play J; I anticipate J from them.
    rf"{_I}{_THINK}\s+(?:that\s+)?(?:(?:it\s+is|it['’]s|to\s+see)\s+)?{FILL}@{_NO_RESULT}",
    rf"{_I}{_THINK}\s+(?:(?:{WHO}|them|him|her)\s+)(?:to\s+{_SURE}(?:{_DO}\s+{FILL})?|{_ACTING}\s+{FILL})@",
    rf"{_I}{_THINK}\s+(?:(?:{WHO}|them|him|her)\s+)(?:to\s+(?:keep(?:\s+on)?|continue)\s+)~",
    # J again from the other player; so J it is for them.
    rf"@\s+(?:(?:again|now|once\s+more|next)\s+)?(?:it\s+(?:is|will\s+be|should\s+be)\s+)?from\s+(?:{WHO}|them)",
    r"@\s+it\s+(?:is|will\s+be|should\s+be)\s+for\s+them",
    # My prediction is J; most likely move of the other player: J.
    rf"\b(?:prediction|expectation|forecast|best\s+guess|(?:expected|predicted|anticipated|likel(?:y|iest)"
    rf"|probable)\s+(?:next\s+)?(?:{WHO}(?:'s|’s)?\s+)?{_MOVE}|next\s+{_MOVE}(?=\s+(?:of|for|from|by)\s+{WHO}))"
    rf"(?:\s+(?:of|for|from|by|about)\s+(?:(?:{WHO}|them|him|her)(?:'s|’s)?|(?:this|the\s+(?:next|coming"
    rf"|current))\s+round|round\s+\d+)(?:\s+{_MOVE})?)*"
    rf"(?:\s+{_ROUND})?{_IS}(?:{WHO}\s*(?:{_WILL}|\s{_SURE}){_DO}s?\s+)?{FILL}@",
    # The other player's next move will be J; their choice is probably J.
    rf"\b(?:{WHO}(?:'s|’s|s'|s’)|their|his|her)\s+(?:next|coming|likely|most\s+likely|likeliest|probable|expected)?\s*"
    rf"{_MOVE}(?:\s+{_ROUND})?\s+"
    rf"(?:(?:will|should|would)\s+{_SURE}be|is\s+{_SURE}(?:(?:likely|going|expected)\s+to\s+be)?)\s*{_SURE}{FILL}@",
    rf"\b(?:{WHO}(?:'s|’s|s'|s’)|their|his|her)\s+(?:next|coming|(?:most\s+)?likely|likeliest|probable|expected)\s+"
    rf"{_MOVE}(?:\s+{_ROUND})?\s*:\s*{FILL}@",
    # The next in the cycle is J. It will be J again.
    rf"(?<!\bmy\s)(?<!\bown\s)\bnext\s+(?:one|in\s+line|element|term|in\s+the\s+(?:cycle|sequence|pattern))"
    rf"(?:\s+in\s+(?:line|the\s+(?:cycle|sequence|pattern)))?\s+(?:is|will\s+be|would\s+be|should\s+be)\s+{FILL}@",
    rf"\b(?:suggests|means|implies|indicates)\s+(?:that\s+)?{FILL}@(?=\s+(?:next|again|now)\b)",
    rf"\b(?:it\s+(?:will|should)|it['’]ll)\s+{_SURE}be\s+{FILL}@(?!\s+(?:for\s+me|then)\b)",
    # J is the most likely choice of the other player; J is what they will play; J (predicted).
    rf"@\s+(?:is|looks|seems|remains|appears)\s+(?:by\s+far\s+)?(?:the\s+)?(?:(?:most|more)\s+(?:likely|probable)|likeliest"
    rf"|expected)\b(?:\s+(?:next\s+)?{_MOVE})?(?:\s+(?:of|for|from|by)\s+(?:{WHO}|them|him|her))?",
    rf"@\s+is\s+what\s+(?:i\s+{_THINK}|{WHO}{_WILL}{_DO})",
    r"@\s*\((?:predicted|expected|prediction|most\s+likely|likely)\)",
)

# Suppositions that say no more than "as before".
AS_BEFORE = re.compile(
    r"\b(?:if\s+(?:the|this|that|their)\s+(?:pattern|trend|cycle|sequence)\s+(?:holds?|continues?|goes\s+on|persists)"
    r"|unless\s+(?:something|anything)\s+changes|if\s+nothing\s+changes|if\s+i['’]?\s*(?:m|am|had)\s+(?:right|to\s+(?:bet|guess)))",
    re.IGNORECASE,
)
# A supposition, a wish or a possibility names no expectation; nor does what the prompt itself said.
SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|imagine|in\s+case|in\s+(?:that|which|this)\s+case|otherwise|or\s+else"
    r"|when(?:ever)?|once|should\s+(?:they|the)|had\s+(?:they|the|i)|were\s+(?:they|the|to)|either|might|could|may"
    r"|perhaps|maybe|possibl[ey]|possibility|equilibri(?:um|a)|hop(?:e|ing|efully)|wish|want|would\s+like|ideally"
    r"|(?:a|some|small|slight|little)\s+chance)\b"
    r"|\byou\s+(?:think|know|expect|believe|predict|are\s+told)\b|\bto\s+(?:think|believe)\b|\bthen,?\s*$",
    re.IGNORECASE,
)
DENIED = re.compile(
    r"\b(?:not|never|no\s+(?:longer|reason|evidence|way|sign|guarantee|one)|nobody|nothing|neither|unlikely|hardly|rarely"
    r"|seldom|doubt|avoid|stop|instead\s+of|rather\s+than|cannot|too\s+(?:early|soon)|naive|foolish|without"
    r"|(?:less|un)\s*likely|false|mistaken)\b|n['’]t\b|\bwrong\b",
    re.IGNORECASE,
)
# What was thought once, and what is to come later than this round.
BEFORE_NOW = re.compile(
    r"\b(?:(?:thought|believed|expected|hoped|assumed|predicted|guessed)|(?:was|were)\s+(?:sure|convinced))\b",
    re.IGNORECASE,
)
_LATER = (
    r"(?:(?:in|for|during|by)\s+(?:the\s+)?(?:final|later|future|following|subsequent|long)\b|later\b|eventually\b|afterwards\b"
    r"|one\s+day\b|some\s?day\b|at\s+some\s+point\b|after\s+(?:this|that|which)\b|next\s+time\b|in\s+turn\b)"
)
LATER = re.compile(rf"\b{_LATER}|\bfrom\s+(?:then|there)\s+on\b", re.IGNORECASE)
NEXT_ROUND = re.compile(r"\bin\s+the\s+next\s+rounds?\b|\bthe\s+round\s+after\b", re.IGNORECASE)
# Right after a statement: a condition, or a later round ("in the last round").
AFTER = re.compile(
    rf"[^.,;:!?\n]{{0,40}}?\b(?:(?<!even\s)(?<!as\s)if|unless|whenever|provided|as\s+long\s+as|in\s+case|when"
    rf"|{_LATER}|in\s+the\s+last\s+round|or\s+(?:will|would|do)\s+(?:they|he|she))\b"
    r"|\s*(?:\.\.\.|…),?\s+or\s+(?:will|would|do)\b|\s+more\s+often\b|\s*\?",
    re.IGNORECASE,
)
# A chance in percent or as a probability.
CHANCE = re.compile(r"\b(\d{1,3}(?:\.\d+)?)\s?\\?%|\b(0?\.\d+)\b")
# The writer gives up, or starts to correct an earlier statement.
GIVEN_UP = re.compile(
    r"\b(?:(?:do\s+not|don['’]t)\s+(?:really\s+)?know|(?:cannot|can['’]t|can\s+not)\s+(?:tell|know|say|predict)|no\s+idea"
    r"|(?:impossible|hard|difficult)\s+to\s+(?:say|tell|predict|know)|unpredictable|give\s+up\s+predicting"
    r"|(?:go|be)\s+either\s+way|or\s+(?:will|would|do)\s+they|(?:that|this|it)\s+(?:was|is)\s+wrong|scratch\s+that)\b",
    re.IGNORECASE,
)
CORRECTING = re.compile(
    r"\b(?:wait|actually|hmm+|scratch\s+that|no,|on\s+second\s+thought|correct(?:ion|ed)|(?:was|is)\s+wrong|or\s+rather"
    r"|is\s+that\s+(?:right|true))",
    re.IGNORECASE,
)
END = re.compile(
    r"(?<=[.!?;])[\"'”’*_)\]]*\s+|\n+|;\s*|,\s+(?=(?:so|but|and|then|hence|thus|therefore)\b)"
)
