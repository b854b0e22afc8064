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
from tomeval.games.matrix.play import generator_of
from tomeval.games.matrix.played import IntArray, Played
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.rules import Joint, Observation
from tomeval.games.matrix.subjects.llm import LLMSubject
from tomeval.models.base import ScoreRequest
from tomeval.models.local.engine import Engine
from tomeval.models.local.tasks import exclusive
from tomeval.strategies.recording import Recording, overhearing

FloatArray = NDArray[np.float32]

ACT = "act"
_ONE_BATCH = 10**9


def rendered(
    cell: MatrixRunCell, place: int, partner: IntArray, steps: Collection[int]
) -> dict[int, ScoreRequest]:
    """Return what is asked for a move in some steps, counted from 1, given the partner's moves.

    `place` is that of an episode among the complete ones, whose wording and own moves are taken.
    """
    setup, game, number = cell.setup, cell.game, int(cell.episodes[place])
    which = int(setup.draw_partners(number, 1)[0])
    rng = generator_of(setup, setup.stream("subject"), number)
    subject, _ = setup.seat_subject(setup.tables.partners[which], rng, Recording(), "", number)
    assert isinstance(subject, LLMSubject)
    own = moves_of(cell.played, place)[0]
    past: list[Joint] = []
    asked: dict[int, ScoreRequest] = {}
    for step in range(1, max(steps) + 1):
        if step in steps:
            seen = Observation(game, setup.labels, step, setup.horizon, tuple(past))
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
