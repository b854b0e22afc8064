"""Voices: how a model dresses what it has to say.

A voice gets what is asked for (`Asked`) and a generator, and returns its thinking and its reply.
Cooperative voices follow the instruction in their own manner, and some of them end as people end:
with a courtesy, how sure they are, or a reason below the marked line. The others refuse, hedge,
think without end, ramble, or take their answer back for another.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Asked:
    """What a reply has to hold.

    Attributes
    ----------
    line : str
        The marked line without its answer, such as ``Final answer:``; empty if none is asked for.
    answer : str
        What goes on the line; a label, maybe after a word such as "Option", or an object in JSON.
    options : tuple of str
        The labels to choose from; empty for an object.
    notes : bool
        Whether plans and insights are asked for.
    reasoned : bool
        Whether step-by-step reasoning is asked for.
    question : str
        The end of the prompt, instruction included.
    """

    line: str = ""
    answer: str = ""
    options: tuple[str, ...] = ()
    notes: bool = False
    reasoned: bool = False
    question: str = ""

    @property
    def form(self) -> str:
        """The marked line as the prompt has it, with dots."""
        return self.question.rstrip().rpartition("\n")[2]


class Spoken(NamedTuple):
    """A reply: what was thought before it, and what it says."""

    thinking: str
    text: str


@dataclass(frozen=True)
class Voice:
    """A manner of speaking.

    Attributes
    ----------
    cooperative : bool
        Whether it follows the instruction.
    opening : callable
        What it says before its notes and its answer.
    mark : callable
        Puts the answer behind the marker.
    closing : str
        What stands below the marked line.
    thinks : {"", "tags", "apart", "open"}
        Where its thinking goes: into a block in the reply, into a field of its own, or into a block
        that never ends.
    words : int
        About how long its prose is; three times that where reasoning is asked for.
    """

    name: str
    cooperative: bool
    opening: Callable[[Asked, random.Random, int], str]
    mark: Callable[[Asked], str] = field(default=lambda asked: f"{asked.line} {asked.answer}")
    closing: str = ""
    thinks: str = ""
    words: int = 40

    def speak(self, asked: Asked, rng: random.Random, may_think: bool = True) -> Spoken:
        """Return a reply to what is asked."""
        length = self.words * (3 if asked.reasoned else 1)
        free = not asked.line and not asked.notes
        parts = [f"Note {rng.randrange(10**6)}. {_sentence(rng)}"] if free else []
        parts.append(self.opening(asked, rng, length))
        if asked.notes:
            parts.append(f"Plans: {_sentence(rng)}\nInsights: {_sentence(rng)}")
        if asked.line:
            parts.append(self.mark(asked) + self.closing)
        text = "\n\n".join(part for part in parts if part)
        if not self.thinks or not may_think:
            return Spoken("", text)
        thought = f"Thought {rng.randrange(10**6)}. {_prose(rng, 300)}"
        if self.thinks == "apart":
            return Spoken(thought, text)
        if self.thinks == "open":
            return Spoken("", f"<think>\n{thought}\n{text}")
        return Spoken("", f"<think>\n{thought}\n</think>\n\n{text}")


_SENTENCES = (
    "The other player has been quite steady over the last few rounds, as far as I can see.",
    "What happened before is the best evidence that I have for what happens next.",
    "It seems to me that a simple pattern explains nearly everything so far.",
    "I should compare what each of the possible answers would bring me.",
    "A surprise is always possible, but I see no sign of one coming.",
    "If I changed my mind now, I would have to expect an answer to that later on.",
    "There are still some rounds left, so it pays to keep the long run in mind.",
    "Let me also check the opposite assumption, just to be on the safe side.",
    "On balance the numbers speak a fairly clear language here.",
    "I have looked at the first round, at the last one, and at everything in between.",
    "Nothing in the rules speaks against this way of reading the situation.",
    "So I feel reasonably comfortable with the conclusion that I am about to give.",
)
_LANGUAGES = (
    "Der andere Spieler hat bisher sehr gleichmäßig gespielt, also bleibe ich bei meinem Plan.",
    "Je pense que l'autre joueur va continuer comme avant, donc je ne change rien.",
    "Creo que lo mejor es esperar y mirar lo que pasa en la próxima ronda.",
    "对方到目前为止的选择很有规律，所以我会按照同样的思路来回答。",
    "Другой игрок до сих пор вёл себя предсказуемо, и я это учитываю.",
    "相手はこれまで同じような手を選んでいるので、次もそうだと思います。",
)


def _sentence(rng: random.Random) -> str:
    return rng.choice(_SENTENCES)


def _prose(rng: random.Random, words: int, bank: tuple[str, ...] = _SENTENCES) -> str:
    """Return sentences of about so many words, in paragraphs of four."""
    found: list[str] = []
    while len(" ".join(found).split()) < words:
        found.append(rng.choice(bank))
    return "\n\n".join(" ".join(found[i : i + 4]) for i in range(0, len(found), 4))


def _listed(asked: Asked) -> str:
    return ", ".join(asked.options) or "everything"


def _terse(asked: Asked, rng: random.Random, words: int) -> str:
    return _prose(rng, words) if asked.reasoned else ""


def _chatty(asked: Asked, rng: random.Random, words: int) -> str:
    return f"Great question! Let me walk you through my thinking.\n\n{_prose(rng, words)}"


def _markdown(asked: Asked, rng: random.Random, words: int) -> str:
    lines = "\n".join(f"- **{_sentence(rng)}**" for _ in range(3))
    return f"## Analysis\n\n{lines}\n\n### Details\n\n{_prose(rng, words)}\n\n---"


def _latex(asked: Asked, rng: random.Random, words: int) -> str:
    first, last = r"Let $u(a) = \mathbb{E}[r \mid a]$ be my reward.", r"\[u(a^*) \ge u(a)\]"
    return f"{first}\n\n{_prose(rng, words)}\n{last}"


def _json(asked: Asked, rng: random.Random, words: int) -> str:
    return f'```json\n{{"analysis": "{_sentence(rng)}", "confidence": 0.7}}\n```'


def _role_play(asked: Asked, rng: random.Random, words: int) -> str:
    return f'*strokes his beard* "Arr, so that be the game!" {_prose(rng, words)} *nods*'


def _self_correction(asked: Asked, rng: random.Random, words: int) -> str:
    first = rng.choice(asked.options) if asked.options else "my first idea"
    return f"I would say {first}. Wait, no, I have to check that.\n\n{_prose(rng, words)}\n\nRight."


def _twice(asked: Asked, rng: random.Random, words: int) -> str:
    first = f"{asked.line} {asked.answer}\n\n" if asked.line and not asked.notes else ""
    return f"{first}Let me double-check that.\n\n{_prose(rng, words)}\n\nYes, that holds."


def _restated(asked: Asked, rng: random.Random, words: int) -> str:
    return f"You asked me the following.\n\n{asked.question}\n\n{_prose(rng, words)}"


def _echo(asked: Asked, rng: random.Random, words: int) -> str:
    return f"Options: {_listed(asked)}\n{_terse(asked, rng, words)}"


def _foreign(asked: Asked, rng: random.Random, words: int) -> str:
    return _prose(rng, words, _LANGUAGES)


def _hedging(asked: Asked, rng: random.Random, words: int) -> str:
    return f"It is hard to say, {_listed(asked)} could all be right. {_prose(rng, words)}"


def _refusal(asked: Asked, rng: random.Random, words: int) -> str:
    return "I'm sorry, but I can't make that decision for you."


def _rambling(asked: Asked, rng: random.Random, words: int) -> str:
    return _prose(rng, 4000)


def _boxed(asked: Asked) -> str:
    """Put a label, or an object, into a box."""
    inner = rf"\text{{{asked.answer}}}" if asked.options else asked.answer
    return rf"{asked.line} $\boxed{{{inner}}}$"


def _keyed(asked: Asked) -> str:
    """Put a label under a key, or an object into a fence."""
    if asked.options:
        return f'{asked.line} {{"answer": "{asked.answer}"}}'
    return f"{asked.line}\n```json\n{asked.answer}\n```"


def _two_answers(asked: Asked) -> str:
    """Answer, and take it back for another answer."""
    other = next((o for o in asked.options if o not in asked.answer.split()), "")
    if not other:
        ((key, items),) = json.loads(asked.answer).items()
        other = f"\n{json.dumps({key: items[::-1]})}"
    return f"{asked.line} {asked.answer}\n\nWait, that is wrong, I mean {other}"


def _no_line(asked: Asked) -> str:
    return "I hope that you understand."


_COURTESY = "\n\nLet me know if you want more detail!"
_SURE = "\n\n---\n*Confidence: 85%*"

VOICES = {
    voice.name: voice
    for voice in (
        Voice("terse", True, _terse),
        Voice("chatty", True, _chatty, closing=_COURTESY, words=70),
        Voice("markdown", True, _markdown, lambda a: f"### **{a.line}** **{a.answer}**", _SURE),
        Voice("LaTeX", True, _latex, _boxed, "\n\nExplanation: it maximises $u(a)$."),
        Voice("JSON", True, _json, _keyed),
        Voice("thinking in tags", True, _terse, thinks="tags"),
        Voice("thinking apart", True, _terse, thinks="apart"),
        Voice("hedging, then answer", True, _hedging),
        Voice("label echo", True, _echo),
        Voice("other language", True, _foreign, closing="\n\nIch hoffe, das hilft. 祝你好运！"),
        Voice("role play", True, _role_play, lambda a: f"{a.line} *{a.answer}*", "\n\n*bows*"),
        Voice("self-correction", True, _self_correction, closing="\n\nThat is settled, then."),
        Voice("answer twice", True, _twice, lambda a: f"**{a.line} {a.answer}**"),
        Voice("restated prompt", True, _restated),
        Voice("two lines", True, _chatty, lambda a: f"**{a.line}**\n\n{a.answer}."),
        Voice("tagged", True, _terse, lambda a: f"<answer>\n{a.line} {a.answer}", "\n</answer>"),
        Voice("refusal", False, _refusal, _no_line),
        Voice("hedging", False, _hedging, lambda a: f"{a.line} probably {a.answer}, I think"),
        Voice("thinking without end", False, _terse, thinks="open"),
        Voice("cut off", False, _rambling),
        Voice("two answers", False, _chatty, _two_answers),
    )
}
"""Every voice by name."""

COOPERATIVE = tuple(name for name, voice in VOICES.items() if voice.cooperative)
"""Names of the voices that every strategy must be able to play with."""
