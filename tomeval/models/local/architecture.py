"""What the configuration of a model says of how it reads."""

from __future__ import annotations

import inspect
import math
from typing import Any

_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "max_seq_len")


def text_config(config: Any) -> Any:
    """Return the part of a configuration that is about text."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def context_length(config: Any) -> int | None:
    """Return the longest sequence that a configuration names, or None."""
    text = text_config(config)
    values = [getattr(text, name, None) for name in _CONTEXT_NAMES]
    return next((int(value) for value in values if isinstance(value, int) and value > 0), None)


def rope_switch(config: Any) -> float:
    """Return the longest sequence that is read with a model's short rotary factors; else infinity.

    Such are 128k variants of Phi-3: beyond a length all tokens turn by the long factors. Of kinds
    of layers with ropes of their own the first to switch counts. Dynamic scaling only begins beyond
    `context_length`, where no prompt gets; other kinds do not depend on the length.
    """
    text = text_config(config)
    ropes = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    usual = getattr(text, "original_max_position_embeddings", None) or math.inf
    return min(
        (
            rope.get("original_max_position_embeddings") or usual
            for rope in (ropes, *ropes.values())
            if isinstance(rope, dict) and "long_factor" in rope
        ),
        default=math.inf,
    )


def attention_kinds(config: Any) -> tuple[tuple[str, ...], int | None]:
    """Return the kinds of attention layers and the sliding window.

    Other kinds are returned as they are, see `odd_kinds`.
    """
    text = text_config(config)
    window = getattr(text, "sliding_window", None)
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        kinds = ["sliding_attention"] if window else ["full_attention"]
    return tuple(sorted(set(kinds))), window


def odd_kinds(config: Any) -> list[str]:
    """Return the kinds of layers that are neither ``full_attention`` nor ``sliding_attention``."""
    kinds, _ = attention_kinds(config)
    return [kind for kind in kinds if kind not in ("full_attention", "sliding_attention")]


def supported(model: Any) -> str:
    """Return why a model's cache cannot be branched and rolled back, or an empty text."""
    kinds, window = attention_kinds(model.config)
    unknown = odd_kinds(model.config)
    if unknown or getattr(model, "_is_stateful", False):
        return f"its layers keep a state that cannot be rolled back ({', '.join(unknown)})"
    if "sliding_attention" in kinds and not isinstance(window, int):
        return "its sliding window is not stated"
    attention = getattr(model.config, "_attn_implementation", None)
    if attention not in ("sdpa", "eager"):
        return f"attention {attention!r} does not support tree masks"
    if "position_ids" not in inspect.signature(model.forward).parameters:
        return "it does not accept position_ids"
    return ""
