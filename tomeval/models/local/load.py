"""Find, load and open models of this machine: embedded, in a folder, on the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.credentials import check_code
from tomeval.core.errors import LOCAL, TomevalError, need
from tomeval.models import check_options
from tomeval.models.base import LocalModel, Opening

logger = logging.getLogger(__name__)

POCKET = {"pocket": "main", "pocket-rational": "rational"}
"""The embedded models, and the folders of `tomeval/models/pocket` that hold them."""

_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")
_TEXTS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".py")
_BLOCK = 1 << 20  # bytes read at each of three places of a weights file
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "max_seq_len")
_FAULTS = (OSError, ValueError, KeyError, ImportError, RuntimeError)
_LOADING = threading.Lock()
"""One model at a time: transformers switches settings of the whole process while it loads, and a
second one that loads beside it fails or is left with weights that are drawn at random."""


class LocalOptions(BaseModel):
    """What can be set for a model of this machine; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # By default as the weights are stored.
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str | None = None  # of torch; by default a GPU if there is one
    device_map: Any = None  # for `from_pretrained`: spread over devices, in place of `device`
    quantization: dict[str, Any] | None = None  # given to `from_pretrained`
    chat: bool | Literal["auto"] = "auto"  # chat template or plain text; auto: if there is one
    # The template's thinking switch for generated text; None leaves its default. Labels are always
    # scored with thinking off, and not at all where it is switched on.
    thinking: bool | None = None
    # Tokens for thinking, on top of those that a request allows for the answer. By default 8,192,
    # or half of a shorter context, if the chat template makes the model think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    batch_tokens: int | None = Field(None, ge=1)  # of a batch; 32,768 on a GPU, else 8,192
    # Encode every token of an episode once where the model allows it; otherwise every prompt whole.
    prefix_reuse: bool = True
    # Most bytes of the caches of prefixes; default: 40 % of what is free, and for a small model no
    # more than 512 MiB or eight times its weights, see `tomeval.models.local.cache`.
    cache_memory: int | None = Field(None, ge=0)
    # auto: answers are held to their form: those that can be read are compared, see
    # `tomeval.strategies.forced`.
    structured: Literal["off", "auto"] = "off"
    local_files_only: bool = False  # as for `from_pretrained`


class Loaded(NamedTuple):
    """A model in evaluation mode, its tokenizer, and what was really loaded."""

    model: Any
    tokenizer: Any
    revision: str


def require(name: str) -> Any:
    """Import a library of the extra ``local``; a missing one is a `MissingExtra`."""
    return need(name, LOCAL, "models on this machine")


def load(path_or_repo: str, revision: str | None, how: LocalOptions) -> Loaded:
    """Load a causal model and its tokenizer from a local folder, a GGUF file or the Hub.

    Weights are read from safetensors or GGUF only: pickled ones (``.bin``, ``.pt``) can hold code.
    Those of a GGUF file are taken out of their quantisation.

    Raises `TomevalError` if there is no such folder or repository, if files do not load, or if a
    library is missing.
    """
    require("torch")
    transformers = require("transformers")
    at = local_path(path_or_repo)
    file = at if at and at.is_file() else None
    source = str(file.parent if file else at or path_or_repo)
    common: dict[str, Any] = {
        "local_files_only": how.local_files_only or at is not None,
        "trust_remote_code": False,  # else the user is asked
    }
    device, spread = how.device or _usual_device(), how.device_map
    options: dict[str, Any] = {"dtype": how.dtype, "device_map": spread}
    if how.quantization:  # quantised weights cannot be moved after loading
        options |= {"quantization_config": how.quantization, "device_map": spread or {"": device}}
    reading: dict[str, Any] = {"use_safetensors": True}
    if file is not None:
        need("gguf", "gguf", f"GGUF files such as {file.name}")
        reading, common = {}, common | {"gguf_file": file.name}
        logger.warning("hf:%s: reading %.0f MB of GGUF", path_or_repo, file.stat().st_size / 1e6)
    try:
        if at is None:
            # The commit instead of the branch: all files come from one state of the repository.
            revision = _commit(path_or_repo, revision, common["local_files_only"])
        common["revision"] = revision
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **common)
        with _LOADING:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                source, **reading, **common, **options
            )
        if options["device_map"] is None:
            model = model.to(device)
    except (*_FAULTS, require("safetensors").SafetensorError) as error:
        raise TomevalError(_load_message(path_or_repo, revision, error)) from error
    return Loaded(model.eval(), tokenizer, folder_revision(at) if at else revision or "")


def _usual_device() -> str:
    return "cuda" if require("torch").cuda.is_available() else "cpu"


