"""Write a model of `tiny` as a GGUF file; run by an interpreter that has gguf and safetensors.

python gguf_writer.py FOLDER FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def write(folder: Path, file: str) -> None:
    """Write a Llama with a byte-level tokenizer, in 32 bits."""
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    heads, of_keys = config["num_attention_heads"], config["num_key_value_heads"]
    out = gguf.GGUFWriter(file, "llama")
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(of_keys)
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    out.add_rope_dimension_count(config["head_dim"])
    out.add_vocab_size(config["vocab_size"])
    _write_tokenizer(out, folder)
    for name, values in load_file(folder / "model.safetensors").items():
        values = values.astype(np.float32)
        for part, count in (("q_proj", heads), ("k_proj", of_keys)):
            if part in name:  # llama.cpp turns neighbours, transformers halves
                halves = values.reshape(count, 2, -1, values.shape[1])
                values = halves.swapaxes(1, 2).reshape(values.shape)
        out.add_tensor(_name(name), np.ascontiguousarray(values))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def _name(name: str) -> str:
    name = name.removesuffix(".weight")
    if name.startswith("model.layers."):
        _, _, layer, rest = name.split(".", 3)
        return f"blk.{layer}.{_NAMES[rest]}.weight"
    return f"{_NAMES[name]}.weight"


def _write_tokenizer(out: object, folder: Path) -> None:
    from gguf import TokenType

    told = json.loads((folder / "tokenizer.json").read_text())
    added = {entry["id"]: entry for entry in told["added_tokens"]}
    ids = told["model"]["vocab"] | {entry["content"]: index for index, entry in added.items()}
    tokens = sorted(ids, key=ids.__getitem__)
    kinds = [
        TokenType.NORMAL
        if index not in added
        else TokenType.CONTROL
        if added[index]["special"]
        else TokenType.USER_DEFINED
        for index in range(len(tokens))
    ]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types(kinds)
    merges = told["model"]["merges"]
    out.add_token_merges([" ".join(merge) for merge in merges])
    out.add_bos_token_id(ids["<s>"])
    out.add_eos_token_id(ids["</s>"])
    out.add_add_bos_token(False)
    out.add_chat_template((folder / "chat_template.jinja").read_text())


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
