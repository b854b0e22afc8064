"""Attention on CPUs for models whose query heads share keys: no key is copied for each of them."""

from __future__ import annotations

from typing import Any

from tomeval.models.local.load import require, text_config

NAME = "grouped"


def share_keys(model: Any) -> None:
    """Have a model on a CPU attend by `grouped`, where it shares keys and attends by torch.

    transformers copies keys and values for every query head if it is given a mask, which took two
    thirds of the time of a model of 135 million parameters.
    """
    config = text_config(model.config)
    heads = getattr(config, "num_attention_heads", None)
    shared = getattr(config, "num_key_value_heads", heads) != heads
    own = getattr(model.config, "_attn_implementation", None)
    if not shared or own != "sdpa" or model.device.type != "cpu":
        return
    transformers = require("transformers")
    masks = transformers.masking_utils.ALL_MASK_ATTENTION_FUNCTIONS
    transformers.AttentionInterface.register(NAME, grouped)
    transformers.AttentionMaskInterface.register(NAME, masks["sdpa"])
    model.set_attn_implementation(NAME)


def grouped(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, None]:
    """Return what torch's attention returns: query heads that share keys are rows of one head.

    `query` has the shape (rows, heads, tokens, size), `key` and `value` one with fewer heads,
    `attention_mask` (rows, 1, tokens, places); without a mask transformers' own function is called.
    """
    rows, heads, tokens, size = query.shape
    times = heads // key.shape[1]
    if attention_mask is None or attention_mask.shape[1] != 1 or times == 1:
        own = require("transformers").modeling_utils.ALL_ATTENTION_FUNCTIONS["sdpa"]
        found: tuple[Any, None] = own(module, query, key, value, attention_mask, **options)
        return found
    output = require("torch").nn.functional.scaled_dot_product_attention(
        query.reshape(rows, heads // times, times * tokens, size),
        key,
        value,
        attn_mask=attention_mask.repeat(1, 1, times, 1),
        scale=options.get("scaling"),
    )
    return output.reshape(rows, heads, tokens, size).transpose(1, 2).contiguous(), None
