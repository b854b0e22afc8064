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
nn = torch.nn


class Norm(nn.Module):  # type: ignore[misc, name-defined]
    """Root mean square norm."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.hidden_size))
        self.eps = config.rms_norm_eps

    def forward(self, hidden: Any) -> Any:
        """Return the normed states."""
        wide = hidden.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(hidden.dtype)


class Block(nn.Module):  # type: ignore[misc, name-defined]
    """Attention and a gated network; names are those of the weights."""

    def __init__(self, config: Any, number: int) -> None:
        super().__init__()
        self.number, self.size, width = number, config.head_dim, config.hidden_size

        def linear(inputs: int, outputs: int) -> Any:
            return nn.Linear(inputs, outputs, bias=False)

        heads = config.num_attention_heads * self.size
        kept = config.num_key_value_heads * self.size
        self.input_layernorm, self.post_attention_layernorm = Norm(config), Norm(config)
        self.self_attn, self.mlp = nn.Module(), nn.Module()
        for name, outputs in (("q_proj", heads), ("k_proj", kept), ("v_proj", kept)):
            setattr(self.self_attn, name, linear(width, outputs))
        self.self_attn.o_proj = linear(heads, width)
        for name in ("gate_proj", "up_proj"):
            setattr(self.mlp, name, linear(width, config.intermediate_size))
        self.mlp.down_proj = linear(config.intermediate_size, width)

    def forward(self, hidden: Any, turns: tuple[Any, Any], mask: Any, cache: Any) -> Any:
        """Return the states after the block; without a mask tokens see all before them."""
        own, normed = self.self_attn, self.input_layernorm(hidden)
        query, key, value = (
            part(normed).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for part in (own.q_proj, own.k_proj, own.v_proj)
        )
        query, key = _turned(query, *turns), _turned(key, *turns)
        if cache is not None:
            key, value = cache.update(key, value, self.number)
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        attended = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )
        hidden = hidden + own.o_proj(attended.transpose(1, 2).flatten(-2))
        normed = self.post_attention_layernorm(hidden)
        gate = nn.functional.silu(self.mlp.gate_proj(normed))
        return hidden + self.mlp.down_proj(gate * self.mlp.up_proj(normed))


class Llama(nn.Module):  # type: ignore[misc, name-defined]
    """A causal language model with the interface of transformers' as far as engines use it."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([Block(config, n) for n in range(config.num_hidden_layers)])
        self.norm = Norm(config)

    @property
    def device(self) -> Any:
        """Where the weights are."""
        return self.embed_tokens.weight.device

    @property
    def dtype(self) -> Any:
        """The weights' type."""
        return self.embed_tokens.weight.dtype

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
        turns = self._turns(position_ids)
        for block in self.layers:
            hidden = block(hidden, turns, attention_mask, past_key_values)
        if isinstance(logits_to_keep, int):
            logits_to_keep = slice(-logits_to_keep, None)
        hidden = self.norm(hidden)[:, logits_to_keep]
        return SimpleNamespace(logits=nn.functional.linear(hidden, self.embed_tokens.weight))

    def _turns(self, places: Any) -> tuple[Any, Any]:
        """Return cosines and sines of the angles by which positions turn pairs of numbers."""
        size, base = self.config.head_dim, self.config.rope_parameters["rope_theta"]
        rates = 1.0 / base ** (torch.arange(0, size, 2, device=self.device).float() / size)
        angles = (places[..., None].float() * rates).repeat(1, 1, 2)[:, None]
        return angles.cos().to(self.dtype), angles.sin().to(self.dtype)


def _turned(states: Any, cosines: Any, sines: Any) -> Any:
    first, second = states.chunk(2, -1)
    return states * cosines + torch.cat((-second, first), -1) * sines


def read_llama(folder: Path, dtype: Any, device: str) -> Llama:
    """Read a model from its configuration and weights."""
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config = SimpleNamespace(**settings, _attn_implementation="sdpa")
    weights = require("safetensors.torch").load_file(folder / "model.safetensors")
    model = Llama(config)
    named = {name.removeprefix("model."): part.to(device, dtype) for name, part in weights.items()}
    model.load_state_dict(named, assign=True)
    return model.eval().requires_grad_(False)  # type: ignore[no-any-return]
