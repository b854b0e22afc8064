"""Read and exchange the residual stream of a local model at the token that its move follows.

Layer 0 is what the first block reads, layer l what block l adds up to; the final norm, which
``output_hidden_states`` of transformers applies to the last one, takes no part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import run_now
from tomeval.games.matrix.played import IntArray, Played
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.rules import SEAT, Joint, Observation
from tomeval.games.matrix.subjects import subject_class
from tomeval.games.matrix.subjects.llm import LLMSubject
from tomeval.models.base import ScoreRequest
from tomeval.models.local.engine import Engine
from tomeval.models.local.tasks import exclusive
from tomeval.strategies.recording import Recording, overhearing

FloatArray = NDArray[np.float32]
States = NDArray[np.float64]

ACT = "act"
_ONE_BATCH = 10**9

PAIRS, TRIED = 20, 6
"""The most pairs of prompts between which states are exchanged; pairs that are drawn, at most, for
each whose answers are to be apart."""

TWIN, RANDOM = "twin", "random"
"""What is put in: the state under the other partner's moves; one as far away at random."""

CLOSE, ROUGH = 2e-3, 0.1
"""How near log-probabilities must be, in nats; of 16-bit models, which other batches round."""


def rendered(
    cell: MatrixRunCell, place: int, partner: IntArray, steps: Collection[int]
) -> dict[int, ScoreRequest]:
    """Return what is asked for a move in some steps, counted from 1, given the partner's moves.

    `place` is that of an episode among the complete ones, whose wording and own moves are taken.
    """
    setup, game, number = cell.setup, cell.game, int(cell.episodes[place])
    which = int(setup.draw_partners(number, 1)[0])
    rng = setup.generator("subject", number, subject_class(setup.kind).draws_per_step)
    subject = setup.seat_subject(setup.tables.partners[which], rng, Recording(), "", number)
    assert isinstance(subject, LLMSubject)
    own = moves_of(cell.played, place)[0]
    past: list[Joint] = []
    asked: dict[int, ScoreRequest] = {}
    for step in range(1, max(steps) + 1):
        if step in steps:
            told = setup.horizon, tuple(past), setup.continuation
            seen = Observation(game, setup.labels, step, *told)
            with overhearing() as heard:
                run_now(subject.act(seen))
            one = next(one for one in heard if one.purpose == ACT)
            asked[step] = ScoreRequest(one.prompt, tuple(one.labels))
        a, b = int(own[step - 1]), int(partner[step - 1])
        past.append(Joint(a, b, float(game.own[a, b]), float(game.partner[a, b])))
        subject.scene.observe(past[-1])
    return asked


def moves_of(played: Played, place: int) -> tuple[IntArray, IntArray]:
    """Return the own and the partner's moves of an episode."""
    end = int(played.lengths[: place + 1].sum())
    part = slice(end - int(played.lengths[place]), end)
    return played.own[part], played.partner[part]


class Ran(NamedTuple):
    """What a pass gave: the labels' log-probabilities, and the states, (layers + 1, D)."""

    logprobs: list[float]
    states: FloatArray

    @property
    def choice(self) -> int:
        """The likeliest label."""
        return int(np.argmax(self.logprobs))


