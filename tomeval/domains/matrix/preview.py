"""Show what a model would read: one round of a made-up play, for any strategy and form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.aids.computing import PAYOFF
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.observation import Joint, Observation, Past
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.play import Setup, run_now
from tomeval.domains.matrix.steps import DRAW
from tomeval.domains.matrix.subjects import LLMSubject
from tomeval.models.base import Prompt, Reply, Scores
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.domain import Doing
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import Asker, Asking, Overheard
from tomeval.strategies.ladder import climbed

STAND_INS = {
    "summary": "(the summary that the model wrote before round {step})",
    "lesson": "(the lesson that the model wrote after round {step})",
    "plan": "Plans: (what the model planned in round {step})\n"
    "Insights: (what the model had found out by round {step})",
}
"""What a preview shows where a model would have written something, by kind of call."""


class Recorder(Asker):
    """Keeps every prompt and gives readable stand-ins for what a model would say."""

    def __init__(self, how: Asking, note: str = "", keeps_notes: bool = False) -> None:
        super().__init__(ScriptedModel(()), how, "preview")
        self.note = note
        self.keeps_notes = keeps_notes  # whether moves are written with notes
        self.prompts: list[tuple[Doing, Prompt]] = []

    async def score(
        self, purpose: str, prompt: Prompt, step: int, labels: tuple[str, ...]
    ) -> Scores:
        """Keep the prompt; the first label is the likeliest."""
        self.tell(Overheard(self.how, purpose, "lm", prompt, step, labels=labels))
        self.prompts.append((Doing(labels), prompt))
        return Scores((-0.1, *[-9.0] * (len(labels) - 1)), 1.0, "preview")

    async def _generate(
        self,
        purpose: str,
        kind: str,
        prompt: Prompt,
        step: int,
        attempt: int,
        most: int,
        choices: tuple[str, ...] = (),
        group: str = "",
    ) -> Reply:
        """Keep the prompt; an answer is the first that can be given, below notes."""
        again = bool(choices) and self.how.sampling.temperature > 0  # notes are taken as they are
        attempts = self.how.max_attempts if again else 1
        notes = self.keeps_notes and purpose == "act"
        self.prompts.append((Doing((), kind, most, attempts, notes), prompt))
        self._calls.append({})
        # A note of full length differs from others early, as real ones do.
        note = self.note.format(step=f"{purpose} {step}") if self.note else ""
        written = note or STAND_INS.get(kind, STAND_INS["plan"]).format(step=step)
        return Reply("\n\n".join((written, *choices[:1])))


def example_cell(strategy: str, settings: Mapping[str, Any]) -> MatrixCell:
    """Return the cell that ``tomeval prompt`` shows where no experiment is named.

    `settings` may hold ``game``, ``labels``, ``partners``, ``horizon`` and options of
    `tomeval.domains.matrix.subjects.LLMSubject`; ``form`` "react" asks the conditional probe,
    "draw" the literal question again, "payoff" the payoff question.
    """
    data: dict[str, Any] = dict(settings)
    keys = {key: data.pop(key) for key in ("labels", "partners", "horizon") if data.get(key)}
    data.pop("labels", None)
    form = data.pop("form", "")
    if form == "react":
        data["conditional"] = True
    if form == DRAW:
        data.setdefault("draws", 2)
    if form == PAYOFF:
        data["computing"] = "always"
    game = data.pop("game", None) or "RPS"
    keys.setdefault("partners", "tit_for_tat")
    subject = {"kind": "llm", "strategy": strategy, **data}
    data = {"domain": "matrix", "games": [game], "subjects": [subject], **keys}
    rungs = climbed(strategy)
    if rungs is not None:
        several = ", ".join(rung.name for rung in rungs)
        raise TomevalError(f"strategy {strategy!r} stands for several; name one of {several}")
    [cell] = make_experiment(data, where="prompt").cells
    assert isinstance(cell, MatrixCell)
    return cell


def prompts_of_round(
    setup: Setup, form: str, number: int, note: str = ""
) -> list[tuple[Doing, Prompt]]:
    """Return what each call of one round does, and its prompt.

    A reflection on the round before comes first. `setup` is a language model's; its first partner
    plays along, or a stand-in for a player in that seat. `form` is ``act``, ``predict``, ``react``,
    ``draw`` or ``payoff``; rounds count from 1; `note` as for `Domain.preview`.
    """
    game, partner = setup.game, _stand_in(setup)
    options = {**setup.options, "conditional": form == "react"}
    if form == PAYOFF:
        options["draws"] = 0
    elif form == DRAW:
        options["computing"] = "never"
    subject, door = replace(setup, options=options).seat_subject(partner, np.random.default_rng(0))
    assert isinstance(subject, LLMSubject)
    recorder = Recorder(subject.player.line.how, note, subject.strategy.takes_notes)
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
    if form == DRAW:
        run_now(subject.predict(observation, own))  # writes the summary that draws stand on
    recorder.prompts.clear()
    if form in (DRAW, PAYOFF):
        run_now(subject.aside(observation))
        return [(replace(doing, aside=form == DRAW), prompt) for doing, prompt in recorder.prompts]
    probe = subject.react(observation) if form == "react" else None
    run_now(probe or subject.predict(observation, own))
    return recorder.prompts


def _stand_in(setup: Setup) -> Partner:
    """Return who plays along: the first partner; in a player's place one that plays in turn."""
    if isinstance(setup.partners, PartnerSet):
        return setup.partners.partners[0]
    turns = np.arange(setup.game.m)
    after = np.broadcast_to(
        ((turns + 1) % len(turns))[:, None, None], (len(turns), setup.game.n, len(turns))
    )
    return Partner("in turn", np.eye(len(turns)), after)
