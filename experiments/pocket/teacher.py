"""The teacher: a scripted model that knows how the transcript goes on and answers every question.

tomeval's own strategies ask it, so that the corpus holds exactly the prompts that the model will
read; what it replies is what the model learns to reply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from plays import Play

from tomeval.games.matrix.rules import Joint
from tomeval.models.base import (
    Capabilities,
    GenerateRequest,
    Model,
    Prompt,
    Reply,
    ScoreRequest,
    Scores,
)

MARKER = "Final answer:"
LAST = 4
"""Rounds that a summary shows."""


@dataclass(frozen=True)
class Asked:
    """One question and what is taught as its answer.

    Attributes
    ----------
    kind : str
        ``act``, ``predict`` or ``react`` with ``lm``, ``qa`` or ``cot``; or what is written.
    prompt : Prompt
    answer : str
        What follows the prompt, and its prefill.
    """

    kind: str
    prompt: Prompt
    answer: str


class Teacher(Model):
    """Answers for one transcript.

    Parameters
    ----------
    play : Play
    sees : str
        The strategy's context: what is known to the one who answers.
    """

    def __init__(self, play: Play, sees: str) -> None:
        self.name = "teacher"
        self.capabilities = Capabilities(concurrent=False)
        self.play, self.sees = play, sees
        self.round = 0  # the coming one, from 0
        self.asked: list[Asked] = []

    async def generate(self, request: GenerateRequest) -> Reply:
        """Write the reply that is taught."""
        kind, text = self._write(request.prompt)
        self.asked.append(Asked(kind, request.prompt, text))
        return Reply(text)

    async def score(self, request: ScoreRequest) -> Scores:
        """Put all probability on the label that is taught."""
        question = _question(request.prompt)
        action = self._action(question, request.prompt)
        label = request.labels[action]
        self.asked.append(Asked(f"{question} lm", request.prompt, f" {label}"))
        logprobs = [0.0 if i == action else -math.inf for i in range(len(request.labels))]
        return Scores(tuple(logprobs), 1.0, "taught")

    @property
    def past(self) -> list[Joint]:
        """What has been played before the coming round."""
        return self.play.joints[: self.round]

    def expected(self) -> int:
        """Return the partner's most probable action of the coming round."""
        emissions = self.play.partner.emissions[self.play.states[self.round]]
        if (np.sort(emissions)[-2:] == emissions.max()).all():
            return self.play.joints[self.round].partner  # a tie: what it happens to do
        return int(emissions.argmax())

    def _action(self, question: str, prompt: Prompt) -> int:
        if question == "act":
            return self.play.targets[self.round]
        if question == "predict":
            return self.expected()
        state, b = self.play.states[self.round], self.play.joints[self.round].partner
        following = self.play.partner.next_state[state, self._supposed(prompt), b]
        return int(self.play.partner.emissions[following].argmax())

    def _supposed(self, prompt: Prompt) -> int:
        """Return the own action that a conditional question supposes."""
        request = _request(prompt)
        own = self.play.labels.own
        return next(a for a in range(len(own)) if f"you choose {own[a]} in round" in request)

    def _write(self, prompt: Prompt) -> tuple[str, str]:
        """Return the kind of text that is asked for, and the text."""
        own, partner = self.play.labels.own, self.play.labels.partner
        request = _request(prompt)
        if request.startswith("Rewrite"):
            return "summary", self._summary()
        expectation = f"I expect {partner[self.expected()]}."
        plan = f"I choose {own[self.play.targets[self.round]]}."
        if "Write the lesson only" in request:
            return "lesson", f"{self._regularity()} {expectation}"
        notes = f"Plans: {plan}\nInsights: {self._regularity()} {expectation}"
        if "Write these two lines only" in request:
            return "plans", notes
        question = _question(prompt)
        label = (own if question == "act" else partner)[self._action(question, prompt)]
        lines = [f"{MARKER} {label}"]
        written = "cot" if "Think step by step" in request else "qa"
        if written == "cot":
            thought = f"{self._regularity()} {expectation}"
            if question == "act":
                thought += f" {plan}"
            elif question == "react":
                supposed = own[self._supposed(prompt)]
                thought = f"{self._regularity()} After {supposed} I expect {label}."
        if 'begins with "Plans:"' in request:
            lines = [notes, *lines]
        if written == "cot":
            lines = [thought, *lines]
        return f"{question} {written}", "\n\n".join(lines)

    def _summary(self) -> str:
        """Write what a summary keeps: actions, what they bring, regularities, the last rounds."""
        play = self.play
        own, partner = play.labels.own, play.labels.partner
        rows = [
            f"- {own[a]} against {partner[b]}: {_number(play.game.own[a, b])} for you, "
            f"{_number(play.game.partner[a, b])} for the other player."
            for a in range(play.game.n)
            for b in range(play.game.m)
        ]
        first = max(0, self.round - LAST)
        rounds = [
            f"Round {number}: you chose {own[joint.own]}, the other player chose "
            f"{partner[joint.partner]}."
            for number, joint in enumerate(self.past[first:], first + 1)
        ]
        return "\n".join(["The payoffs of a round:", *rows, self._regularity("you"), *rounds])

    def _regularity(self, who: str = "I") -> str:
        """Say in one sentence what the other player has done so far."""
        past = self.past if self.sees != "-history" else []
        own, partner = self.play.labels.own, self.play.labels.partner
        if not past:
            return "Nothing is known of the other player."
        moves = [joint.partner for joint in past]
        last = past[-1]
        name = partner[last.partner]
        if len(set(moves)) == 1:
            return f"The other player always chose {name}."
        if len(moves) > 2 and all(a == b for a, b in zip(moves[2:], moves[:-2], strict=True)):
            return f"The other player goes back and forth, last {name}."
        if len(set(moves[-4:])) == 1 and len(moves) > 4:
            return f"The other player now always chose {name}."
        return f"Last {who} chose {own[last.own]} and the other player chose {name}."


def _request(prompt: Prompt) -> str:
    """Return the last paragraph: the question itself."""
    return prompt.messages[-1].content.rpartition("\n\n")[2]


def _question(prompt: Prompt) -> str:
    """Tell what is asked for: the own action, the partner's, or the partner's next one."""
    request = _request(prompt)
    if request.startswith("Suppose that"):
        return "react"
    if "other player" in prompt.prefill:  # the own action may be asked for as well
        return "predict"
    own = "Which action do you choose" in request or "which action is best for you" in request
    return "act" if own else "predict"


def _number(value: float) -> str:
    return np.format_float_positional(value + 0.0, trim="-", sign=False)
