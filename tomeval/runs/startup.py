"""Start-up questions: one real question of each kind to a served model, before anything is played.

They tell whether a model explains, thinks, is cut off or cannot be read. They count against caps
and stand in the run folder, in ``startup.json``, with the answers of the models' self-tests; they
never become rows.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from tomeval.core.files import write_text
from tomeval.core.outcomes import INVALID_REASONS, VALID, Invalid
from tomeval.core.text import wrapped
from tomeval.models import is_served, model_name
from tomeval.models.base import LOW_MASS, ContextExceeded, LocalModel, Model
from tomeval.models.naming import brief_names
from tomeval.runs.checksums import signed
from tomeval.runs.domain import get_domain
from tomeval.runs.engine import spec_key
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import read_list
from tomeval.runs.preview import usual_step
from tomeval.runs.replies import Unread, advice, said, thinks
from tomeval.strategies.asking import Asker, Overheard, overhearing
from tomeval.strategies.readers import above_answer

logger = logging.getLogger(__name__)

STARTUP = "startup.json"
SELF_TEST = "self-test"
"""The purpose of entries that hold an answer of a model's self-test."""

Kind = tuple[str, str, bool]
"""What a question is for, the kind of its calls, and whether the answer is to be explained."""


@dataclass(frozen=True)
class Found:
    """What became of a start-up question: its call as the log has it, and why it is not readable.

    `outcome` is ``valid``, the reason of an invalid answer, or ``too_long``.
    """

    question: Overheard
    outcome: str
    raw: str
    call: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The question in a few words."""
        question = self.question
        more = ", explained" if question.explained and question.kind != "cot" else ""
        return f"{question.purpose} ({question.kind}{more})"

    def remarks(self) -> list[str]:
        """Return what is notable, in words; empty if nothing is."""
        remarks = []
        reply, scores = self.call.get("reply", {}), self.call.get("scores")
        if thinks(self.call):
            used = reply.get("usage", {}).get("completion", 0)
            remarks.append(f"it thinks first ({used:,} tokens including the answer)")
        words = self._explanation()
        if words:
            remarks.append(f"it explains before its answer ({words:,} words)")
        if scores and scores["mass"] < LOW_MASS:
            remarks.append(
                f"the labels together have {100 * scores['mass']:.2g} % of the probability"
            )
        if self.outcome == "too_long":
            remarks.append(f"the question is longer than the model's context: {self.raw}")
        elif self.outcome == "backend_error":
            remarks.append(f"there was no reply: {self.raw}")
        elif self.outcome != VALID:
            remarks.append(str(Unread(self.outcome, self.call)))
        elif reply.get("finish") == "length":
            remarks.append(f"cut off, which is accepted here: {said(self.call)}")
        return remarks

    def advice(self) -> str:
        """Return what may help to read such replies; empty if nothing need be done."""
        unread = self.outcome in INVALID_REASONS and self.outcome != "backend_error"
        return advice(Unread(self.outcome, self.call)) if unread else ""

    def _explanation(self) -> int:
        """Return how many words stand before an answer that was not to be explained."""
        if self.question.reader is None or self.question.explained:
            return 0
        reply = self.call.get("reply", {})
        if reply.get("finish", "stop") != "stop":
            return 0
        return len((above_answer(reply.get("text", "")) or "").split())


class StartUpLog:
    """What served models were asked at the start of sessions: `STARTUP`, read when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STARTUP

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        return read_list(self._path)

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the entry with a key."""
        return next((entry for entry in self._entries if entry.get("key") == key), None)

    def add(self, *entries: dict[str, Any]) -> None:
        """Add entries, and write them at once: a reply is paid for once."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._entries.extend(signed({"asked": now, **entry}) for entry in entries)
        write_text(self._path, json.dumps(self._entries, indent=1), own=True)

    def kept_answer(self, mark: str) -> Any:
        """Return an answer of a self-test; see `tomeval.models.served.limits.KeptAnswers`."""
        return (self.find(mark) or {}).get("answer")

    def keep_answers(self, model: str, answers: dict[str, Any]) -> None:
        """Keep answers of a self-test; see `tomeval.models.served.limits.KeptAnswers`."""
        about = {"model": model, "purpose": SELF_TEST}
        self.add(*({"key": mark, **about, "answer": said} for mark, said in answers.items()))


