"""Tiny random models with a byte-level tokenizer, made in seconds without any download.

Imports torch and transformers inside functions only. `make_model` writes a folder that
`TransformersModel` (or a server) loads like any other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAMILIES = ("llama", "qwen3", "mistral", "mixtral", "gemma3", "gpt2")
WINDOW = 8  # sliding window of mistral and gemma3: shorter than any prompt of the tests

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    # Writes its own start token, refuses system messages and puts a space before an answer.
    "nosystem": (
        "{{ bos_token }}{% for m in messages %}"
        "{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]"
        "{% else %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %}"
    ),
    # Skips system messages without a word.
    "silent": CHATML.replace(
        "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}"
    ),
    # Thinks by default; the switch writes an empty block.
    "switch": CHATML.replace(
        "assistant\n{% endif %}",
        "assistant\n{% if enable_thinking is defined and not enable_thinking %}"
        "<think>\n\n</think>\n\n{% endif %}{% endif %}",
    ),
    # Always opens a block, whatever the switch says.
    "always": CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"),
}
SPECIALS = ["<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>"]

_TEXT = """
You play a game with a partner for ten rounds. In each round both choose J or F at once.
If you choose J and the partner chooses J, you get 10 points and the partner gets 7 points.
If you choose F and the partner chooses J, you get 0 points and the partner gets 0 points.
Round 1: you chose J, the partner chose F. Round 2: you chose F, the partner chose F.
Answer: J
Answer: F
Your next action: Rock, Paper or Scissors? The answer is Paper. Prediction: Scissors
"""


def make_tokenizer(template: str | None = None, *, bos: bool = True, family: str = "llama") -> Any:
    """Return a fast byte-level BPE tokenizer.

    Parameters
    ----------
    template : str, optional
        A key of `TEMPLATES`.
    bos : bool
        Whether ``<s>`` is put before every text that is encoded with special tokens.
    family : str
        ``gpt2`` gives GPT-2's convention: one end-of-text token for start, end and unknown.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    gpt2 = family == "gpt2"
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] if gpt2 else SPECIALS
    start, end = ("<|endoftext|>",) * 2 if gpt2 else ("<s>", "</s>")
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        [_TEXT] * 20,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    # As in Qwen: added, yet not special.
    backend.add_tokens([AddedToken(t, normalized=False) for t in ("<think>", "</think>")])
    if bos and not gpt2:
        backend.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", backend.token_to_id("<s>"))]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=start,
        eos_token=end,
        unk_token=start if gpt2 else "<unk>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
    )
    tokenizer.chat_template = TEMPLATES[template] if template else None
    return tokenizer


def make_config(family: str, vocabulary: int) -> Any:
    """Return a configuration of two layers, 32 wide, whose attention matters."""
    import transformers as hf

    common: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.25,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": None,
    }
    if family == "llama":
        return hf.LlamaConfig(**common)
    if family == "qwen3":
        return hf.Qwen3Config(**common, head_dim=8)
    if family == "mistral":
        return hf.MistralConfig(**common, head_dim=8, sliding_window=WINDOW)
    if family == "mixtral":
        return hf.MixtralConfig(**common, num_local_experts=4, num_experts_per_tok=2)
    if family == "gemma3":
        layers = ["sliding_attention", "full_attention"]
        return hf.Gemma3TextConfig(**common, head_dim=8, sliding_window=WINDOW, layer_types=layers)
    if family == "gpt2":
        return hf.GPT2Config(
            vocab_size=vocabulary,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=512,
            initializer_range=0.25,
            bos_token_id=0,
            eos_token_id=0,
        )
    raise ValueError(f"unknown family {family!r}; known: {FAMILIES}")


def make_model(
    folder: Path | str,
    family: str = "llama",
    template: str | None = None,
    *,
    bos: bool = True,
    seed: int = 0,
) -> Path:
    """Write a random model and its tokenizer into `folder` and return it."""
    import torch
    from transformers import AutoModelForCausalLM

    folder = Path(folder)
    tokenizer = make_tokenizer(template, bos=bos, family=family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(make_config(family, len(tokenizer)))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
