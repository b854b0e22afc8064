"""The pocket model's tokenizer: byte-level BPE, with the prompts' recurring phrases as tokens.

Transcripts repeat a few phrases hundreds of times ("the other player chose"). Phrases of up to
`WORDS` words that stand between labels and numbers in the shipped templates are one token each: a
round takes 14 tokens or so. Any other text is read by the byte-level BPE, byte by byte at worst.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from typing import Any

import numpy as np
from documents import Document, draw_documents
from plays import made_up_words

from tomeval.games.matrix.games import NEUTRAL

SPECIAL = ("<|pad|>", "<|im_start|>", "<|im_end|>")
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY = 1280
WORDS = 6
MOST_PHRASES = 220
_WORD = re.compile(r" ?[^\s]+")
_PIECES = r"\n| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|[^\S\n]+(?!\S)|[^\S\n]+"
"""A line break, a word, a number, signs, or white space: what text is cut into otherwise."""


def train_tokenizer(seed: int, before: Any = None, documents: int = 600) -> Any:
    """Return a tokenizer for texts like those of the corpus; the same seed gives the same one.

    That of an earlier wording, `before`, keeps its byte-level BPE, so that labels stay the tokens
    they were; only the phrases are found anew.
    """
    from transformers import PreTrainedTokenizerFast

    rng = np.random.default_rng([seed, 1])
    texts = [
        text
        for _ in range(documents)
        for document in draw_documents(rng, int(rng.integers(1, 12)), own_play="varied")
        for text in _texts(document)
    ]
    phrases = find_phrases(texts)
    if before is None:
        backend = _train_bpe(rng, texts, VOCABULARY - len(phrases))
    else:
        backend = _without_phrases(before)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=_with_phrases(backend, phrases),
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[2],
        additional_special_tokens=[SPECIAL[1]],
        clean_up_tokenization_spaces=False,
        model_max_length=8192,
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def _train_bpe(rng: np.random.Generator, texts: list[str], size: int) -> Any:
    """Return a byte-level BPE of `size` tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    # A line break is always a token of its own: the tokens of a line do not depend on the next.
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # What every model must have as one token: numbers of rounds, and letters as labels.
    words = [f" {n}" for n in range(101)] + [f" {c}" for c in string.ascii_uppercase]
    words += [" " + letter * 21 for letter in NEUTRAL[:4]]
    made_up = [f" {word}" for _ in range(2000) for word in made_up_words(rng, 3)]
    backend.train_from_iterator([*texts, *(words * 500), *made_up], trainer)
    return backend


def _without_phrases(tokenizer: Any) -> Any:
    """Return a tokenizer's byte-level BPE: the tokens that merges make, of bytes."""
    from tokenizers import Tokenizer

    data = json.loads(tokenizer.backend_tokenizer.to_str())
    model = data["model"]
    merged = {"".join(pair) for pair in model["merges"]}
    kept = [t for t in model["vocab"] if len(t) == 1 or t in merged or t in SPECIAL]
    model["vocab"] = {token: index for index, token in enumerate(kept)}
    for added in data["added_tokens"]:
        added["id"] = model["vocab"][added["content"]]
    return Tokenizer.from_str(json.dumps(data))


def _with_phrases(backend: Any, phrases: list[str]) -> Any:
    """Add phrases to the vocabulary: pieces that the text is cut into, and tokens for them.

    They are no added tokens: those would count as markup that no message may contain.
    """
    from tokenizers import Tokenizer, pre_tokenizers

    data = json.loads(backend.to_str())
    vocabulary = data["model"]["vocab"]
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for phrase in phrases:
        ((written, _),) = to_bytes.pre_tokenize_str(phrase)
        vocabulary.setdefault(written, len(vocabulary))
    data["model"]["ignore_merges"] = True  # a piece that is a token is that token
    longest_first = sorted(phrases, key=len, reverse=True)
    pattern = "|".join([*map(re.escape, longest_first), _PIECES])
    split, byte_level = data["pre_tokenizer"]["pretokenizers"]
    split["pattern"] = {"Regex": pattern}
    byte_level["use_regex"] = False
    return Tokenizer.from_str(json.dumps(data))


def find_phrases(texts: list[str]) -> list[str]:
    """Return the recurring phrases between labels and numbers, by what they save."""
    counts: Counter[str] = Counter()
    for text in texts:
        for fragment in re.split("\x00|\n", text):
            words = _WORD.findall(fragment)
            for start in range(0, len(words), WORDS):
                counts["".join(words[start : start + WORDS])] += 1
    saved = Counter({p: n * (len(_WORD.findall(p)) - 1 + (":" in p)) for p, n in counts.items()})
    return sorted(p for p, value in saved.most_common(MOST_PHRASES) if value > 0 and counts[p] > 9)


def _texts(document: Document) -> list[str]:
    """Return a document's texts with labels and numbers blanked out."""
    names = sorted({re.escape(name) for name in document.names}, key=len, reverse=True)
    blank = re.compile("|".join([r" [+-]?\d+(?:\.\d+)?", *(rf" {name}\b" for name in names)]))
    parts = [document.text]
    parts += [part for b in document.branches for part in (b.question, b.prefill, b.answer)]
    return [blank.sub("\x00", part) for part in parts]
