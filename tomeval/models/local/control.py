"""Keep control tokens out of text that others wrote: what a message says never ends its turn."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tomeval.models.base import BackendError

# Only between one line break and a visible character, where no pattern looks across.
_LINE = re.compile(r"(?<=\S\n)(?=\S)")
_MEMORY = 100_000  # lines whose tokens are kept
_TRIAL = (
    "Round 1: you chose J.\nRound 2: 'F' (10 points)\n\n  - If you: +1;\n\n\n\"Q\"\n(a)\n"
    "12\n34\n...\n...\n\u00e9t\u00e9\n\u65e5\u672c\nFinal answer: ..."
)


class ControlTokens:
    """The control tokens of a tokenizer, and encoding that takes them from the template only.

    Every added token counts, special or not, except whitespace and plain words.

    Attributes
    ----------
    ids : frozenset of int
        All control tokens.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        id_of = {
            token.content: index
            for index, token in tokenizer.added_tokens_decoder.items()
            if token.content and (token.special or _is_control(token.content))
        }
        for text in tokenizer.all_special_tokens:
            id_of.setdefault(text, tokenizer.convert_tokens_to_ids(text))
        self.ids = frozenset(id_of.values())
        anchors = {tokenizer.bos_token_id, tokenizer.eos_token_id}
        # An unknown character may give the unknown token, which is special but controls nothing.
        self._guarded = self.ids - ({tokenizer.unk_token_id} - anchors)
        longest_first = sorted(id_of, key=len, reverse=True)
        tokens = "|".join(map(re.escape, longest_first)) or "(?!)"
        backend = getattr(tokenizer, "backend_tokenizer", None)
        normalises = backend is not None and backend.normalizer is not None  # to lower case, maybe
        self._token = re.compile(tokens, re.IGNORECASE if normalises else 0)
        self._known: dict[str, list[int]] = {}
        self._splits = splits_at_lines(tokenizer)

    def defuse(self, text: str) -> str:
        """Return a text with a space behind the first character of every control token in it."""
        while self._token.search(text):
            text = self._token.sub(_parted, text)
        return text

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts, without tokens that a tokenizer puts around them.

        Raises `BackendError` if a text gives more control tokens than it spells, such as through
        normalisation.
        """
        if not self._splits:
            return self._encode(texts)
        # Prompts of one play repeat all their lines but the last ones.
        lines = [_LINE.split(text) for text in texts]
        new = list({line for parts in lines for line in parts if line not in self._known})
        if len(self._known) + len(new) > _MEMORY:
            self._known.clear()
            new = list({line for parts in lines for line in parts})
        if new:
            self._known.update(zip(new, self._encode(new), strict=True))
        return [[t for line in parts for t in self._known[line]] for parts in lines]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encoded: list[list[int]] = self._tokenizer(
            list(texts), add_special_tokens=False, verbose=False
        )["input_ids"]
        for text, ids in zip(texts, encoded, strict=True):
            spelt = len(self._token.findall(text))
            if sum(token in self._guarded for token in ids) > spelt:
                raise BackendError(f"a control token appears in ordinary text: {text[-80:]!r}")
        return encoded


def splits_at_lines(tokenizer: Any) -> bool:
    """Return whether a text's tokens are its lines' tokens, one after another.

    This holds if a pattern cuts the text before the merges and never across a line break: the
    byte-level tokenizers of GPT-2, Llama 3, Qwen and their like. Others, which may write a mark
    before any text or merge across lines, are encoded whole. Structure and a trial must agree.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return False
    data = json.loads(backend.to_str())
    cutter = data.get("pre_tokenizer") or {}
    cutters = [cutter, *cutter.get("pretokenizers", [])]
    if (
        not any(part.get("type") == "ByteLevel" for part in cutters)
        or data["model"]["type"] != "BPE"
    ):
        return False
    normalizer = (data.get("normalizer") or {}).get("type")
    if any(part.get("add_prefix_space") for part in cutters) or normalizer not in (None, "NFC"):
        return False
    whole = tokenizer.encode(_TRIAL, add_special_tokens=False)
    parts = [tokenizer.encode(line, add_special_tokens=False) for line in _LINE.split(_TRIAL)]
    return bool(whole == [token for part in parts for token in part])


def _parted(token: re.Match[str]) -> str:
    first, rest = token[0][0], token[0][1:]
    return f"{first} {rest}" if rest else "\ufffd"


def _is_control(text: str) -> bool:
    """Return whether an added token that is not special still structures a conversation."""
    return not text.isspace() and not text.strip().isalnum()
