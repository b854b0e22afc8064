"""Show what a model would read: one round of a made-up play, for any strategy and form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tomeval.core.coroutines import run_now
from tomeval.core.outcomes import Invalid, Said
from tomeval.domains.matrix.experiment import MatrixCell
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.steps import DRAW
from tomeval.domains.matrix.subjects import LLMSubject
from tomeval.models.base import Prompt, Reply, Scores
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.capabilities import Doing
from tomeval.runs.experiment import make_experiment
from tomeval.strategies.asking import Asker, Asking, Form, Overheard
from tomeval.strategies.readers import Reader

T = TypeVar("T")

"""Forms of questions that no extension brings."""

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
        self._choices: tuple[str, ...] = ()  # of the answer that is asked for; a note has none
        self.keeps_notes = keeps_notes  # whether moves are written with notes
        self.prompts: list[tuple[Doing, Prompt]] = []
        self._read: dict[int, tuple[Reader[Any], Said[Any]]] = {}  # by reader: what it reads

    async def answer(
        self,
        purpose: str,
        kind: str,
        prompt: Prompt,
        step: int,
        reader: Reader[T],
        most: int,
        explained: bool = False,
    ) -> tuple[Said[T] | Invalid, str]:
        """Keep the prompt; as every answer is the first that can be given, one is read for all."""
        if id(reader) in self._read:
            self.tell(Overheard(self.how, purpose, kind, prompt, step, reader, most, explained))
            self._choices = reader.choices
            reply = await self._generate(purpose, kind, prompt, step, 1, most)
            return self._read[id(reader)][1], reply.text
        self._choices = reader.choices
        said, text = await super().answer(purpose, kind, prompt, step, reader, most, explained)
        if isinstance(said, Said):
            self._read[id(reader)] = reader, said
        return said, text

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
        group: str = "",
        form: Form = Form(),  # noqa: B008 (a tuple)
    ) -> Reply:
        """Keep the prompt; an answer is the first that can be given, below notes."""
        choices, self._choices = self._choices, ()
        again = bool(choices) and self.how.sampling.temperature > 0  # notes are taken as they are
        attempts = self.how.max_attempts if again else 1
        notes = self.keeps_notes and purpose == "act"
        self.prompts.append((Doing((), kind, most, attempts, notes), prompt))
        self._calls.append({})
        # A note of full length differs from others early, as real ones do.
        note = self.note.format(step=f"{purpose} {step}") if self.note else ""
        written = note or STAND_INS.get(kind, STAND_INS["plan"]).format(step=step)
        return Reply("\n\n".join((written, *choices[:1])))


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> MatrixCell:
    """Return the cell that ``tomeval prompt`` shows where no experiment is named.

    `settings` may hold ``game``, ``labels``, ``partners``, ``horizon`` and options of
    `tomeval.domains.matrix.subjects.LLMSubject`; ``form`` "react" asks the conditional probe,
    "draw" the literal question again.
    """
    data: dict[str, Any] = dict(settings)
    keys = {key: data.pop(key) for key in ("labels", "partners", "horizon") if data.get(key)}
    data.pop("labels", None)
    form = data.pop("form", "")
    if form == "react":
        data["conditional"] = True
    if form == DRAW:
        data.setdefault("draws", 2)
    game = data.pop("game", None) or "RPS"
    keys.setdefault("partners", "tit_for_tat")
    # A prompt is shown and none is asked, so it needs no model; its text does not depend on one.
    subject = {"kind": "llm", "strategy": strategy, "model": "pocket", **data}
    data = {"domain": "matrix", "games": [game], "subjects": [subject], **keys}
    [cell] = make_experiment(data, where="prompt").cells
    assert isinstance(cell, MatrixCell)
    return cell


def prompts_of_round(
    setup: Setup, form: str, number: int, note: str = ""
) -> list[tuple[Doing, Prompt]]:
    """Return what each call of one round does, and its prompt, see `prompts_of_rounds`."""
    return prompts_of_rounds(setup, {form: [number]}, note)[form, number]


def prompts_of_rounds(
    setup: Setup, wanted: Mapping[str, Collection[int]], note: str = ""
) -> dict[tuple[str, int], list[tuple[Doing, Prompt]]]:
    """Return, by form and round, what each call of a round does, and its prompt.

    A reflection on the round before comes first. `setup` is a language model's; its first partner
    plays along, or a stand-in for a player in that seat. Forms are ``act``, ``predict``, ``react``
    and ``draw``; rounds count from 1; `note` as for `Describe.prompt`. What is asked beside the
    same moves is asked in one made-up play.
    """
    prompts: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    for forms in (("act", "predict"), ("react",), (DRAW,)):
        mine = {form: set(wanted[form]) for form in forms if wanted.get(form)}
        if mine:
            prompts |= _played(setup, mine, note)
    return prompts


def _played(
    setup: Setup, wanted: Mapping[str, set[int]], note: str
) -> dict[tuple[str, int], list[tuple[Doing, Prompt]]]:
    """Play once, up to the last round that is wanted."""
    game, partner = setup.game, _stand_in(setup)
    options = {**setup.options, "conditional": "react" in wanted}
    subject, door = replace(setup, options=options).seat_subject(partner, np.random.default_rng(0))
    assert isinstance(subject, LLMSubject)
    strategy = subject.strategy
    recorder = Recorder(subject.player.line.how, note, strategy.takes_notes)
    subject.player.line = recorder
    rounds = set().union(*wanted.values())
    # Of other rounds those are asked about whose notes, lessons or draws later prompts may show.
    drawn = strategy.predicts_first and subject.settings.predict == "sample"
    all_asked = bool(strategy.part.make) or drawn
    noted = {number - 1 for number in rounds} if strategy.takes_notes else set()
    past: list[Joint] = []
    prompts: dict[tuple[str, int], list[tuple[Doing, Prompt]]] = {}
    state = partner.start
    for step in range(1, max(rounds) + 1):
        own, theirs = (step - 1) % game.n, int(partner.emissions[state].argmax())
        door.set(state, theirs)
        observation = Observation(game, setup.labels, step, setup.horizon, tuple(past))
        if all_asked or step in rounds or step in noted:
            run_now(subject.act(observation))
        acted = list(recorder.prompts)
        for form in (form for form, steps in wanted.items() if step in steps):
            asked = acted if form == "act" else None
            if form == "predict" and strategy.probes_per_step == 0:
                asked = acted[:-1]  # the prediction came before the choice
            prompts[form, step] = (
                _beside(subject, recorder, observation, form, own) if asked is None else asked
            )
        recorder.prompts.clear()  # a reflection after this round belongs to the next one
        if step == max(rounds):
            break
        payoff = game.payoffs[own, theirs]
        joint = Joint(own, theirs, float(payoff[0]), float(payoff[1]))
        past.append(joint)
        reach = step + strategy.memory + 1
        if all_asked or any(step < number <= reach for number in rounds):
            run_now(subject.observe(joint))
        else:
            subject.scene.observe(joint)
        state = int(partner.next_state[state, own, theirs])
    return prompts


def _beside(
    subject: LLMSubject, recorder: Recorder, observation: Observation, form: str, own: int
) -> list[tuple[Doing, Prompt]]:
    """Ask what is asked beside a move that has been asked for; return the calls of it."""
    if form == DRAW:
        run_now(subject.predict(observation, own))  # writes the summary that draws stand on
    recorder.prompts.clear()
    if form not in ("predict", "react"):
        run_now(subject.aside(observation))
        return [(replace(doing, aside=True), prompt) for doing, prompt in recorder.prompts]
    probe = subject.react(observation) if form == "react" else None
    run_now(probe or subject.predict(observation, own))
    return list(recorder.prompts)


def _stand_in(setup: Setup) -> Partner:
    """Return who plays along: the first partner; in a player's place one that plays in turn."""
    if isinstance(setup.partners, PartnerSet):
        return setup.partners.partners[0]
    turns = np.arange(setup.game.m)
    after = np.broadcast_to(
        ((turns + 1) % len(turns))[:, None, None], (len(turns), setup.game.n, len(turns))
    )
    return Partner("in turn", np.eye(len(turns)), after)
