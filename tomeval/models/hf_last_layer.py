"""Leave out of the last layer what nobody reads: most tokens are there to be looked back at.

The layers below need every token, and the last layer its keys and values. Its attention, and the
network behind it, are needed only where logits are wanted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.models.hf_load import require

_NAME = "tomeval_last_layer"


class LastLayer:
    """The last decoder layer of a model, told which columns to compute; see `last_layer`.

    Parameters
    ----------
    attention, mlp
        The layer's parts.
    """

    def __init__(self, attention: Any, mlp: Any) -> None:
        self._columns: Any = None
        self._width = 0
        registry = require("transformers").AttentionInterface
        registry.register(_NAME, _attend)
        self.attend = registry()["sdpa"]
        attention.config = copy.copy(attention.config)
        attention.config._attn_implementation = _NAME
        mlp.register_forward_pre_hook(lambda _, inputs: (self.narrow(inputs[0], 1), *inputs[1:]))
        mlp.register_forward_hook(lambda _, inputs, output: self.widen(output))

    @contextmanager
    def only(self, columns: Sequence[int], width: int) -> Iterator[None]:
        """Compute some of `width` columns; what the layer adds to the others is nothing."""
        if len(columns) < width:
            self._columns, self._width = require("torch").tensor(columns), width
        try:
            yield
        finally:
            self._columns = None

    def narrow(self, states: Any, dimension: int) -> Any:
        """Return the columns that are computed, which lie along `dimension`."""
        if self._columns is None:
            return states
        return states.index_select(dimension, self._columns.to(states.device))

    def widen(self, states: Any) -> Any:
        """Put computed columns, which lie along dimension 1, back between zeros."""
        if self._columns is None:
            return states
        wide = states.new_zeros((states.shape[0], self._width, *states.shape[2:]))
        return wide.index_copy_(1, self._columns.to(states.device), states)


def last_layer(model: Any) -> LastLayer | None:
    """Return a model's last layer, which then takes columns, or None where it is built otherwise.

    It must hold a ``self_attn`` or ``attn`` that takes ``sdpa`` from transformers' registry, and
    an ``mlp``.

    Parameters
    ----------
    model
        A transformers causal model.
    """
    found = {
        module.layer_idx: (layer, module)
        for layer in model.modules()
        for name, module in layer.named_children()
        if name in ("self_attn", "attn") and isinstance(getattr(module, "layer_idx", None), int)
    }
    if len(found) != model.config.get_text_config().num_hidden_layers:
        return None
    layer, attention = found[max(found)]
    mlp, config = getattr(layer, "mlp", None), getattr(attention, "config", None)
    kind = getattr(config, "_attn_implementation", None)
    if kind == _NAME:  # another engine of the same model has made it
        known: LastLayer = attention.tomeval_last_layer
        return known
    # Parts of a composed configuration would be set together with it.
    if mlp is None or kind != "sdpa" or getattr(config, "sub_configs", None):
        return None
    attention.tomeval_last_layer = LastLayer(attention, mlp)
    return attention.tomeval_last_layer  # type: ignore[no-any-return]


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, Any]:
    """Attend as ``sdpa`` does, from the wanted columns only."""
    last = module.tomeval_last_layer
    query, attention_mask = last.narrow(query, 2), last.narrow(attention_mask, 2)
    output, weights = last.attend(module, query, key, value, attention_mask, **options)
    return last.widen(output), weights