class StartUp:
    """Asks the start-up questions of a run, each once.

    A kind of question is what it is for (act, predict, summarise, ...) with the way in which it is
    answered (the kind of its calls, and whether the reply holds more than the answer). It is asked
    in the words of the first cell of the experiment that has it, finished or not, and not again in
    a later session if model, revision, wording and settings are the same.
    """

    def __init__(self, log: StartUpLog, experiment: Experiment) -> None:
        self._log, self._domain = log, get_domain(experiment.domain)
        self._cells = experiment.cells

    async def ask(self, models: Mapping[str, Model | LocalModel]) -> None:
        """Ask what the experiment asks of served models; `models` by `spec_key`, started."""
        for key, model in models.items():
            if isinstance(model, Model) and is_served(json.loads(key)):
                await self._ask_model(key, model, self._questions(key))

    def _questions(self, key: str) -> list[Overheard]:
        """Return one question of each kind to a model, with as much past as a preview shows."""
        kinds: dict[Kind, Overheard] = {}
        describe = self._domain.describe
        mine = (
            (c, seat) for c in self._cells for seat, s in c.models.items() if spec_key(s) == key
        )
        for cell, seat in mine:
            for form, steps in describe.forms(cell, seat).items():
                if not steps:
                    continue
                with overhearing() as heard:
                    describe.prompt(cell, seat, form, usual_step(steps))
                last = {_kind(question): question for question in heard}
                for kind, question in last.items():
                    kinds.setdefault(kind, replace(question, purpose=kind[0]))
        return list(kinds.values())

    async def _ask_model(self, key: str, model: Model, questions: Sequence[Overheard]) -> None:
        """Ask one model what it has not been asked before, and tell what came."""
        marks = [_mark(key, model, question) for question in questions]
        todo = [(m, q) for m, q in zip(marks, questions, strict=True) if not self._log.find(m)]
        if not todo:
            return
        results = []

        async def ask(mark: str, question: Overheard) -> None:
            reply = await _ask(model, question)
            results.append(reply)
            self._log.add(_entry(mark, json.loads(key), model, reply))

        # An error, such as a cap that is reached, waits until every paid reply is in the log.
        asked = await asyncio.gather(*(ask(*one) for one in todo), return_exceptions=True)
        for outcome in asked:
            if isinstance(outcome, BaseException):
                raise outcome
        _tell(brief_names([model_name(json.loads(key))])[0], results)


async def _ask(model: Model, question: Overheard) -> Found:
    """Ask one question once."""
    line = Asker(model, replace(question.how, max_attempts=1), "start-up")
    purpose, kind, prompt, step = (
        question.purpose,
        question.kind,
        question.prompt,
        question.step,
    )
    answer: Any
    try:
        if question.labels:
            answer = await line.score(purpose, prompt, step, question.labels)
        elif question.reader is not None:
            reader, most = question.reader, question.most
            answer, _ = await line.answer(purpose, kind, prompt, step, reader, most)
        else:
            answer = await line.write(purpose, kind, prompt, step)
    except ContextExceeded as error:
        return Found(question, "too_long", str(error), {})
    (call,) = line.drain()
    if isinstance(answer, Invalid):
        return Found(question, answer.reason, answer.raw, call)
    return Found(question, VALID, "", call)


def _kind(question: Overheard) -> Kind:
    """Return what is asked once: the same for every label that is supposed."""
    return question.purpose.partition(" ")[0], question.kind, question.explained


def _mark(key: str, model: Model, question: Overheard) -> str:
    """Return a hash of all that decides a start-up question and its reply."""
    what = (key, model.revision, replace(question, reader=None))
    return hashlib.sha256(repr(what).encode()).hexdigest()


def _entry(mark: str, spec: Any, model: Model, found: Found) -> dict[str, Any]:
    return {
        "key": mark if found.outcome != "backend_error" else "",  # else asked again
        "model": model_name(spec),
        "revision": model.revision,
        "purpose": found.question.purpose,
        "kind": found.question.kind,
        "explained": found.question.explained,
        "outcome": found.outcome,
        "remarks": found.remarks(),
        "call": found.call,
    }


def _tell(name: str, results: Sequence[Found]) -> None:
    """Log how many replies are readable, and a line for each that is notable."""
    good = sum(reply.outcome == VALID for reply in results)
    usages = [(reply.call.get("reply") or reply.call.get("scores") or {}) for reply in results]
    tokens = sum(
        sum(u.get("usage", {}).get(k, 0) for k in ("prompt", "completion")) for u in usages
    )
    head = f"start-up questions to {name}: {good} of {len(results)} readable ({tokens:,} tokens)"
    lines = [wrapped(head)]
    for reply in results:
        if what := reply.remarks():
            lines.append(wrapped(f"{reply.name}: {'; '.join(what)}", 2))
    for text in dict.fromkeys(reply.advice() for reply in results):
        lines += [wrapped(f"-> {text}", 2)] * bool(text)
    level = logging.INFO if good == len(results) else logging.WARNING
    logger.log(level, "%s", "\n".join(lines))
