"""A Llama in plain torch, for the embedded models: transformers' own takes seconds to import.

Operations stand in the order of transformers' `LlamaForCausalLM`, so that the numbers are the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tomeval.models.local.load import require

torch: Any = require("torch")
nn, functional = torch.nn, torch.nn.functional


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """Attention and a gated network, with the weights that are named for its number."""

    def __init__(self, config: Any, number: int, weights: dict[str, Any]) -> None:
        super().__init__()
        self.number, self.size, self.epsilon = number, config.head_dim, config.rms_norm_eps
        for name, values in weights.items():
            if name.startswith(f"model.layers.{number}."):
                self.register_parameter(name.split(".")[-2], nn.Parameter(values, False))

    def forward(self, hidden: Any, turns: tuple[Any, Any], mask: Any, cache: Any) -> Any:
        """Return the states after the block; without a mask tokens see all before them."""
        normed = _normed(hidden, self.input_layernorm, self.epsilon)
        query, key, value = (
            functional.linear(normed, weight).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for weight in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, key = _turned(query, *turns), _turned(key, *turns)
        if cache is not None:
            key, value = cache.update(key, value, self.number)
        attended = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )
        hidden = hidden + functional.linear(attended.transpose(1, 2).flatten(-2), self.o_proj)
        normed = _normed(hidden, self.post_attention_layernorm, self.epsilon)
        gate = functional.silu(functional.linear(normed, self.gate_proj))
        gated = gate * functional.linear(normed, self.up_proj)
        return hidden + functional.linear(gated, self.down_proj)


class Llama(nn.Module):  # type: ignore[misc, name-defined]
    """A causal language model with the interface of transformers' as far as engines use it."""

    def __init__(self, config: Any, weights: dict[str, Any]) -> None:
        super().__init__()
        self.config = config
        embedded = weights["model.embed_tokens.weight"]
        self.embed_tokens = nn.Embedding.from_pretrained(embedded)
        numbers = range(config.num_hidden_layers)
        self.layers = nn.ModuleList([Block(config, n, weights) for n in numbers])
        self.norm = nn.Parameter(weights["model.norm.weight"], False)
        self.device, self.dtype = embedded.device, embedded.dtype

    def get_input_embeddings(self) -> Any:
        """Return the embedding of tokens, which is that of logits too."""
        return self.embed_tokens

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: bool = False,
        logits_to_keep: Any = 0,
    ) -> Any:
        """Return the logits of the last, or of some, tokens; nothing is kept but what is given."""
        hidden = self.embed_tokens(input_ids)
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=self.device)[None]
        size, base = self.config.head_dim, self.config.rope_parameters["rope_theta"]
        rates = 1.0 / base ** (torch.arange(0, size, 2, device=self.device).float() / size)
        angles = (position_ids[..., None].float() * rates).repeat(1, 1, 2)[:, None]
        turns = angles.cos().to(self.dtype), angles.sin().to(self.dtype)
        for block in self.layers:
            hidden = block(hidden, turns, attention_mask, past_key_values)
        if isinstance(logits_to_keep, int):
            logits_to_keep = slice(-logits_to_keep, None)
        hidden = _normed(hidden, self.norm, self.config.rms_norm_eps)[:, logits_to_keep]
        return SimpleNamespace(logits=functional.linear(hidden, self.embed_tokens.weight))


def _normed(hidden: Any, weight: Any, epsilon: float) -> Any:
    wide = hidden.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return weight * wide.to(hidden.dtype)


def _turned(states: Any, cosines: Any, sines: Any) -> Any:
    first, second = states.chunk(2, -1)
    return states * cosines + torch.cat((-second, first), -1) * sines


def read_llama(folder: Path, dtype: Any, device: str) -> Llama:
    """Read a model from its configuration and weights."""
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = require("safetensors.torch").load_file(folder / "model.safetensors")
    moved = {name: values.to(device, dtype) for name, values in weights.items()}
    model = Llama(SimpleNamespace(**settings, _attn_implementation="sdpa"), moved)
    return model.eval()  # type: ignore[no-any-return]
