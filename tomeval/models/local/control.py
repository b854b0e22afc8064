"""Keep control tokens out of text that others wrote: what a message says never ends its turn."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tomeval.core.errors import TomevalError

# Private-use characters around a control token in a message, while a template renders it.
_START, _END = "\U000f0000", "\U000f0001"


# Only between one line break and a visible character, where no pattern looks across.
_LINE = re.compile(r"(?<=\S\n)(?=\S)")
_MEMORY = 100_000  # lines whose tokens are kept


class SmuggledControlToken(TomevalError):
    """Text gave a control token although none is spelt in it, such as through normalisation."""


class ControlTokens:
    """The control tokens of a tokenizer, and encoding that takes them from the template only.

    Every added token counts, special or not, except whitespace and plain words. A
    control token inside a message is encoded character by character, as the text that it is.
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
        self.ids = frozenset(id_of.values())  # all control tokens
        anchors = {tokenizer.bos_token_id, tokenizer.eos_token_id}
        # An unknown character may give the unknown token, which is special but controls nothing.
        self._guarded = self.ids - ({tokenizer.unk_token_id} - anchors)
        longest_first = sorted(id_of, key=len, reverse=True)
        tokens = "|".join(map(re.escape, longest_first)) or "(?!)"
        self._token = re.compile(tokens)
        self._marked = re.compile(f"{_START}({tokens}|.){_END}|[{_START}{_END}]", re.DOTALL)
        self._heads = {text[:k] for text in id_of for k in range(1, len(text))}
        self._tails = {text[-k:] for text in id_of for k in range(1, len(text))}
        self._longest = max(map(len, id_of), default=1)
        self._breaks = any("\n" in text for text in id_of)
        self._known: dict[str, list[int]] = {}
        self._splits = splits_at_lines(tokenizer)

    def mark(self, text: str, *, every: bool = False) -> str:
        """Return the text with its control tokens (or every character) marked as plain text.

        A text that starts or ends with a part of a control token gets a mark there too, so that
        what a template puts beside it cannot complete the token.
        """
        text = text.replace(_START, "").replace(_END, "")
        if every:
            return "".join(f"{_START}{character}{_END}" for character in text)
        cuts = range(1, min(len(text), self._longest) + 1)
        before = _START if any(text[:k] in self._tails for k in cuts) else ""
        after = _START if any(text[-k:] in self._heads for k in cuts) else ""
        return before + self._token.sub(f"{_START}\\g<0>{_END}", text) + after

    def plain(self, marked: str) -> str:
        """Return a marked text without its marks."""
        return marked.replace(_START, "").replace(_END, "")

    def encode(self, marked: Sequence[str]) -> list[list[int]]:
        """Return the token ids of marked texts, without tokens that a tokenizer puts around them.

        Raises `SmuggledControlToken` if a text gave more control tokens than its unmarked part
        spells.
        """
        texts = [self._pieces(text) for text in marked]
        flat = [piece for pieces in texts for piece in pieces]
        if not flat:
            return [[] for _ in texts]
        parts = iter(self._by_line(flat) if self._splits else self._encode(flat))
        return [[token for _ in pieces for token in next(parts)] for pieces in texts]

    def last_line(self, marked: str) -> int:
        """Return where a marked text can be cut so that its parts have its tokens; 0: nowhere.

        What is put behind the text does not change that.
        """
        end = marked.rfind("\n", 0, -1) if self._splits and not self._breaks else -1
        while end > 0:
            beside = marked[end - 1], marked[end + 1]
            if not any(c.isspace() or c in (_START, _END) for c in beside):
                return end + 1
            end = marked.rfind("\n", 0, end)
        return 0

    def _encode(self, texts: list[str]) -> list[list[int]]:
        encoded: list[list[int]] = self._tokenizer(texts, add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        for text, ids in zip(texts, encoded, strict=True):
            if not self._guarded.isdisjoint(ids):
                self._check(text, ids)
        return encoded

    def _by_line(self, texts: list[str]) -> list[list[int]]:
        """Encode line by line; prompts of one play repeat all their lines but the last ones."""
        lines = [_LINE.split(text) for text in texts]
        new = list({line for parts in lines for line in parts if line not in self._known})
        if len(self._known) + len(new) > _MEMORY:
            self._known.clear()
            new = list({line for parts in lines for line in parts})
        if new:
            self._known.update(zip(new, self._encode(new), strict=True))
        return [[t for line in parts for t in self._known[line]] for parts in lines]

    def _pieces(self, marked: str) -> list[str]:
        pieces = []
        for index, part in enumerate(self._marked.split(marked)):
            if index % 2:  # a marked token: one piece a character; one that is a token is replaced
                letters = part or ""
                pieces += ["\ufffd" if self._token.fullmatch(c) else c for c in letters]
            elif part:
                pieces.append(part)
        return pieces

    def _check(self, piece: str, ids: Sequence[int]) -> None:
        guarded = sum(token in self._guarded for token in ids)
        if guarded > len(self._token.findall(piece)):
            raise SmuggledControlToken(f"a control token appears in ordinary text: {piece[:80]!r}")


def splits_at_lines(tokenizer: Any) -> bool:
    """Tell whether a text's tokens are its lines' tokens, one after another.

    This holds if a pattern cuts the text before the merges and never across a line break: the
    byte-level tokenizers of GPT-2, Llama 3, Qwen and their like. Others, which may write a mark
    before any text or merge across lines, are encoded whole. Structure and a trial must agree.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return False
    data = json.loads(backend.to_str())
    cutter = data.get("pre_tokenizer") or {}
    kinds = [part["type"] for part in cutter.get("pretokenizers", [cutter]) if "type" in part]
    prefix = [p for p in (cutter, *cutter.get("pretokenizers", [])) if p.get("add_prefix_space")]
    normalizer = (data.get("normalizer") or {}).get("type")
    if "ByteLevel" not in kinds or prefix or normalizer not in (None, "NFC"):
        return False
    if data.get("model", {}).get("type") != "BPE":
        return False
    whole = tokenizer.encode(_TRIAL, add_special_tokens=False)
    parts = [tokenizer.encode(line, add_special_tokens=False) for line in _LINE.split(_TRIAL)]
    return bool(whole == [token for part in parts for token in part])


_TRIAL = (
    "Round 1: you chose J.\nRound 2: 'F' (10 points)\n\n  - If you: +1;\n\n\n\"Q\"\n(a)\n"
    "12\n34\n...\n...\n\u00e9t\u00e9\n\u65e5\u672c\nFinal answer: ..."
)


def _is_control(text: str) -> bool:
    """Tell whether an added token that is not special still structures a conversation."""
    return not text.isspace() and not text.strip().isalnum()