class Watched:
    """A local model whose residual stream is read and exchanged.

    Parameters
    ----------
    local : TransformersModel
        It is not changed: hooks are taken off after each pass.

    Raises
    ------
    TomevalError
        The model has no list of blocks.
    """

    def __init__(self, local: Any) -> None:
        self.local, self.blocks = local, _blocks(local.model)
        self._engine = Engine(local.model, _ONE_BATCH, local.engine.context)

    def run(self, asked: ScoreRequest, put_in: tuple[int, FloatArray] | None = None) -> Ran:
        """Run one question; return its labels' log-probabilities, and the states.

        They are those of the prompt's last token; there, too, a state is put in: layer and (D,).
        """
        query = self.local.codec.label_query(asked)
        last = len(query.prefix) - 1
        states: list[FloatArray] = [np.empty(0, dtype=np.float32)] * (len(self.blocks) + 1)

        def seen(layer: int, hidden: Any) -> Any:
            if not states[layer].size:
                states[layer] = hidden[0, last].float().cpu().numpy()
            if put_in is None or put_in[0] != layer:
                return None
            changed = hidden.clone()
            changed[:, last] = hidden.new_tensor(put_in[1])
            return changed

        with self._watching(seen):
            [scored] = self._engine.score([query])
        return Ran(list(exclusive(scored.logprobs, query.sequences)), np.stack(states))

    @contextmanager
    def _watching(self, seen: Callable[[int, Any], Any]) -> Iterator[None]:
        """Have every layer's states pass through a function, which may replace them."""

        def before(module: Any, args: Any, kwargs: Any) -> Any:
            changed = seen(0, args[0] if args else kwargs["hidden_states"])
            if changed is None:
                return None
            return (
                ((changed, *args[1:]), kwargs)
                if args
                else ((), kwargs | {"hidden_states": changed})
            )

        def after(layer: int) -> Callable[[Any, Any, Any], Any]:
            def hook(module: Any, args: Any, output: Any) -> Any:
                whole = isinstance(output, tuple)
                changed = seen(layer, output[0] if whole else output)
                return (changed, *output[1:]) if whole and changed is not None else changed

            return hook

        hooks = [self.blocks[0].register_forward_pre_hook(before, with_kwargs=True)]
        hooks += [block.register_forward_hook(after(n)) for n, block in enumerate(self.blocks, 1)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _blocks(model: Any) -> Any:
    """Return the list of a model's blocks."""
    from tomeval.models.local.load import require, text_config

    count = getattr(text_config(model.config), "num_hidden_layers", None)
    for one in model.modules():
        if isinstance(one, require("torch").nn.ModuleList) and len(one) == count:
            return one
    raise TomevalError(f"internal: {type(model).__name__} has no list of its {count} blocks")


def read(cell: MatrixRunCell, watched: Watched) -> tuple[IntArray, IntArray, States]:
    """Return rows of the played steps from the second on, their episodes, and their states.

    Of shape (N,), (N,), from 0 among the complete ones, and (N, layers, D).

    Raises
    ------
    TomevalError
        The model's log-probabilities are not those that were recorded.
    """
    rows, episode, states, off = [], [], [], 0.0
    first = np.cumsum(cell.played.lengths) - cell.played.lengths
    for place, number in enumerate(cell.episodes.tolist()):
        theirs = moves_of(cell.played, place)[1]
        scores = {
            step: call["scores"]["logprobs"]
            for step, seat, _, call in cell.store.calls(cell.number, number)
            if seat == SEAT and call.get("purpose") == ACT and "scores" in call
        }
        for step, asked in rendered(cell, place, theirs, range(2, len(theirs) + 1)).items():
            ran = watched.run(asked)
            rows.append(int(first[place]) + step - 1)
            episode.append(place)
            states.append(ran.states)
            off = max(off, float(np.abs(np.subtract(ran.logprobs, scores[step])).max()))
    if off > (CLOSE if watched.local.model.dtype.itemsize > 2 else ROUGH):
        raise TomevalError(
            f"internal: cell {cell.number}: the run is not reproduced here: a label's "
            f"log-probability is {off:.3g} nats off; are model and templates those of the run, and "
            "is this the folder that it was started in?"
        )
    return np.array(rows), np.array(episode), np.array(states, dtype=np.float64)


def packed(
    cell: MatrixRunCell, rows: IntArray, episode: IntArray, states: States
) -> dict[str, Any]:
    """Return states and what was played by name: float16, larger numbers become the largest."""
    played, largest = cell.played, np.finfo(np.float16).max
    starts = np.cumsum(played.lengths) - played.lengths
    arrays: dict[str, Any] = {
        "states": np.clip(states, -largest, largest).astype(np.float16),
        "layer": np.arange(states.shape[1]),
        "episode": cell.episodes[episode],
        "step": rows - starts[episode] + 1,
        "own_action": played.own[rows],
        "partner_action": played.partner[rows],
    }
    if played.predicted is not None:
        arrays["predicted_action"] = played.predicted[rows]
    return arrays


class Swap(NamedTuple):
    """An exchange: its episode, the layer, what was put in, and whether the answer followed."""

    place: int  # among the complete episodes
    layer: int
    condition: str
    follows: bool


def exchanged(cell: MatrixRunCell, watched: Watched, rng: np.random.Generator) -> list[Swap]:
    """Exchange states between at most `PAIRS` pairs of prompts whose answers are apart.

    The prompts of a pair differ in the partner's moves alone: an episode's own, or those of another
    episode whose partner goes on differently. An answer follows if it becomes the other prompt's.
    Interchange of states: Geiger, Lu, Icard and Potts 2021.
    """
    swaps: list[Swap] = []
    for _ in range(TRIED * PAIRS):
        one, other = rng.choice(cell.played.episodes, 2, replace=False).tolist()
        moves = [moves_of(cell.played, place)[1] for place in (one, other)]
        step = int(rng.integers(2, max(3, 1 + min(map(len, moves)))))
        if min(map(len, moves)) < step or moves[0][step - 1] == moves[1][step - 1]:
            continue
        here, there = (rendered(cell, one, theirs, [step])[step] for theirs in moves)
        mine, target = watched.run(here), watched.run(there)
        if mine.choice == target.choice:
            continue
        for layer in range(len(mine.states)):
            before, after = mine.states[layer], target.states[layer]
            drawn = rng.standard_normal(after.shape)
            away = before + drawn * (np.linalg.norm(after - before) / np.linalg.norm(drawn))
            for condition, state in ((TWIN, after), (RANDOM, away.astype(np.float32))):
                ran = watched.run(here, (layer, state))
                swaps.append(Swap(one, layer, condition, ran.choice == target.choice))
        if len(swaps) == 2 * PAIRS * len(mine.states):
            break
    return swaps
