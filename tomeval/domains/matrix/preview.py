"""Show what a model would read: one round of a made-up play, for any strategy and form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.observation import Joint, Observation, Past
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup, run_now
from tomeval.domains.matrix.subjects import LLMSubject
from tomeval.models.base import Prompt, Reply, Sampling, Scores
from tomeval.models.scripted import ScriptedModel
from tomeval.strategies.asking import MAX_TOKENS, Asker, Asking, flatten

FORMS = ("act", "predict", "react")


class Recorder(Asker):
    """Keeps every prompt and gives readable stand-ins for what a model would say."""

    def __init__(self, sampling: Sampling) -> None:
        super().__init__(ScriptedModel(()), Asking(sampling), "preview")
        self.prompts: list[tuple[str, Prompt]] = []

    async def score(
        self, purpose: str, prompt: Prompt, step: int, labels: tuple[str, ...]
    ) -> Scores:
        """Keep the prompt; the first label is the likeliest."""
        self.prompts.append((f"scores {', '.join(labels)}", prompt))
        return Scores((-0.1, *[-9.0] * (len(labels) - 1)), 1.0, "preview")

    async def _generate(
        self,
        purpose: str,
        kind: str,
        prompt: Prompt,
        step: int,
        attempt: int,
        choices: tuple[str, ...] = (),
        group: str = "",
    ) -> Reply:
        """Keep the prompt; an answer is the first that can be given."""
        most = self.how.sampling.max_tokens or MAX_TOKENS[kind]
        self.prompts.append((f"writes up to {most} tokens", prompt))
        self._calls.append({})
        if not choices:
            return Reply("Plans: (what the model plans)\nInsights: (what the model knows)")
        return Reply(choices[0])


def preview(
    strategy: str,
    game_name: str,
    labels: str | None,
    form: str,
    number: int,
    horizon: int,
    partner_name: str,
    options: dict[str, Any],
    tokenizer: str | None = None,
) -> str:
    """Return the prompts of one round as text: those of earlier calls in it first.

    The subject plays its actions in turn against the partner. What a model would have written
    (summaries, lessons, plans, answers) is a stand-in text.

    Parameters
    ----------
    strategy, game_name, labels, partner_name
        As an experiment writes them.
    form : {"act", "predict", "react"}
    number, horizon : int
        Round, from 1, and length of the episode.
    options : dict
        Further options of `tomeval.domains.matrix.subjects.LLMSubject`.
    tokenizer : str, optional
        Counts tokens: a local folder or a Hub name.
    """
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    last = horizon - 1 if form == "react" else horizon
    if not 1 <= number <= last:
        raise TomevalError(f"--round must be from 1 to {last}, is {number}")
    game = get_game(game_name)
    setup = Setup(
        "llm",
        {},
        game=game,
        labels=game.label_set(labels),
        partners=get_partner_set(partner_name, game),
        horizon=horizon,
        seed=0,
    )
    shown = prompts_of_round(setup, strategy, form, number, options)
    count = _counter(tokenizer) if tokenizer else None
    parts = []
    for index, (what, prompt) in enumerate(shown, 1):
        tokens = f", {count(prompt)} tokens" if count else ""
        text = flatten(prompt)
        head = f"--- call {index} of {len(shown)}: the model {what}; {len(text)} characters{tokens}"
        parts.append(f"{head}\n{text}")
    return "\n\n".join(parts)


def prompts_of_round(
    setup: Setup, strategy: str, form: str, number: int, options: dict[str, Any]
) -> list[tuple[str, Prompt]]:
    """Return what each call of one round does, and its prompt.

    A reflection on the round before comes first.

    Parameters
    ----------
    setup : Setup
        The task; its first partner plays along.
    strategy, form, number, options
        As for `preview`.
    """
    game, partner = setup.game, setup.partners.partners[0]
    options = {**options, "strategy": strategy, "conditional": form == "react"}
    subject, door = replace(setup, kind="llm", options=options).seat_subject(
        partner, np.random.default_rng(0)
    )
    assert isinstance(subject, LLMSubject)
    recorder = Recorder(Sampling(max_tokens=options.get("max_tokens", 0)))
    subject.player.line = recorder
    past: list[Joint] = []
    state = partner.start
    for step in range(1, number + 1):
        own, theirs = (step - 1) % game.n, int(partner.emissions[state].argmax())
        door.set(state, theirs)
        observation = Observation(game, setup.labels, step, setup.horizon, Past(past, step - 1))
        run_now(subject.act(observation))
        if step == number:
            break
        recorder.prompts.clear()  # a reflection after this round belongs to the next one
        payoff = game.payoffs[own, theirs]
        joint = Joint(own, theirs, float(payoff[0]), float(payoff[1]))
        past.append(joint)
        run_now(subject.observe(joint))
        state = int(partner.next_state[state, own, theirs])
    if form == "act":
        return recorder.prompts
    if form == "predict" and subject.strategy.probes_per_step == 0:
        return recorder.prompts[:-1]  # the prediction came before the choice
    recorder.prompts.clear()
    ask = subject.predict(observation, own) if form == "predict" else subject.react(observation)
    run_now(ask)
    return recorder.prompts


def _counter(name: str) -> Any:
    """Return a function that counts a prompt's tokens, chat template included."""
    from tomeval.models.local.load import require
    from tomeval.models.local.prompt import PromptCodec

    try:
        codec = PromptCodec(require("transformers").AutoTokenizer.from_pretrained(name))
    except (OSError, ValueError) as error:
        raise TomevalError(f"--tokenizer {name!r} cannot be loaded: {error}") from None
    return lambda prompt: len(codec.encode(prompt)[0])
