"""Embeddings from Hub repositories or local model folders: sentence encoders and static ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.lexicon.embeddings import Embedding
from tomeval.models.local.load import require

_BATCH = 256
_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")


def open_hub_embedding(name: str, wanted: Sequence[str], base: Path | None = None) -> Embedding:
    """Return the vectors of words from ``hf:REPO[@revision][:FILE]``.

    `REPO` is a repository of the Hub or a local folder. A file is read by `read_embedding_file`.
    Without one, a repository whose ``config.json`` says ``model2vec`` gives the mean of its token
    vectors; any other is loaded as an encoder, whose last hidden states are pooled as its
    ``1_Pooling/config.json`` says (mean or first token; mean without it).
    """
    repo, revision, file = _parts(name)
    folder = Path(base or ".", repo).expanduser()
    local = folder if folder.is_dir() else None
    if file:
        from tomeval.lexicon.embedding_files import read_embedding_file

        path = local / file if local else _download(repo, revision, file)
        if not path.is_file():
            raise TomevalError(f"{name}: no file {file!r} in {folder}")
        return read_embedding_file(path, wanted, name)
    source = local or _download(repo, revision)
    config = _read_json(source / "config.json")
    make = _static_vectors if config.get("model_type") == "model2vec" else encode_words
    return Embedding.of(name, wanted, make(source, wanted))


def encode_words(folder: Path, words: Sequence[str]) -> NDArray[np.float32]:
    """Return pooled last hidden states of words, one text each, shape (words, dimensions).

    The folder holds a transformers encoder with its tokenizer, as sentence-transformers lays them
    out. The states are not normalised.
    """
    torch, transformers = require("torch"), require("transformers")
    pool = _pooling(folder)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModel.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, use_safetensors=True
        ).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise TomevalError(f"{folder}: cannot be loaded as an encoder: {reason}") from None
    found = []
    with torch.inference_mode():
        for start in range(0, len(words), _BATCH):
            batch = tokenizer(
                list(words[start : start + _BATCH]), padding=True, return_tensors="pt"
            )
            states = model(**batch).last_hidden_state
            found.append(pool(states, batch["attention_mask"][..., None]).numpy())
    return np.concatenate(found)


def _pooling(folder: Path) -> Callable[[Any, Any], Any]:
    """Return the function that makes one vector of states (n, t, d) and a mask (n, t, 1)."""
    path = folder / "1_Pooling" / "config.json"
    config = _read_json(path) if path.is_file() else {"pooling_mode_mean_tokens": True}
    modes = [
        key for key, value in config.items() if key.startswith("pooling_mode_") and value is True
    ]
    if modes == ["pooling_mode_mean_tokens"]:
        return lambda states, mask: (states * mask).sum(1) / mask.sum(1)
    if modes == ["pooling_mode_cls_token"]:
        return lambda states, mask: states[:, 0]
    raise TomevalError(f"{path}: only mean and first-token pooling can be read, not {modes}")


def _static_vectors(folder: Path, words: Sequence[str]) -> NDArray[np.float64]:
    """Return means of token vectors, as model2vec stores them."""
    tables, tokenizer = _static_parts(folder)
    if "embeddings" not in tables:
        raise TomevalError(f"{folder}: model.safetensors has no table 'embeddings'")
    if set(tables) - {"embeddings"}:
        extra = ", ".join(sorted(set(tables) - {"embeddings"}))
        raise TomevalError(f"{folder}: model.safetensors has tables that cannot be read: {extra}")
    table = tables["embeddings"].astype(float)
    found = np.zeros((len(words), table.shape[1]))
    for row, encoded in enumerate(tokenizer.encode_batch(list(words), add_special_tokens=False)):
        if not encoded.ids:
            raise TomevalError(f"{folder}: its tokenizer has no token for {words[row]!r}")
        found[row] = table[encoded.ids].mean(axis=0)
    return found


def _static_parts(folder: Path) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return the tables and the tokenizer of a static embedding."""
    safetensors, tokenizers = require("safetensors"), require("tokenizers")
    cannot = f"{folder}: cannot be loaded as a static embedding"
    try:
        tables = require("safetensors.numpy").load_file(folder / "model.safetensors")
    # A type that numpy lacks, such as bfloat16, is a TypeError or an AttributeError.
    except (safetensors.SafetensorError, OSError, TypeError, AttributeError) as error:
        raise TomevalError(f"{cannot}: {error}") from None
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # noqa: BLE001 (whatever is wrong: it raises plain Exception)
        raise TomevalError(f"{cannot}: {error}") from None
    return tables, tokenizer


def _parts(name: str) -> tuple[str, str | None, str | None]:
    rest = name.removeprefix("hf:")
    # A colon after a drive letter does not begin a file.
    head, _, file = rest.partition(":") if rest[1:2] != ":" else (rest, "", "")
    repo, _, revision = head.partition("@")
    if not repo:
        raise TomevalError(f"embedding {name!r}: expected hf:REPO[@revision][:FILE]")
    return repo, revision or None, file or None


def _download(repo: str, revision: str | None, file: str | None = None) -> Path:
    """Return where a repository's file is, or the folder of all that embeddings need."""
    hub, errors = require("huggingface_hub"), require("huggingface_hub.errors")
    try:
        if file:
            return Path(hub.hf_hub_download(repo, file, revision=revision))
        return Path(hub.snapshot_download(repo, revision=revision, allow_patterns=list(_FILES)))
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError, *_network_errors()) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "")
        raise TomevalError(
            f"hf:{repo}: cannot be fetched: {reason or type(error).__name__}; no such folder either"
        ) from None


def _network_errors() -> tuple[type[Exception], ...]:
    """Return what the Hub client's HTTP library raises, whichever it uses."""
    modules = [sys.modules.get(name) for name in ("httpx", "httpx2")]
    return tuple(module.HTTPError for module in modules if module is not None)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise TomevalError(f"{path}: not a JSON object")
    return value
