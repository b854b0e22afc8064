"""Transformers whose weights are set by hand, so that what they hold and use is known.

They play rock-paper-scissors in the default wording. Block 1 finds the partner's moves, block 2
writes at the token that the answer follows how often the partner made each, its belief, and block 3
acts: `uses` plays the best reply to its belief, `idle` has it and always plays Rock, `elsewhere`
has it and acts on moves that block 3 reads again, `blind` reads no move and always plays Rock. All
but the blind one predict what they believe.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from tomeval.models import Backend
from tomeval.models.local.load import Loaded, require
from tomeval.models.local.transformers import TransformersModel

torch: Any = require("torch")
nn = torch.nn

LABELS = ("Rock", "Paper", "Scissors")
BEATEN_BY = (1, 2, 0)
"""By label, the one that beats it."""

BLOCKS = 3
_CODE = 12  # pairs of numbers that tell up to 2 ** _CODE positions apart
_WORDS = ("[UNK]", *LABELS, "player", "chose", "will")

# What the dimensions of a state mean, each from where it begins.
_ONE = 0  # always 1
_TOKEN = 1  # one-hot of the word
_PLACE = _TOKEN + len(_WORDS)  # code of the position
_BACK = _PLACE + 2 * _CODE  # whether "chose" stands one token back, "player" two, "will" one
_MOVE = _BACK + 3  # the partner's move, at the token of its label
_BELIEF = _MOVE + 3  # how often the partner made each move, at every token behind
_AGAIN = _BELIEF + 3  # the same, read again by block 3
_SAID = _AGAIN + 3  # what is said next, by label
WIDTH = _SAID + 3

_SHARP = 40.0  # how much a head prefers what it looks for
_LOUD = 20.0  # logit of a label whose share is 1


def tokenizer() -> Any:
    """Return a tokenizer of words and marks, most of them unknown."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: n for n, word in enumerate(_WORDS)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    kind = require("transformers").PreTrainedTokenizerFast
    return kind(tokenizer_object=backend)  # a special token in a text would be one smuggled in


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """Heads with causal attention, one after the other, then an MLP; no norms."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.match = nn.Parameter(torch.zeros(heads, WIDTH, WIDTH))  # queries times keys
        self.move = nn.Parameter(torch.zeros(heads, WIDTH, WIDTH))  # values times outputs
        self.into = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))
        self.out = nn.Parameter(torch.zeros(WIDTH, WIDTH))

    def forward(self, hidden: Any, mask: Any) -> Any:
        """Return the states after the block; `mask` is added to what heads match."""
        for match, move in zip(self.match, self.move, strict=True):
            weights = (hidden @ match @ hidden.transpose(1, 2) + mask).softmax(-1)
            hidden = hidden + weights @ (hidden @ move)
        return hidden + (hidden @ self.into + self.bias).relu() @ self.out

    def looks_back(self, head: int, tokens: int, word: str, to: int, rates: Any) -> None:
        """Have a head note whether a word stands so many tokens back."""
        for n, rate in enumerate(rates.tolist()):
            at, cos, sin = _PLACE + 2 * n, math.cos(tokens * rate), math.sin(tokens * rate)
            turn = torch.tensor([[cos, -sin], [sin, cos]])
            self.match[head, at : at + 2, at : at + 2] = _SHARP * turn
        self.move[head, _TOKEN + _WORDS.index(word), to] = 1.0

    def gathers(self, head: int, to: int) -> None:
        """Have a head take the mean of all moves that were found so far."""
        for n in range(len(LABELS)):
            self.match[head, _ONE, _MOVE + n] = _SHARP
            self.move[head, _MOVE + n, to + n] = 1.0

    def adds(self, unit: int, of: dict[int, float], bias: float, to: int) -> None:
        """Have a unit of the MLP add what is above 0 of a weighted sum."""
        for source, weight in of.items():
            self.into[source, unit] = weight
        self.bias[unit] = bias
        self.out[unit, to] = 1.0


class Network(nn.Module):  # type: ignore[misc, name-defined]
    """Embeddings, blocks, and the logits of words; all weights are 0."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(
            num_hidden_layers=BLOCKS, max_position_embeddings=2**_CODE, eos_token_id=None
        )
        self.words = nn.Embedding(len(_WORDS), WIDTH)
        self.blocks = nn.ModuleList([Block(2), Block(1), Block(2)])
        self.head = nn.Parameter(torch.zeros(WIDTH, len(_WORDS)))
        self.register_buffer("rates", 2 * math.pi / 2.0 ** torch.arange(1, _CODE + 1))

    @property
    def device(self) -> Any:
        """Where the weights are."""
        return self.head.device

    @property
    def dtype(self) -> Any:
        """The weights' type."""
        return self.head.dtype

    def get_input_embeddings(self) -> Any:
        """Return the embedding of words."""
        return self.words

    def forward(self, input_ids: Any, use_cache: bool = False) -> Any:
        """Return logits, shape (rows, tokens, words)."""
        hidden = self.words(input_ids).clone()
        width = input_ids.shape[1]
        angles = torch.arange(width, device=hidden.device)[:, None] * self.rates
        hidden[..., _PLACE:_BACK] = torch.stack([angles.cos(), angles.sin()], -1).flatten(-2)
        seen = torch.ones(width, width, dtype=torch.bool, device=hidden.device).tril()
        mask = torch.zeros(len(input_ids), width, width, device=hidden.device)
        mask = mask.masked_fill(~seen, -1e9)
        for block in self.blocks:
            hidden = block(hidden, mask)
        return SimpleNamespace(logits=hidden @ self.head)


def network(kind: str) -> Network:
    """Return the network of a kind with its weights."""
    made = Network()
    made.requires_grad_(False)
    first, second, third = made.blocks
    made.words.weight.zero_()
    made.words.weight[:, _ONE] = 1.0
    for n in range(len(_WORDS)):
        made.words.weight[n, _TOKEN + n] = 1.0
    first.looks_back(0, 1, "chose", _BACK, made.rates)
    first.looks_back(1, 2, "player", _BACK + 1, made.rates)
    third.looks_back(0, 1, "will", will := _BACK + 2, made.rates)
    second.gathers(0, _BELIEF)
    if kind == "elsewhere":
        third.gathers(1, _AGAIN)
    acts_on = _AGAIN if kind == "elsewhere" else _BELIEF
    for n, beats in enumerate(BEATEN_BY):
        made.head[_SAID + n, _WORDS.index(LABELS[n])] = _LOUD
        if kind != "blind":
            behind = {_TOKEN + 1 + n: 1.0, _BACK: 1.0, _BACK + 1: 1.0}
            first.adds(n, behind, -2.0, _MOVE + n)
        # "will choose" ends the question for a prediction, "I choose" that for a move.
        third.adds(n, {_BELIEF + n: 1.0, will: 2.0}, -2.0, _SAID + n)
        if kind in ("uses", "elsewhere"):
            third.adds(3 + n, {acts_on + n: 1.0, will: -2.0}, 0.0, _SAID + beats)
    if kind in ("idle", "blind"):
        third.adds(3, {_ONE: 1.0, will: -1.0}, 0.0, _SAID)
    made.eval()
    return made


def open_compiled(name: str, options: dict[str, Any], opening: Any) -> TransformersModel:
    """Open ``compiled:KIND``."""
    given = Loaded(network(name.partition(":")[2]), tokenizer(), "1")
    model = TransformersModel(name, given=given, prefix_reuse=False, device="cpu")
    model.name = name
    return model


BACKEND = Backend(open_compiled, "compiled:KIND", libraries=("torch", "transformers"))
