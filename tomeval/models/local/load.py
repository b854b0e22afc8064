"""Find, load and open models of this machine: embedded, in a folder, on the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from tomeval.core.credentials import check_code
from tomeval.core.errors import TomevalError
from tomeval.core.extras import LOCAL, installed, need
from tomeval.core.resources import read_text
from tomeval.models import check_options
from tomeval.models.base import LocalModel, Opening
from tomeval.models.local.architecture import context_length

_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")
_TEXTS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".py")
_BLOCK = 1 << 20  # bytes read at each of three places of a weights file
_LOADING = threading.Lock()
"""One model at a time: transformers switches settings of the whole process while it loads, and a
second one that loads beside it fails or is left with weights that are drawn at random."""


LOADED = ("dtype", "device", "device_map", "quantization", "local_files_only", "trust_remote_code")
"""The options of `tomeval.models.local.transformers.LocalOptions` that say how to load."""


class Loaded(NamedTuple):
    """A model in evaluation mode, its tokenizer, and what was really loaded."""

    model: Any
    tokenizer: Any
    revision: str


def require(name: str) -> Any:
    """Import a library of the extra ``local``; a missing one is a `MissingExtra`."""
    return need(name, LOCAL, "models on this machine")


def load(
    path_or_repo: str,
    revision: str | None,
    dtype: str,
    device: str | None,
    device_map: Any,
    quantization: dict[str, Any] | None,
    local_files_only: bool,
    trust_remote_code: bool,
) -> Loaded:
    """Load a causal model and its tokenizer from a local folder or the Hub; options as `LOADED`.

    Weights are read from safetensors only: pickled ones (``.bin``, ``.pt``) can hold code.

    Raises `TomevalError` if there is no such folder or repository, if files do not load, or if a
    library is missing.
    """
    torch, transformers = require("torch"), require("transformers")
    folder = local_folder(path_or_repo)
    source = str(folder) if folder else path_or_repo
    common: dict[str, Any] = {
        "local_files_only": local_files_only or folder is not None,
        "trust_remote_code": trust_remote_code,
    }
    if device is None and device_map is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if quantization and device_map is None:
        device_map = {"": device}  # quantised weights cannot be moved after loading
    options: dict[str, Any] = {"dtype": _dtype(torch, dtype), "device_map": device_map}
    if quantization:
        options["quantization_config"] = dict(quantization)
    try:
        if folder is None:
            # The commit instead of the branch: all files come from one state of the repository.
            revision = _commit(transformers, path_or_repo, revision, common["local_files_only"])
        common["revision"] = revision
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **common)
        with _LOADING:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                source, use_safetensors=True, **common, **options
            )
        if device_map is None:
            model = model.to(device)
        narrow = model.dtype == torch.float16 and not getattr(model, "is_quantized", False)
        if dtype == "auto" and narrow and model.device.type == "cpu":
            # CPUs have no arithmetic of this width: it is slow there, and rounds for nothing.
            model = model.float()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise TomevalError(_load_message(path_or_repo, revision, error)) from error
    except require("safetensors").SafetensorError as error:
        raise TomevalError(_load_message(path_or_repo, revision, error)) from error
    return Loaded(model.eval(), tokenizer, folder_revision(folder) if folder else revision or "")


def _commit(transformers: Any, repo: str, revision: str | None, local: bool) -> str | None:
    """Return the commit that a revision stands for: its snapshot folder in the Hub cache."""
    file = transformers.utils.cached_file(
        repo, "config.json", revision=revision, local_files_only=local
    )
    folder = Path(file).parent.name if file else ""
    return folder if re.fullmatch("[0-9a-f]{40}", folder) else revision


def folder_revision(folder: Path) -> str:
    """Return ``sha256:`` and a hash of a model folder.

    Configuration and tokenizer files count whole; of weights the name, the size and a megabyte each
    at the start, the middle and the end, so that a retrained model of equal size differs.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*"), key=lambda file: file.relative_to(folder).as_posix()):
        name = file.relative_to(folder).as_posix()
        if not file.is_file() or name.startswith("."):
            continue
        if file.suffix in _WEIGHTS:
            digest.update(f"{name}\0{file.stat().st_size}\0".encode())
            for block in _sample(file):
                digest.update(block)
        elif file.suffix in _TEXTS:
            data = file.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()[:32]}"


