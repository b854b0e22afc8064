"""A scripted player that follows a known rule, and recognises which question it is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tomeval.core.outcomes import run_now
from tomeval.games.matrix.games import GAMES, MatrixGame
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.record import Record
from tomeval.strategies import Strategy
from tomeval.strategies.asking import flatten
from tomeval.strategies.compose import ADVICE, ANSWERS, CONTEXTS
from tomeval.strategies.readers import MARKER

# Strategies that hold every pair of parts: per advice and context one answer, going round.
PAIRS = [
    Strategy(context, advice, ANSWERS[(i + j) % len(ANSWERS)])
    for i, advice in enumerate(ADVICE)
    for j, context in enumerate(CONTEXTS)
]

# How the shipped templates put each question: form, and where the round stands.
QUESTIONS = {
    "predict": r"^Which action .*will the other player choose.* in round (\d+) of"
    r"|^Which action do you choose in round (\d+) of \d+, .* will the other player",
    "act": r"^Which action do you choose in round (\d+) of"
    r"|^Given that you think .* in round (\d+) of \d+, which action is best for you,",
    "react": r"^Suppose that you choose (?P<own>.+) in round (\d+) of \d+\. ",
    "summarise": r"^Rewrite the text above .* choose an action in your place in round (\d+) and",
    "summarise for predict": r"^Rewrite the text above .* predict .* in round (\d+) and",
    "reflect": r"^Round (\d+) is over\.",
    "plan": r"^Before round (\d+), write down",
}
_NOW = r"^You are now playing round (\d+) of \d+\.\nQ: "
AKATA = {
    "predict": _NOW + r"Which Option (?:is the other player|do you pick, .* and which Option is)",
    "act": _NOW + r"(?:Which Option do you pick,|Given that you think)",
    "react": r"^Imagine that you pick Option (?P<own>.+) in round (\d+) of \d+\.",
    "summarise": r"^Put the text above .* which Option to pick in round (\d+) and",
    "summarise for predict": r"^Put the text above .* is going to pick in round (\d+) and",
    "reflect": r"^You have finished round (\d+)\.",
    "plan": r"^You are about to play round (\d+)\.",
}


def question(request: GenerateRequest | ScoreRequest) -> tuple[str, int, str]:
    """Return purpose, step and, for a reaction, the supposed own label."""
    last = request.prompt.messages[-1].content.rpartition("\n\n")[2]
    for purpose, pattern in (*QUESTIONS.items(), *AKATA.items()):
        found = re.search(pattern, last)
        if found:
            step = int(found[found.lastindex or 1])
            return purpose, step, found.groupdict().get("own") or ""
    raise AssertionError(f"an unknown question: {last}")


def episode_of(request: GenerateRequest | ScoreRequest) -> int:
    """Return the number of the episode that asks."""
    return int(request.group.partition(" ")[0].rpartition("-")[2])


@dataclass
class Known:
    """Answers every question by a rule, and logs what it is asked.

    `act`, `predict` and `react` map a step (and an own action) to an action; `told` gets the whole
    prompt as well. `tag` is prose that stands in every reply.
    """

    game: MatrixGame
    labels: Any
    act: Callable[..., int] = lambda step, text: (step - 1) % 2
    predict: Callable[..., int] = lambda step, text: step % 2
    react: Callable[..., int] = lambda step, own, text: own % 2
    tag: str = "said"
    tags: dict[str, str] = field(default_factory=dict)
    log: list[tuple[str, int, str]] = field(default_factory=list)
    requests: list[GenerateRequest | ScoreRequest] = field(default_factory=list)

    def __call__(self, request: GenerateRequest | ScoreRequest) -> Any:
        purpose, step, own = question(request)
        text = flatten(request.prompt)
        self.log.append((purpose, step, text))
        self.requests.append(request)
        prose = f"{self.tags.get(purpose, self.tag)}-{purpose}-{step}"
        if purpose.startswith(("summarise", "reflect")):
            return prose
        if purpose == "plan":
            return f"Plans: {prose}\nInsights: none"
        if purpose == "act":
            action, labels = self.act(step, text), self.labels.own
        elif purpose == "predict":
            action, labels = self.predict(step, text), self.labels.partner
        else:
            labels = self.labels.partner
            action = self.react(step, self.labels.own.index(own), text)
        if isinstance(request, ScoreRequest):
            assert request.labels == labels
            rest = math.log(0.01 / (len(labels) - 1))
            return [math.log(0.9) if index == action else rest for index in range(len(labels))]
        asks = purpose == "act" and 's with "Plans:"' in text
        notes = f"Plans: {prose}\nInsights: none\n" if asks else prose
        return f"{notes}\n{MARKER} {labels[action]}"


def make_setup(
    game: MatrixGame,
    partner: Partner | PartnerSet,
    strategy: Strategy | str,
    horizon: int = 4,
    labels: str | None = None,
    on_invalid: str = "void",
    seed: int = 0,
    **options: Any,
) -> Setup:
    """Return the setup of one language-model cell."""
    name = strategy if isinstance(strategy, str) else strategy.name
    partners = partner if isinstance(partner, PartnerSet) else PartnerSet("set", (partner,))
    return Setup(
        "llm",
        {"strategy": name, **options},
        game=game,
        labels=game.label_set(labels),
        partners=partners,
        horizon=horizon,
        seed=seed,
        on_invalid=on_invalid,
    )


def play(setup: Setup, script: Any, episode: int = 0) -> Record:
    """Play one episode with a script."""
    return run_now(play_episode_async(setup, episode, ScriptedModel(script)))


def prompts_in_log(record: Record) -> list[tuple[str, int, str]]:
    """Rebuild every full prompt from the call log, in the order of the calls."""
    last: dict[str, str] = {}
    result = []
    for step, _, purpose, call in record.calls:
        last[purpose] = last.get(purpose, "")[: call["prompt_same"]] + call["prompt_rest"]
        asked = "react" if purpose.startswith("react ") else purpose
        result.append((asked, step, last[purpose]))
    return result


def fixed(game: MatrixGame, actions: list[int], name: str = "fixed") -> Partner:
    """Return a partner that plays a list of actions, whatever the subject does."""
    size = len(actions)
    emissions = np.eye(game.m)[actions]
    following = np.minimum(np.arange(size) + 1, size - 1)
    next_state = np.broadcast_to(following[:, None, None], (size, game.n, game.m))
    return Partner(name, emissions, next_state)


def variant(script: Known, **changes: Any) -> Known:
    """Return a fresh script with some rules changed."""
    return replace(script, log=[], requests=[], **changes)


def drawn(request: Any, chances: tuple[float, float] = (0.6, 0.4)) -> Any:
    """Answer written questions of the prisoner's dilemma by seeds, as at a temperature."""
    if not hasattr(request, "seed"):
        return np.log(chances).tolist()
    u = np.random.default_rng(request.seed).random()
    last = request.prompt.messages[-1].content
    if "Rewrite the text" in last:
        return "note"
    label = GAMES["IPD"].label_set().own[int(u > chances[0])]
    return f"Final answer: {label}" if u < 0.95 else "I cannot say."
