"""Write a tiny random Llama and its tokenizer into a folder: a model for trying things out.

Nothing is downloaded. The model has two layers with random weights and a byte-level BPE tokenizer
with a chat template, so it reads every prompt and writes nonsense.

    python experiments/make_tiny_model.py tiny
    tomeval run strategies_smoke --model hf:tiny
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
CONTEXT = 8192


def make_tokenizer() -> Any:
    """Return a tokenizer whose words come from prompts of all forms, so that prompts are short."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from tomeval.games.matrix.shown import example_cell
    from tomeval.play.preview import preview

    task = {"labels": "neutral", "horizon": 10, "partners": "always(0)", "conditional": True}
    texts = [
        preview(example_cell(strategy, "", {"game": game, **task}), "", form, 3)
        for strategy in ("LM", "CoT + 3-Shot", "S2A", "Reflexion 1", "Plans + Insights")
        for game in ("RPS", "IPD")
        for form in ("act", "predict", "react")
    ]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def make_model(folder: Path, seed: int = 0) -> None:
    """Write model and tokenizer; the same seed gives the same weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.25,  # wide enough that attention matters
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    make_model(arguments.folder, arguments.seed)
    print(f"next: tomeval run strategies_smoke --model hf:{arguments.folder}")


if __name__ == "__main__":
    main()
