"""What calls came to, kept by episode, against a recount of every call."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support import replies_in

import tomeval
from tomeval.core.outcomes import VALID
from tomeval.models.base import LOW_MASS, BackendError, Reply, Scores, Usage
from tomeval.models.scripted import SCRIPTS
from tomeval.runs import tallies
from tomeval.runs.record import Spent

EXPERIMENT = {
    "games": ["RPS", "IPD"],
    "subjects": [{"strategy": "QA", "max_attempts": 3}, {"strategy": "LM"}],
    "model": "scripted:spends",
    "horizon": 5,
    "episodes": 4,
    "on_invalid": "random",
}


class Spends:
    """Answers that differ in everything that is counted; fails now and then if told to."""

    def __init__(self) -> None:
        self.asked, self.failing = 0, True

    def __call__(self, request):
        self.asked += 1
        n = self.asked
        if self.failing and n % 37 == 0:
            raise BackendError("gone")
        if hasattr(request, "labels"):
            logs = tuple(-1.0 - (n + k) % 3 for k in range(len(request.labels)))
            mass = LOW_MASS / 2 if n % 5 == 0 else 0.5
            return Scores(logs, mass, "scripted", Usage(n, 0, n // 2), details={"cost": n / 7})
        text = "Final answer: J" if n % 3 else "I do not know."
        details = {"cost": n / 3} if n % 2 else {}
        return Reply(text, usage=Usage(n, n % 11, None), details=details)


@pytest.fixture
def folder(tmp_path):
    SCRIPTS["spends"] = Spends()
    tomeval.run(EXPERIMENT, tmp_path / "run", go_on=True).close()
    yield tmp_path / "run"
    del SCRIPTS["spends"]


def recount(store):
    """Return calls, prompt, completion tokens, cost and invalid answers by cell, call by call."""
    found = {}
    places = [(c, *episode) for c in store.played_cells() for episode in store.statuses(c).items()]
    for cell, episode, status in places:
        for _, _, _, record in store.calls(cell, episode):
            said = record.get("reply") or record.get("scores") or {}
            usage = said.get("usage", {})
            count = found.setdefault(cell, Counter())
            count["low"] += record.get("scores", {}).get("mass", 1) < LOW_MASS
            if status == "failed":
                continue
            count["calls"] += 1
            count["prompt"] += usage.get("prompt") or 0
            count["completion"] += usage.get("completion") or 0
            count["cost"] += said.get("details", {}).get("cost") or 0
            count["again"] += (record.get("attempt") or 1) > 1
            count["unreadable"] += record.get("outcome") not in (None, VALID)
    for cell, _, reply in replies_in(store):
        said = json.loads(reply)
        found[cell]["calls"] += 1
        found[cell]["prompt"] += said["usage"]["prompt"] or 0
        found[cell]["completion"] += said["usage"]["completion"] or 0
        found[cell]["cost"] += said["details"].get("cost") or 0
    return found


def check(store):
    counts, paid = recount(store), tallies.paid(store)
    assert sorted(counts) == sorted(paid)
    for cell, count in counts.items():
        assert paid[cell]["calls"] == count["calls"]
        assert paid[cell]["prompt_tokens"] == count["prompt"]
        assert paid[cell]["completion_tokens"] == count["completion"]
        assert paid[cell]["cost"] == pytest.approx(count["cost"], rel=1e-13)
        seat = store.summary(cell).spent.get(("subject", False), Spent())
        assert (seat.again, seat.unreadable) == (count["again"], count["unreadable"])
    assert (
        tallies.low_mass(store, store.played_cells())[0]
        == sum(count["low"] for count in counts.values())
        > 0
    )


def test_counts_are_those_of_the_calls_and_change_with_a_later_session(folder) -> None:
    with tomeval.Run(folder) as run:
        assert tallies.failures(run.store)
        assert any(count["again"] and count["unreadable"] for count in recount(run.store).values())
        check(run.store)
    SCRIPTS["spends"].failing = False
    tomeval.run(EXPERIMENT, folder).close()
    with tomeval.Run(folder) as run:
        assert not tallies.failures(run.store)
        check(run.store)
