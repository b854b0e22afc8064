"""Keep control tokens out of text that others wrote: what a message says never ends its turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tomeval.errors import TomevalError

# Private-use characters around a control token in a message, while a template renders it.
_START, _END = "\U000f0000", "\U000f0001"


class SmuggledControlToken(TomevalError):
    """Text gave a control token although none is spelt in it, such as through normalisation."""


class ControlTokens:
    """The control tokens of a tokenizer, and encoding that takes them from the template only.

    Every added token counts, special or not, but those that are whitespace or a plain word. A
    control token inside a message is encoded character by character, as the text that it is.

    Attributes
    ----------
    ids : frozenset of int
        Their token ids.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        found = {
            token.content: index
            for index, token in tokenizer.added_tokens_decoder.items()
            if token.content and (token.special or _is_control(token.content))
        }
        for text in tokenizer.all_special_tokens:
            found.setdefault(text, tokenizer.convert_tokens_to_ids(text))
        self.ids = frozenset(found.values())
        anchors = {tokenizer.bos_token_id, tokenizer.eos_token_id}
        # An unknown character gives the unknown token rightly; it is special but controls nothing.
        self._guarded = self.ids - ({tokenizer.unk_token_id} - anchors)
        longest_first = sorted(found, key=len, reverse=True)
        tokens = "|".join(map(re.escape, longest_first)) or "(?!)"
        self._token = re.compile(tokens)
        self._marked = re.compile(f"{_START}({tokens}|.){_END}|[{_START}{_END}]", re.DOTALL)
        self._heads = {text[:k] for text in found for k in range(1, len(text))}
        self._tails = {text[-k:] for text in found for k in range(1, len(text))}
        self._longest = max(map(len, found), default=1)

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

        Raises
        ------
        SmuggledControlToken
            Marked or unmarked text gave more control tokens than its unmarked part spells.
        """
        texts = [self._pieces(text) for text in marked]
        flat = [piece for pieces in texts for piece in pieces]
        if not flat:
            return [[] for _ in texts]
        encoded = self._tokenizer(flat, add_special_tokens=False, verbose=False)["input_ids"]
        for piece, ids in zip(flat, encoded, strict=True):
            if not self._guarded.isdisjoint(ids):
                self._check(piece, ids)
        parts = iter(encoded)
        return [[token for _ in pieces for token in next(parts)] for pieces in texts]

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
        found = sum(token in self._guarded for token in ids)
        if found > len(self._token.findall(piece)):
            raise SmuggledControlToken(f"a control token appears in ordinary text: {piece[:80]!r}")


def _is_control(text: str) -> bool:
    """Tell whether an added token that is not special still structures a conversation."""
    return not text.isspace() and not text.strip().isalnum()
