"""Does a player know what its partner is, and what it does next if one does so? Scores, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.outcomes import VALID
from tomeval.games.matrix.games import Labels
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.played import FloatArray, Played, data_of, from_data
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells, read_partner
from tomeval.games.matrix.rules import AHEAD, SEAT, WHICH
from tomeval.games.matrix.sentences import describe
from tomeval.games.matrix.storing import has_questions
from tomeval.games.scores import Items, Terms
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.measures import Measure
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.runs.store import Store
from tomeval.statistics.bounded import UNBOUNDED

NAME = "identity"


class Asked(NamedTuple):
    """What a cell's subject was asked of what its partner is, and among which candidates.

    `rows`: step (counted over all complete episodes, from 0), question, outcome, and what is stored
    of the answer.
    """

    rows: list[tuple[int, str, str, Any]]
    candidates: list[Partner]
    labels: Labels

    def of(self, kind: str) -> list[tuple[int, str, str, Any]]:
        """Return the rows of ``which`` or ``ahead``."""
        return [row for row in self.rows if row[1].startswith(kind)]


def read_asked(store: Store, number: int, definition: Mapping[str, Any]) -> Asked:
    """Return what was asked in a cell."""
    told = definition["labels"]
    labels = Labels(told["name"], tuple(told["own"]), tuple(told["partner"]))
    rows, before = [], 0
    for record in store.records(number, complete=True):
        for step, seat, question, outcome, _, value, _ in record.answers:
            if seat == SEAT and question.split()[0] in (WHICH, AHEAD):
                rows.append((before + step - 1, question, outcome, value))
        before += record.steps
    return Asked(rows, [read_partner(one) for one in definition.get("candidates", ())], labels)


def posteriors(played: Played, candidates: Sequence[Partner]) -> FloatArray:
    """Return how likely the partner is each candidate, given the moves before a step, (N, K).

    By Bayes' rule, exactly; all K are equally likely beforehand, and one of them made the moves.
    """
    ways = np.zeros((len(played.own), len(candidates)))
    for k, one in enumerate(candidates):
        states = replace(played, partners=(one,), which=np.zeros_like(played.which)).states
        with np.errstate(divide="ignore"):
            step = np.log(one.emissions[states, played.partner])
        for begin, length in zip(played.starts, played.lengths, strict=True):
            ways[begin + 1 : begin + length, k] = np.cumsum(step[begin : begin + length - 1])
    weights = np.exp(ways - ways.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares


@lru_cache(maxsize=65536)
def foreseen(partner: Partner, state: int, own: tuple[int, ...]) -> FloatArray:
    """Return what a partner plays after own actions from a state on, as probabilities, (m,)."""
    at = np.eye(len(partner.emissions))[state]
    for action in own:
        reached = at[:, None] * partner.emissions
        at = np.bincount(partner.next_state[:, action].ravel(), reached.ravel(), len(at))
    probs: FloatArray = at @ partner.emissions
    return probs


def terms(kind: str, played: Played, asked: Asked) -> Terms:
    """Return the terms of a score, by episode, over the answers that can be read.

    ``which``, of K candidates: [answer = partner] - 1/K over max_k P(k | moves before) - 1/K, with
    P from `posteriors`. ``ahead``, of m actions: P(answer) - 1/m over max_b P(b) - 1/m, with P from
    `foreseen` after the own actions of the question: 0 or 1 of a partner that does not draw.
    """
    rows = [(step, value) for step, _, outcome, value in asked.of(kind) if outcome == VALID]
    at = np.array([step for step, _ in rows], dtype=np.int64)
    episode = np.searchsorted(played.starts, at, side="right") - 1
    # Columns: the hit, the best, and between what a hit lies.
    scored, chance = np.zeros((len(rows), 4)), 1 / played.game.m
    if kind == WHICH and rows:
        said = [describe(one, asked.labels) for one in asked.candidates]
        true = np.array([said.index(describe(one, asked.labels)) for one in played.partners])
        scored[:, 0] = [value["answer"] for _, value in rows] == true[played.which[episode]]
        scored[:, 1] = posteriors(played, asked.candidates)[at].max(axis=1)
        scored[:, 3], chance = 1.0, 1 / len(said)
    elif rows:
        for row, (step, value), e in zip(scored, rows, episode, strict=True):
            partner, state = played.partners[played.which[e]], int(played.states[step])
            probs = foreseen(partner, state, tuple(value["own"]))
            row[:] = probs[value["answer"]], probs.max(), probs.min(), probs.max()
    there, sums = Items(episode, played.episodes).sums(*(scored - chance).T)
    return Terms(sums[0], sums[1], sums[2], sums[3], there)


NOTHING = {
    WHICH: "the moves before it told no candidates apart",
    AHEAD: "the partner draws all its actions alike",
}
"""Why a score has no value, by the kind of question."""


def _measure(kind: str, meaning: str) -> Measure:
    of = from_data(NAME, lambda played, asked: terms(kind, played, asked).totals)
    name, source = f"knows_{kind}_percent", "this project, docs/measures.md"
    return Measure(name, f"knows {kind}", meaning, "%", 1, source, of, bounds=UNBOUNDED)


MEASURES = (
    _measure(
        WHICH,
        "Does it tell which of several policies its partner follows? Right answers beyond chance, "
        "as a share of those of an exact Bayesian observer: 0 at chance, 100 as that observer.",
    ),
    _measure(
        AHEAD,
        "Does it tell what its partner would do in the next rounds after given own actions? How "
        "likely its answers are beyond chance, as a share of the likeliest: 0 at chance, 100 at "
        "the best.",
    ),
)
_NAMES = ("knows_percent", *(measure.name for measure in MEASURES))


def _asked_cells(run: Run) -> dict[MatrixRunCell, Asked]:
    found = {
        cell: data_of(cell.played, NAME)
        for cell in matrix_cells(run)
        if cell.definition["options"].get("questions") and len(cell.episodes)
    }
    return {cell: asked for cell, asked in found.items() if asked.rows}


def _rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per cell that was asked."""
    return [
        {
            **cell.columns,
            "episodes": len(cell.episodes),
            **flat(_NAMES, cell.estimate(_NAMES)),
            "asked": len(asked.rows),
            "invalid_percent": 100 * sum(row[2] != VALID for row in asked.rows) / len(asked.rows),
        }
        for cell, asked in _asked_cells(run).items()
    ]


def _notes(run: Run) -> list[str]:
    """Return what the scores are, and why some have no value."""
    notes = [
        "knows: the next action; knows which: which of the policies that it is shown the partner "
        "follows; knows ahead: what the partner would do in the next rounds."
    ]
    if any(cell.each_once for cell in _asked_cells(run)):
        notes.append(
            "Where nothing else is drawn, each partner is asked about once; the order of the "
            "policies and the own actions are drawn: another seed gives other scores."
        )
    for kind, why in NOTHING.items():
        none: dict[str, list[str]] = {}
        for cell, asked in _asked_cells(run).items():
            if asked.of(kind) and np.isnan(terms(kind, cell.played, asked).score):
                read = any(row[2] == VALID for row in asked.of(kind))
                none.setdefault(why if read else "no answer could be read", []).append(cell.name)
        notes += [
            f"No knows {kind}, as {why}: {first_names(cells)}." for why, cells in none.items()
        ]
    return notes


TABLES = {
    NAME: Table(
        "does it know which policy its partner follows, and what it would do?",
        fixed(_rows),
        present=lambda run: has_questions(run.store),
        notes=_notes,
        needs="a language model with questions = { at = [5, 10] }: docs/measures.md",
    )
}
