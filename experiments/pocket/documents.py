"""From a play to what is trained on: one transcript, and questions that branch off its rounds.

A prompt of round t is the transcript up to t and a question. Writing every prompt out would repeat
the transcript again and again; here a document holds it once, and the questions of all rounds hang
on it as branches that see the transcript up to their round only (a tree mask). The model is trained
on the very token sequences that it will read, at a tenth of the cost.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from plays import Play, draw_play, draw_simple_plays
from teacher import Asked, Teacher

from tomeval.games.matrix.rules import Observation
from tomeval.games.matrix.subjects.base import Door, Seat
from tomeval.games.matrix.subjects.llm import LLMSubject
from tomeval.strategies.compose import ADVICE, ANSWERS

_T = TypeVar("_T")

STEPS_ASKED = 2
ANSWERS_ASKED = (0.35, 0.28, 0.27, 0.1)
ADVICE_ASKED = (0.3, 0.1, 0.1, 0.05, 0.1, 0.09, 0.08, 0.08, 0.1)
# Told what the partner does, one learns to look the best response up before one can foresee.
ADVICE_BEST = (0.3, 0.1, 0.05, 0.25, 0.06, 0.06, 0.06, 0.06, 0.06)


class Label(NamedTuple):
    """Where a label stands in a transcript, with the space before it, and what is taught there."""

    start: int
    end: int
    taught: str
    own: bool


@dataclass(frozen=True)
class Branch:
    """A question, how its answer begins, and the taught answer, after `offset` characters."""

    offset: int
    question: str
    prefill: str
    answer: str
    kind: str


@dataclass
class Document:
    """The beginning of a user turn, the names of its actions, the questions that branch off it."""

    text: str
    names: tuple[str, ...]
    labels: list[Label] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)


def draw_documents(
    rng: np.random.Generator, rounds: int, own_play: str, scored: int = STEPS_ASKED
) -> list[Document]:
    """Draw one play and return its transcript with questions, and summaries with questions.

    Parameters
    ----------
    rng : Generator
    rounds : int
        Steps in the transcript.
    own_play : str
        See `plays.draw_play`.
    scored : int
        In how many steps a strategy with scored labels asks; the others ask in two.
    """
    play = draw_play(rng, rounds + 1, own_play)
    contexts = ["full", "-payoffs", "-rewards", "-history"]
    sees = str(rng.choice(contexts, p=[0.76, 0.1, 0.04, 0.1]))
    # What to play is not to be told from an action's place in a list.
    shuffled = 0.5 if own_play == "best" else 0.2
    order = str(rng.choice(["fixed", "shuffled"], p=[1 - shuffled, shuffled]))
    seed = int(rng.integers(2**62))
    names = play.labels.own + play.labels.partner
    root = Document("", names)
    documents = [root]
    for answer in rng.choice(ANSWERS, size=2 if rounds < 30 else 3, p=ANSWERS_ASKED):
        advice = str(rng.choice(ADVICE, p=ADVICE_BEST if own_play == "best" else ADVICE_ASKED))
        context = "s2a" if sees == "full" and rng.random() < 0.25 else sees
        strategy = {"context": context, "advice": advice, "answer": str(answer)}
        count = scored if answer == "lm" else STEPS_ASKED
        steps = {int(x) for x in rng.integers(0, rounds + 1, size=count)}
        if rng.random() < 0.15:
            steps.add(0)
        interview = Interview(play, strategy, order, seed, rng)
        root.text = interview.run(rounds, steps)
        root.branches += interview.on_root
        documents += interview.on_summaries
    if sees != "-history":
        root.labels = _find_labels(root.text, play, rounds)
    return documents


def draw_lookups(
    rng: np.random.Generator, rounds: int, shuffle: bool, answers: tuple[str, ...] = ()
) -> list[Document]:
    """Draw what a best response is looked up in, and nothing else that has to be learnt.

    The rules, and on half of the documents questions that tell which single action the partner
    plays; on the other half a short play against each of them.

    Parameters
    ----------
    rng : Generator
    rounds : int
        Steps of a play.
    shuffle : bool
        Whether every other document has its options in an order of its own.
    answers : tuple of str
        Answer parts to draw from; predictions are then asked too. Else only own actions are, with
        scored labels.
    """
    told = rng.random() < 0.5
    order, seed = "fixed", 0
    if shuffle:
        order, seed = ("fixed", "shuffled")[int(rng.integers(2))], int(rng.integers(2**62))
    answer = str(rng.choice(answers)) if answers else "lm"
    kinds = ("act", "predict") if answers and not told else ("act",)
    plays = draw_simple_plays(rng, 0 if told else rounds)
    strategy = {"context": "full", "advice": "oracle" if told else "none", "answer": answer}
    documents: list[Document] = []
    for play in plays:
        interview = Interview(play, strategy, order, seed, rng)
        last = len(play.joints) - 1
        steps = {last, int(rng.integers(last + 1))} if answers else {last}
        text = interview.run(last, steps)
        asked = [b for b in interview.on_root if b.kind.startswith(kinds)]
        if told and documents:
            documents[0].branches += asked
        else:
            names = play.labels.own + play.labels.partner
            labels = [] if told else _find_labels(text, play, rounds)
            documents.append(Document(text, names, labels, asked))
    return documents


class Interview:
    """One strategy asks the teacher in chosen steps of a play.

    Attributes
    ----------
    on_root : list of Branch
        Questions that follow the transcript.
    on_summaries : list of Document
        Questions that follow a summary in its place.
    """

    def __init__(
        self,
        play: Play,
        strategy: dict[str, str],
        order: str,
        seed: int,
        rng: np.random.Generator,
    ) -> None:
        self.play, self.rng, self.strategy = play, rng, strategy
        self.teacher = Teacher(play, strategy["context"])
        # One seed gives all strategies the same order of options.
        generator = np.random.default_rng(seed)
        door = Door([play.partner], play.game.m, lambda *_: (0.5, 0.5))
        seat = Seat(play.game, play.labels, play.horizon, generator, door, self.teacher, "pocket")
        self.subject = LLMSubject(
            seat, strategy=dict(strategy), option_order=order, max_attempts=1, conditional=True
        )
        self.on_root: list[Branch] = []
        self.on_summaries: list[Document] = []

    def run(self, rounds: int, steps: set[int]) -> str:
        """Ask in `steps`, and return the transcript of all rounds."""
        keeps_notes = self.strategy["advice"] == "plans_insights"
        for step in range(rounds + 1):
            self.teacher.round = step
            if step in steps or keeps_notes:
                self._ask(step)
                self._keep(step in steps)
            if step < rounds:
                self.teacher.round = step + 1
                joint = self.play.joints[step]
                self.subject.seat.door.follow(joint.own, joint.partner)
                _drive(self.subject.observe(joint))
                self._keep(step in steps)
        return self.subject.scene.context()

    def _ask(self, step: int) -> None:
        """Ask the functional, the literal and sometimes the conditional question of a step."""
        play, subject = self.play, self.subject
        past = tuple(play.joints[:step])
        observation = Observation(play.game, play.labels, step + 1, play.horizon, past)
        subject.seat.door.set(partial(_told, {1: play.joints[step].partner}))
        _drive(subject.act(observation))
        own = play.joints[step].own if self.rng.random() < 0.5 else None
        _drive(subject.predict(observation, own))
        if self.rng.random() < 0.2:
            for action in range(play.game.n):
                _drive(subject.react(observation, action))

    def _keep(self, wanted: bool) -> None:
        """Turn what was asked since the last time into branches."""
        raw = self.subject.scene.context()
        if wanted:
            for asked in self.teacher.asked:
                content = asked.prompt.messages[-1].content
                if content.startswith(raw):
                    self.on_root.append(_branch(len(raw), content[len(raw) :], asked))
                else:
                    head = content.partition("\n\n")[0]  # a taught summary has no empty line
                    self._on_summary(head, content[len(head) :], asked)
        self.teacher.asked.clear()

    def _on_summary(self, head: str, question: str, asked: Asked) -> None:
        """Hang a question on the document of its summary."""
        if not self.on_summaries or self.on_summaries[-1].text != head:
            names = self.play.labels.own + self.play.labels.partner
            self.on_summaries.append(Document(head, names))
        self.on_summaries[-1].branches.append(_branch(len(head), question, asked))


def _branch(offset: int, question: str, asked: Asked) -> Branch:
    return Branch(offset, question, asked.prompt.prefill, asked.answer, asked.kind)


def _find_labels(text: str, play: Play, rounds: int) -> list[Label]:
    """Find where the labels of every round stand in a transcript."""
    found, place = [], text.index("The game so far:")
    own, partner = play.labels.own, play.labels.partner
    for number, (joint, target) in enumerate(zip(play.joints[:rounds], play.targets, strict=False)):
        head = f"Round {number + 1}: you chose"
        start = text.index(head, place) + len(head)
        end = start + 1 + len(own[joint.own])
        found.append(Label(start, end, f" {own[target]}", True))
        start = end + len(", the other player chose")
        place = start + 1 + len(partner[joint.partner])
        found.append(Label(start, place, text[start:place], False))
    return found


async def _told(answer: Any, *asked: Any) -> Any:
    return answer


def _drive(coroutine: Awaitable[_T] | None) -> _T | None:
    """Run a coroutine that never waits: the teacher answers at once."""
    try:
        coroutine.send(None)  # type: ignore[union-attr]
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise RuntimeError("the teacher did not answer at once")
