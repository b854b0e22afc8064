"""Read and exchange the residual stream of a local model at tokens that are named by meaning.

Layer 0 is what the first block reads, layer l what block l adds up to; the final norm, which
``output_hidden_states`` of transformers applies to the last one, takes no part.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.core.prefixes import common_prefix
from tomeval.extensions.internal.questions import Asked, Line
from tomeval.models.base import ScoreRequest
from tomeval.models.local.forward import PlainEngine
from tomeval.models.local.tasks import LabelQuery, exclusive, rows
from tomeval.models.local.transformers import TransformersModel

FloatArray = NDArray[np.float32]

_STARTS = 4  # tokens that a tokenizer puts before a text, at most
_ONE_BATCH = 10**9


class Tokens(NamedTuple):
    """A question in tokens.

    `moves` are, for every round of the history, the tokens of the partner's move and of what it
    paid: the first token of each part, and the one behind it. `scored` tells whether labels were
    scored, or are stand-ins.
    """

    query: LabelQuery
    moves: tuple[tuple[tuple[int, int], ...], ...]
    scored: bool

    @property
    def last(self) -> int:
        """The token whose state the answer begins from."""
        return len(self.query.prefix) - 1

    def newest(self) -> int | None:
        """Return the last token of the newest move; None without a history."""
        return self.moves[-1][0][1] - 1 if self.moves else None


class Exchange(NamedTuple):
    """States to put in at one layer: tokens, (P,), and what becomes of their states, (P, D)."""

    layer: int
    tokens: Sequence[int]
    become: Callable[[Any], Any]


class Ran(NamedTuple):
    """What a pass gave: the labels' log-probabilities, and states, (layers + 1, P, D)."""

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
    model : torch module, optional
        Runs in place of the model, such as its untrained twin.

    Raises
    ------
    TomevalError
        The model has no list of blocks.
    """

    def __init__(self, local: Any, model: Any = None) -> None:
        if not isinstance(local, TransformersModel):
            raise TomevalError(f"internal: model {local.name!r}: {OPEN_WEIGHTS}")
        self.local, self.model = local, local.model if model is None else model
        self.blocks = _blocks(self.model)
        self._plain = PlainEngine(self.model, _ONE_BATCH, local.context_length())
        self._plain.mixed = local.plain.mixed

    @property
    def layers(self) -> int:
        """The number of blocks."""
        return len(self.blocks)

    def tokens(self, asked: Asked) -> Tokens:
        """Return a question as the model reads it."""
        codec = self.local.codec
        if asked.labels:
            query = codec.label_query(ScoreRequest(asked.prompt, asked.labels))
        else:
            ids, _ = codec.encode(asked.prompt)
            query = LabelQuery(tuple(ids), ((0,), (1,)))
        text = codec.control.plain(codec.render(asked.prompt, scoring=bool(asked.labels)).text)
        spans = list(_spans(text, asked.lines))
        covered = iter(self._covering(query.prefix, text, sum(spans, ())))
        moves = tuple(tuple(next(covered) for _ in parts) for parts in spans)
        return Tokens(query, moves, bool(asked.labels))

    def _covering(
        self, ids: Sequence[int], text: str, spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield which tokens cover parts of a text, given as characters, in order."""
        if not spans:
            return
        offsets = self._offsets(ids, text, spans[-1][1])
        starts, ends = ([one[end] for one in offsets] for end in (0, 1))
        for start, end in spans:
            yield bisect_right(ends, start), bisect_left(starts, end)

    def _offsets(self, ids: Sequence[int], text: str, reach: int) -> list[tuple[int, int]]:
        """Return the characters of each token, by the tokenizer's own word, else by decoding.

        Of tokens that begin behind the character `reach` they are not needed.
        """
        tokenizer = self.local.codec.tokenizer
        if getattr(tokenizer, "is_fast", False):
            told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            offsets: list[tuple[int, int]] = told["offset_mapping"]
            needed = bisect_left([start for start, _ in offsets], reach)
            for shift in range(_STARTS):
                if common_prefix(list(ids[shift:]), told["input_ids"]) >= needed:
                    return [(0, 0)] * shift + offsets[:needed]
        decode = self.local.codec.decode
        ends = [len(decode(ids[: n + 1])) for n in range(len(ids))]
        shift = decode(ids).find(text[:reach])
        if shift < 0:
            raise TomevalError(
                f"internal: model {self.local.name!r}: its tokenizer does not say which characters "
                "a token covers, so the partner's moves cannot be located"
            )
        starts = [0, *ends[:-1]]
        return [(a - shift, b - shift) for a, b in zip(starts, ends, strict=True)]

    def run(
        self, tokens: Tokens, read: Sequence[int] = (), exchange: Exchange | None = None
    ) -> Ran:
        """Run one question; return the labels' log-probabilities and the states of some tokens."""
        lengths = sorted((len(row.ids) for row in rows(0, tokens.query)), reverse=True)
        states: list[FloatArray] = [np.empty((0, 0), dtype=np.float32)] * (self.layers + 1)

        def seen(layer: int, hidden: Any) -> Any:
            size, width = hidden.shape[:2]
            # Rows are padded on the left, longest first; models that cannot be padded have none.
            skip = [width - n for n in lengths] if size == len(lengths) else [0] * size
            if read and not states[layer].size:
                where = [skip[0] + n for n in read]
                states[layer] = hidden[0, where].float().cpu().numpy()
            if exchange is None or exchange.layer != layer:
                return None
            changed = hidden.clone()
            for row, more in enumerate(skip):
                where = [more + n for n in exchange.tokens]
                changed[row, where] = exchange.become(hidden[row, where]).to(hidden.dtype)
            return changed

        with self._watching(seen):
            [scored] = self._plain.score([tokens.query])
        logprobs = list(exclusive(scored.logprobs, tokens.query.sequences))
        return Ran(logprobs, np.stack(states) if read else np.empty((0, 0, 0), np.float32))

    @contextmanager
    def _watching(self, seen: Callable[[int, Any], Any]) -> Iterator[None]:
        """Have every layer's states pass through a function, which may replace them."""

        def before(module: Any, args: Any, kwargs: Any) -> Any:
            if args:
                changed = seen(0, args[0])
                return None if changed is None else ((changed, *args[1:]), kwargs)
            changed = seen(0, kwargs["hidden_states"])
            return None if changed is None else (args, {**kwargs, "hidden_states": changed})

        def after(layer: int) -> Callable[[Any, Any, Any], Any]:
            def hook(module: Any, args: Any, output: Any) -> Any:
                whole = isinstance(output, tuple)
                changed = seen(layer, output[0] if whole else output)
                if changed is None:
                    return None
                return (changed, *output[1:]) if whole else changed

            return hook

        hooks = [self.blocks[0].register_forward_pre_hook(before, with_kwargs=True)]
        hooks += [block.register_forward_hook(after(n)) for n, block in enumerate(self.blocks, 1)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


OPEN_WEIGHTS = "needs open weights: hf: or pocket"


def _spans(text: str, lines: Sequence[Line]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield for each round where in a prompt's text its parts stand, as characters."""
    cursor = 0
    for number, line in enumerate(lines, 1):
        at = text.find(line.text, cursor)
        if at < 0:
            raise TomevalError(f"internal: round {number} of the history is not in the prompt")
        yield tuple((at + start, at + end) for start, end in line.spans)
        cursor = at + len(line.text)


def _blocks(model: Any) -> Any:
    """Return the list of a model's blocks."""
    from tomeval.models.local.load import require

    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    count = getattr(text, "num_hidden_layers", None)
    lists = [one for one in model.modules() if isinstance(one, require("torch").nn.ModuleList)]
    for one in lists:
        if len(one) == count:
            return one
    raise TomevalError(f"internal: {type(model).__name__} has no list of its {count} blocks")


def untrained(watched: Watched, seed: int) -> Watched:
    """Return the model's twin with random weights: what architecture and prompt alone give."""
    from tomeval.models.local.load import require

    torch = require("torch")
    made: Callable[[], Any] | None = getattr(watched.model, "untrained", None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if made is not None:
            twin = made()
        else:
            kind = require("transformers").AutoModelForCausalLM
            twin = kind.from_config(watched.model.config)
    return Watched(watched.local, twin.to(watched.model.device).to(watched.model.dtype).eval())


def toward(states: FloatArray) -> Callable[[Any], Any]:
    """Return a change that puts states, (P, D), in the place of others."""
    return lambda hidden: hidden.new_tensor(states)


def as_far(states: FloatArray, rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return a change as long as that to other states, in a direction that is drawn."""
    drawn = rng.standard_normal(states.shape).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)

    def change(hidden: Any) -> Any:
        length = (hidden.new_tensor(states) - hidden).norm(dim=1, keepdim=True)
        return hidden + length * hidden.new_tensor(drawn)

    return change


def without(directions: NDArray[Any], centre: NDArray[Any]) -> Callable[[Any], Any]:
    """Return a change that takes orthonormal directions, (K, D), out of states around a centre."""

    def change(hidden: Any) -> Any:
        rows, middle = hidden.new_tensor(directions), hidden.new_tensor(centre)
        return hidden - (hidden - middle) @ rows.T @ rows

    return change
