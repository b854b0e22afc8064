"""What the episode browser reads: a summary of every episode, and the episodes in chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from tomeval.core.outcomes import COMPLETE, VALID
from tomeval.domains.matrix.optima import reference_rewards
from tomeval.domains.matrix.responses import best_responses, misjudgement_cost, stepwise_regret
from tomeval.domains.matrix.steps import NONE
from tomeval.report.blocks import Block, as_json, pack, pack_text, shortened
from tomeval.report.calls import Bases, packed_calls
from tomeval.runs.results import Run, RunCell

CALLS_BY_DEFAULT = 100_000
"""How many model calls a report holds where the user does not say otherwise."""

_CHUNK = 400_000  # characters of JSON per chunk, about: opened within milliseconds
_FIRST = 48  # the character of action 0
_NO_ANSWER = "not_asked"
_SHOWN = ("tom_percent", "delta_functional_per_step", "reward_per_step")

_STEPS = (
    "SELECT partner_state, own_action, partner_action, predicted_action, act_outcome, "
    "predict_outcome, act_attempts, predict_attempts, told, own_probs, predicted_probs, reactions "
    "FROM steps ORDER BY cell, episode, step"
)

_Row = tuple[int, int, str, int]  # episode, partner, status, steps


class Episodes:
    """The episodes of a run, packed for the page.

    Parameters
    ----------
    run : Run
    transcripts : int or None
        Of how many episodes per cell the prompts and replies are included, in order of their
        numbers: None for as many as `CALLS_BY_DEFAULT` calls allow, shared evenly by the cells, at
        least one each. Moves, predictions and rewards of all episodes always are.
    reference : str, optional
        Overrides the cells' own.

    Attributes
    ----------
    with_calls, included : int
        Episodes that made model calls, and those of them whose prompts and replies are included.
        Both are known before any chunk is made.
    """

    def __init__(
        self,
        run: Run,
        transcripts: int | None = None,
        reference: str | None = None,
    ) -> None:
        self._run, self._reference = run, reference
        self._rows: dict[int, list[_Row]] = {cell.number: [] for cell in run.cells}
        for cell, *row in run.store.query(
            "SELECT cell, episode, partner, status, steps FROM episodes ORDER BY cell, episode"
        ):
            self._rows[cell].append(tuple(row))
        self._calls = self._count_calls()
        self._chosen = {
            number: self._choose(number, transcripts) for number in (c.number for c in run.cells)
        }
        self.with_calls = sum(count > 0 for counts in self._calls.values() for count in counts)
        self.included = sum(len(chosen) for chosen in self._chosen.values())
        self._bases: Bases = {}
        self._places: dict[int, list[tuple[int, int]]] = {cell.number: [] for cell in run.cells}
        self._invalid: dict[int, list[int]] = {cell.number: [] for cell in run.cells}

    @property
    def total(self) -> int:
        """Number of episodes, of any status."""
        return sum(len(rows) for rows in self._rows.values())

    @property
    def steps(self) -> int:
        """Number of recorded steps."""
        return sum(row[3] for rows in self._rows.values() for row in rows)

    def counts(self, number: int) -> dict[str, int]:
        """Return a cell's episodes by status."""
        found: dict[str, int] = {}
        for row in self._rows[number]:
            found[row[2]] = found.get(row[2], 0) + 1
        return found

    def blocks(self) -> Iterator[Block]:
        """Yield the chunks ``chunk-0``, ``chunk-1``, ..., then ``bases`` and ``index``.

        Only one chunk is in memory at a time. The index refers to the chunks, so it comes last.
        """
        held: list[str] = []
        number = size = 0
        for cell, episode in self._packed():
            self._places[cell].append((number, len(held)))
            held.append(as_json(episode))
            size += len(held[-1])
            if size >= _CHUNK:
                yield pack_text(f"chunk-{number}", f"[{','.join(held)}]")
                number, size, held = number + 1, 0, []
        if held:
            yield pack_text(f"chunk-{number}", f"[{','.join(held)}]")
        bases: dict[str, dict[str, str]] = {}
        for (cell, purpose), text in self._bases.items():
            bases.setdefault(str(cell), {})[purpose] = text
        yield pack("bases", bases)
        yield pack("index", [self._summary(cell) for cell in self._run.cells])

    def _count_calls(self) -> dict[int, list[int]]:
        """Return how many calls each episode made; their numbers have no gaps."""
        counts = {number: [0] * len(rows) for number, rows in self._rows.items()}
        place = {
            (number, row[0]): index
            for number, rows in self._rows.items()
            for index, row in enumerate(rows)
        }
        for cell, episode, last in self._run.store.query(
            "SELECT cell, episode, (SELECT MAX(call) FROM calls c WHERE c.cell = e.cell AND "
            "c.episode = e.episode) FROM episodes e"
        ):
            if last is not None:
                counts[cell][place[cell, episode]] = last + 1
        return counts

    def _choose(self, number: int, transcripts: int | None) -> set[int]:
        """Return the episodes of a cell whose calls are included."""
        asked = [
            (row[0], count)
            for row, count in zip(self._rows[number], self._calls[number], strict=True)
            if count
        ]
        if transcripts is not None:
            return {episode for episode, _ in asked[:transcripts]}
        talking = sum(any(counts) for counts in self._calls.values())
        left = CALLS_BY_DEFAULT // max(talking, 1)
        chosen: set[int] = set()
        for episode, count in asked:
            if chosen and count > left:
                break
            chosen.add(episode)
            left -= count
        return chosen

    def _packed(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (cell, episode in short form) for all episodes, in order."""
        _, steps = self._run.store.iterate(_STEPS)
        for cell in self._run.cells:
            for row in self._rows[cell.number]:
                columns = list(zip(*islice(steps, row[3]), strict=True))
                episode = _packed_steps(columns)
                invalid = sum(len(episode.get(key, ())) for key in ("act", "predict"))
                self._invalid[cell.number].append(invalid)
                if row[0] in self._chosen[cell.number]:
                    calls = self._run.store.query(
                        "SELECT step, form, record FROM calls WHERE cell = ? AND episode = ? "
                        "ORDER BY call",
                        (cell.number, row[0]),
                    )
                    episode["calls"] = packed_calls(calls, cell.number, self._bases)
                yield cell.number, episode
        if next(steps, None) is not None:
            raise self._run.store.damaged("it holds steps of no episode")

    def _summary(self, cell: RunCell) -> dict[str, Any]:
        """Return what the page knows of a cell before any chunk is opened."""
        rows, game = self._rows[cell.number], cell.game
        metrics = cell.metrics(self._reference)
        complete = [row[2] == COMPLETE for row in rows]
        values: dict[str, list[float | None]] = {}
        for name in _SHOWN:
            found = iter(metrics[name].tolist())
            values[name] = [shortened(next(found)) if done else None for done in complete]
        reference = self._reference or cell.reference
        pairs = sorted({(row[1], row[3]) for row in rows if row[2] == COMPLETE})
        counts = self._calls[cell.number]
        return {
            "title": cell.title,
            "task": _task(cell),
            "own": list(cell.labels.own),
            "their": list(cell.labels.partner),
            "partners": [partner.name for partner in cell.partners],
            "states": [list(partner.states) for partner in cell.partners],
            "payoff": game.payoffs.tolist(),
            "stepwise": stepwise_regret(game).tolist(),
            "belief": misjudgement_cost(game, "best_response").tolist(),
            "best": best_responses(game).astype(int).tolist(),
            "reference": {
                f"{partner}:{length}": reference_rewards(
                    game, cell.partners[partner], length, reference
                ).tolist()
                for partner, length in pairs
            },
            "episode": [row[0] for row in rows],
            "partner": [row[1] for row in rows],
            "status": [row[2] for row in rows],
            "steps": [row[3] for row in rows],
            "invalid": self._invalid[cell.number],
            "calls": counts if any(counts) else [],
            "chunk": [chunk for chunk, _ in self._places[cell.number]],
            "place": [place for _, place in self._places[cell.number]],
            "values": values,
        }


def _task(cell: RunCell) -> str:
    row = cell.labels_of_row()
    return f"{row['game']} ({row['labels']}), {row['partners']}, T = {row['horizon']}"


def coded(actions: Sequence[int | None]) -> str:
    """Return actions as text, one character each: action a is the character 48 + a, none 47.

    Text packs far smaller than lists of numbers.

    Examples
    --------
    >>> coded([0, 2, None, 1])
    '02/1'
    """
    return "".join(chr(_FIRST + (NONE if action is None else action)) for action in actions)


def _packed_steps(columns: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return an episode's steps in short form; what is as usual in every step is left out."""
    state, own, theirs, predicted, act, predict, act_n, predict_n, told, probs, guess, react = (
        columns or [()] * 12
    )
    episode: dict[str, Any] = {
        "own": coded(own),
        "their": coded(theirs),
        "predicted": coded(predicted),
    }
    if any(state):
        episode["state"] = coded(state)
    for key, outcomes in (("act", act), ("predict", predict)):
        if set(outcomes) != {VALID}:
            odd = {str(i): said for i, said in enumerate(outcomes) if said != VALID}
            episode[key] = {i: said for i, said in odd.items() if said != _NO_ANSWER}
            unasked = [int(i) for i, said in odd.items() if said == _NO_ANSWER]
            if unasked:
                episode[f"{key}_unasked"] = unasked
    if max((*act_n, *predict_n), default=0) > 1:
        episode["attempts"] = [list(act_n), list(predict_n)]
    if any(told):
        episode["told"] = [i for i, flag in enumerate(told) if flag]
    reactions = {str(i): json.loads(text) for i, text in enumerate(react) if text is not None}
    if reactions:
        episode["react"] = reactions
    book: dict[str, int] = {}
    for key, texts in (("probs", probs), ("guess", guess)):
        if any(texts):
            episode[key] = coded(
                [None if text is None else book.setdefault(text, len(book)) for text in texts]
            )
    if book:
        episode["book"] = [_distribution(text) for text in book]
    return episode


@lru_cache(maxsize=4096)
def _distribution(text: str) -> list[float | None]:
    """Return a stored distribution, shortened."""
    return [shortened(p, 4) for p in json.loads(text)]
