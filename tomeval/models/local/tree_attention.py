"""Attention of tree passes: only from the columns that are wanted, and over keys as they lie.

The last layer needs keys and values of every token, but attention, and the network behind it, only
where logits are wanted: most tokens are there to be looked back at. And where several query heads
share one head of keys, the queries are put side by side; transformers would copy the keys of the
whole context for each of them, because there is a mask.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.models.local.load import require

_NAME = "tomeval_tree"


class TreeAttention:
    """The attention of one model while it runs trees; otherwise what it was. See `tree_attention`.

    `attentions` are modules, the last layer's last; `mlp` is the network behind that one.
    """

    def __init__(self, attentions: Sequence[Any], mlp: Any) -> None:
        self._width = 0  # of the tree; 0 outside of tree passes
        self._columns: Any = None  # those wanted, where they are not all
        self._last = attentions[-1].layer_idx
        registry = require("transformers").AttentionInterface
        registry.register(_NAME, _attend)
        self._usual = registry()["sdpa"]
        config = copy.copy(attentions[-1].config)
        config._attn_implementation = _NAME
        for attention in attentions:
            attention.config, attention.tomeval_tree = config, self
        mlp.register_forward_pre_hook(lambda _, inputs: (self._narrow(inputs[0], 1), *inputs[1:]))
        mlp.register_forward_hook(lambda _, inputs, output: self._widen(output))

    @contextmanager
    def only(self, columns: Sequence[int], width: int) -> Iterator[None]:
        """Compute some of `width` columns in the last layer; it adds nothing to the others."""
        self._width = width
        self._columns = require("torch").tensor(columns) if len(columns) < width else None
        try:
            yield
        finally:
            self._width, self._columns = 0, None

    def attend(
        self, module: Any, query: Any, key: Any, value: Any, mask: Any, options: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Attend as ``sdpa`` does."""
        if not self._width or options.get("position_bias") is not None:
            return self._usual(module, query, key, value, mask, **options)  # type: ignore[no-any-return]
        last = module.layer_idx == self._last
        if last:
            query, mask = self._narrow(query, 2), self._narrow(mask, 2)
        rows, heads, width, _ = query.shape
        groups = heads // key.shape[1]
        found = require("torch").nn.functional.scaled_dot_product_attention(
            query.reshape(rows, -1, groups * width, query.shape[-1]),
            key,
            value,
            attn_mask=mask.repeat(1, 1, groups, 1) if groups > 1 else mask,
            scale=options.get("scaling"),
        )
        output = found.reshape(rows, heads, width, -1).transpose(1, 2).contiguous()
        return self._widen(output) if last else output, None

    def _narrow(self, states: Any, dimension: int) -> Any:
        """Return the wanted columns, which lie along `dimension`."""
        if self._columns is None:
            return states
        return states.index_select(dimension, self._columns.to(states.device))

    def _widen(self, states: Any) -> Any:
        """Put wanted columns, which lie along dimension 1, back between zeros."""
        if self._columns is None:
            return states
        wide = states.new_zeros((states.shape[0], self._width, *states.shape[2:]))
        return wide.index_copy_(1, self._columns.to(states.device), states)


def tree_attention(model: Any) -> TreeAttention | None:
    """Return a model's attention for trees, or None if the model is built differently.

    Its layers must hold a ``self_attn`` or ``attn`` that takes ``sdpa`` from transformers'
    registry, the last one also an ``mlp``.
    """
    found = {
        module.layer_idx: (layer, module)
        for layer in model.modules()
        for name, module in layer.named_children()
        if name in ("self_attn", "attn") and isinstance(getattr(module, "layer_idx", None), int)
    }
    if len(found) != model.config.get_text_config().num_hidden_layers:
        return None
    attentions = [module for _, (_, module) in sorted(found.items())]
    configs = {id(getattr(module, "config", None)) for module in attentions}
    config = getattr(attentions[-1], "config", None)
    kind = getattr(config, "_attn_implementation", None)
    if kind == _NAME:  # another engine of the same model has made it
        known: TreeAttention = attentions[-1].tomeval_tree
        return known
    mlp = getattr(found[max(found)][0], "mlp", None)
    # Parts of a composed configuration would be set together with it.
    if mlp is None or kind != "sdpa" or len(configs) > 1 or getattr(config, "sub_configs", None):
        return None
    return TreeAttention(attentions, mlp)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, Any]:
    """Attend as transformers' registry has it."""
    tree: TreeAttention = module.tomeval_tree
    return tree.attend(module, query, key, value, attention_mask, options)