def _commit(repo: str, revision: str | None, local: bool) -> str | None:
    """Return the commit that a revision stands for: its snapshot folder in the Hub cache."""
    file = require("transformers").utils.cached_file(
        repo, "config.json", revision=revision, local_files_only=local
    )
    folder = Path(file).parent.name if file else ""
    return folder if re.fullmatch("[0-9a-f]{40}", folder) else revision


def folder_revision(folder: Path) -> str:
    """Return ``sha256:`` and a hash of a model folder, or of one file.

    Configuration and tokenizer files count whole; of weights the name, the size and a megabyte each
    at the start, the middle and the end, so that a retrained model of equal size differs.
    """
    digest = hashlib.sha256()
    home = folder if folder.is_dir() else folder.parent
    files = folder.rglob("*") if folder.is_dir() else [folder]
    for file in sorted(files, key=lambda file: file.relative_to(home).as_posix()):
        name = file.relative_to(home).as_posix()
        if not file.is_file() or name.startswith("."):
            continue
        if file.suffix in _WEIGHTS:
            size = file.stat().st_size
            digest.update(f"{name}\0{size}\0".encode())
            with file.open("rb") as stream:
                for start in sorted({0, max(0, size // 2 - _BLOCK // 2), max(0, size - _BLOCK)}):
                    stream.seek(start)
                    digest.update(stream.read(_BLOCK))
        elif file.suffix in _TEXTS:
            data = file.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()[:32]}"


def local_path(path_or_repo: str) -> Path | None:
    """Return a model's folder or GGUF file, also the only one of a folder; None: a Hub name."""
    path = Path(path_or_repo).expanduser()
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        if (path / "config.json").is_file():
            return path
        if len(files) == 1:
            return files[0]
        names = ", ".join(file.name for file in files)
        why = f"name one of its files: {names}" if files else "this folder has no config.json"
        raise TomevalError(f"hf:{path_or_repo}: {why}")
    if path.suffix == ".gguf" and path.is_file():
        return path
    looks_local = path_or_repo.startswith((".", "/", "~")) or path_or_repo.count("/") > 1
    if looks_local or path.suffix == ".gguf" or not path_or_repo:
        raise TomevalError(
            f"hf:{path_or_repo}: no such file or folder (and not a Hub name: ORG/MODEL)"
        )
    return None


def _load_message(path_or_repo: str, revision: str | None, error: Exception) -> str:
    at = f"@{revision}" if revision else ""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    why = " ".join(lines[:2]) or type(error).__name__
    return f"hf:{path_or_repo}{at}: cannot be loaded: {why}"


def text_config(config: Any) -> Any:
    """Return the part of a configuration that is about text."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def context_length(config: Any) -> int | None:
    """Return the longest sequence that a configuration names, or None.

    128k variants of Phi-3 turn all tokens of longer sequences by other rotary factors, so that no
    cache holds across that length: their context ends there.
    """
    text = text_config(config)
    ropes = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    usual = getattr(text, "original_max_position_embeddings", None)
    short = [
        rope.get("original_max_position_embeddings") or usual
        for rope in (ropes, *ropes.values())
        if isinstance(rope, dict) and "long_factor" in rope
    ]
    named = (getattr(text, name, None) for name in _CONTEXT_NAMES)
    whole = next((value for value in named if isinstance(value, int) and value > 0), None)
    return min(filter(None, [whole, *short]), default=None)


def open_local(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open ``hf:REPO_OR_PATH[@revision]`` or an embedded model.

    A folder may be relative to the experiment's. Embedded models, stored in half precision to be
    small, are opened in single precision.
    """
    from tomeval.models.local.transformers import TransformersModel

    embedded = name in POCKET
    options = {"dtype": "float32", **options} if embedded else options
    _checked(name, options)
    if embedded:  # there at once: no bar
        require("transformers").utils.logging.disable_progress_bar()
    model = TransformersModel(*source_of(name, opening.base), **options)
    model.name = name if embedded else model.name
    return model


def _checked(name: str, options: dict[str, Any]) -> LocalOptions:
    check_code(options, name)
    return check_options(LocalOptions, options, f"model {name!r}")


def look(name: str, options: dict[str, Any], opening: Opening) -> None:
    """Check a model's name and options; nothing is loaded."""
    _checked(name, options)
    local_path(source_of(name, opening.base)[0])


def pocket_folder(name: str) -> Path:
    """Return the folder of an embedded model."""
    return Path(__file__).parents[1] / "pocket" / POCKET[name]


def source_of(name: str, base: Path | None) -> tuple[str, str | None]:
    """Return the folder or repository of a model's name, and its revision."""
    if name in POCKET:
        return str(pocket_folder(name)), None
    base, rest = base or Path(), name.partition(":")[2]
    if (base / rest).is_dir() or rest.endswith(".gguf"):
        return str(base / rest), None
    path, _, revision = rest.partition("@")
    return str(base / path) if (base / path).is_dir() else path, revision or None