def _sample(file: Path) -> Iterable[bytes]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        for start in sorted({0, max(0, size // 2 - _BLOCK // 2), max(0, size - _BLOCK)}):
            stream.seek(start)
            yield stream.read(_BLOCK)


def local_folder(path_or_repo: str) -> Path | None:
    """Return the folder that is meant, or None for a Hub name."""
    path = Path(path_or_repo).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise TomevalError(f"hf:{path_or_repo}: this folder has no config.json")
        return path
    looks_local = path_or_repo.startswith((".", "/", "~")) or path_or_repo.count("/") > 1
    if looks_local or not path_or_repo:
        raise TomevalError(f"hf:{path_or_repo}: no such folder (and not a Hub name: ORG/MODEL)")
    return None


def cached_config(repo: str, revision: str | None) -> Path | None:
    """Return the configuration of a Hub model if it is in this machine's cache, else None."""
    if not installed("huggingface_hub"):  # which keeps the cache
        return None
    file = require("huggingface_hub").try_to_load_from_cache(repo, "config.json", revision=revision)
    return Path(file) if isinstance(file, str) else None


def _dtype(torch: Any, name: str) -> Any:
    if name == "auto":
        return "auto"
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise TomevalError(f"unknown dtype {name!r}; known: auto, float32, bfloat16, float16")
    return dtype


def _load_message(path_or_repo: str, revision: str | None, error: Exception) -> str:
    at = f"@{revision}" if revision else ""
    return f"hf:{path_or_repo}{at}: cannot be loaded: {why_not_loaded(path_or_repo, error)}"


def why_not_loaded(repo: str, error: Exception) -> str:
    """Return why a model or a tokenizer does not load, in a sentence; of a gated one the remedy.

    Examples
    --------
    >>> why_not_loaded("org/model", OSError("You are trying to access a gated repo."))[:64]
    'it is gated: accept its licence at https://huggingface.co/org/mo'
    """
    text = " ".join(str(link) for link in (error, error.__cause__) if link is not None)
    if re.search(r"gated repo|access to model .* is restricted", text, re.IGNORECASE):
        return (
            f"it is gated: accept its licence at https://huggingface.co/{repo}, then set the "
            "environment variable HF_TOKEN to a token of that account (or run `hf auth login`)"
        )
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "safetensors" in text and re.search(r"no file named|does not appear to have", text):
        lines = [*lines[:1], "(pickled weights, which can hold code, are not read: convert them)"]
    return " ".join(lines[:2]) or type(error).__name__


def configured_context(path: Path) -> int | None:
    """Return the longest sequence that a ``config.json`` names, or None."""
    try:
        config = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise TomevalError(f"{path}: cannot be read: {error}") from None
    return context_length(SimpleNamespace(**{**config, **(config.get("text_config") or {})}))


POCKET = {"pocket": "main", "pocket-rational": "rational"}
"""The embedded models, and the folders of `tomeval/models/pocket` that hold them."""


def open_pocket(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open an embedded model, stored in half precision to be small, in single precision."""
    options = {"dtype": "float32", **options}
    loading = {key: options[key] for key in LOADED if options.get(key)}
    given = None
    if set(loading) <= {"dtype", "device"} and isinstance(loading.get("dtype"), str):
        given = _load_pocket(pocket_folder(name), loading["dtype"], loading.get("device"))
    model = _open(name, str(pocket_folder(name)), None, options, opening, given)
    model.name = name
    return model


def _load_pocket(folder: Path, dtype: str, device: str | None) -> Loaded:
    """Load an embedded model without the parts of transformers that take seconds to import."""
    from tomeval.models.local.llama import read_llama

    torch = require("torch")
    kind = _dtype(torch, "float32" if dtype == "auto" else dtype)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = read_llama(folder, kind, device)
    except RuntimeError as error:  # of devices that torch does not know
        raise TomevalError(_load_message(folder.name, None, error)) from error
    tokenizer = require("transformers").PreTrainedTokenizerFast.from_pretrained(folder)
    return Loaded(model, tokenizer, folder_revision(folder))


def open_hub(name: str, options: dict[str, Any], opening: Opening) -> LocalModel:
    """Open ``hf:REPO_OR_PATH[@revision]``; a folder may be relative to the experiment's."""
    return _open(name, *source_of(name, opening.base), options, opening)


def _open(
    name: str,
    source: str,
    revision: str | None,
    options: dict[str, Any],
    opening: Opening,
    given: Loaded | None = None,
) -> LocalModel:
    from tomeval.models.local.transformers import LocalOptions, TransformersModel

    check_options(LocalOptions, options, f"model {name!r}")
    check_code(options, name)
    reuse: dict[str, Any] = {} if opening.prefix_reuse else {"prefix_reuse": False}
    return TransformersModel(source, revision, given=given, **options, **reuse)


def look(name: str, options: dict[str, Any], opening: Opening) -> int | None:
    """Check a model's name and options, and return its longest sequence; nothing is loaded.

    None if the configuration does not say it, or is not on this machine.
    """
    from tomeval.models.local.transformers import LocalOptions

    check_options(LocalOptions, options, f"model {name!r}")
    check_code(options, name)
    config = config_file(name, opening.base)
    return None if config is None else configured_context(config)


def config_file(name: str, base: Path | None) -> Path | None:
    """Return the configuration of an embedded model or ``hf:...``; None: not on this machine."""
    if name in POCKET:
        return pocket_folder(name) / "config.json"
    source, revision = source_of(name, base)
    folder = local_folder(source)
    return cached_config(source, revision) if folder is None else folder / "config.json"


def pocket_folder(name: str) -> Path:
    """Return the folder of an embedded model."""
    return Path(__file__).parents[1] / "pocket" / POCKET[name]


def source_of(name: str, base: Path | None) -> tuple[str, str | None]:
    """Return folder or repository of a name ``hf:...``, and its revision."""
    base, rest = base or Path(), name.partition(":")[2]
    if (base / rest).is_dir():
        return str(base / rest), None
    path, _, revision = rest.partition("@")
    return str(base / path) if (base / path).is_dir() else path, revision or None
