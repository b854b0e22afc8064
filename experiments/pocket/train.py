"""Train the pocket model, or its rational variant, from scratch; write the files that ship.

    python experiments/pocket/train.py --steps 5600 --out WORK/first
    python experiments/pocket/train.py --steps 600 --own-play settled --start-from WORK/first
        --out tomeval/models/pocket/main
    python experiments/pocket/train.py --steps 1200 --own-play best --start-from WORK/first
        --out tomeval/models/pocket/rational

The second stage tells own moves and the partner's apart also where neither ever changes.
Stop it and run it again: it goes on from the last checkpoint. The same seed, steps and thread count
on the same kind of machine give the same weights. The work folder's `loss.csv` holds the validation
loss by kind of token. docs/pocket.md says how long it takes, and what comes out.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from documents import draw_documents
from encoding import KINDS, OWN_TAUGHT, WEIGHTS, Row, encode, pack, thin
from plays import OWN_PLAY
from tokenizer import train_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

HIDDEN, LAYERS, HEADS, INNER = 128, 4, 4, 384
CONTEXT = 8192
PEAK_RATE, LATER_RATE = 2e-3, 1e-3  # from scratch; from a trained model
WARM_UP, CLIP = 100, 1.0
BATCH_TOKENS = 2048  # many small steps: copying labels is learned by steps rather than by tokens
QUESTION_TOKENS = 500  # of questions on one transcript
EASY, EASY_SHARE = ((3, 13, 1.0),), 0.2  # short transcripts in the first fifth of the steps
ROUNDS = ((1, 6, 0.15), (6, 20, 0.4), (20, 50, 0.3), (50, 100, 0.15))
# From a trained model, long ones: what was learnt on short transcripts has to hold at T = 100.
LATER_ROUNDS = ((1, 6, 0.1), (6, 20, 0.2), (20, 50, 0.3), (50, 100, 0.4))

Bands = tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Settings:
    """What decides the weights."""

    seed: int
    steps: int
    own_play: str


def draw_rows(rng: np.random.Generator, tokenizer: Any, own_play: str, bands: Bands) -> list[Row]:
    """Draw one batch: documents of similar length, side by side in rows."""
    weights = WEIGHTS | (OWN_TAUGHT if own_play == "best" else {})
    band = bands[int(rng.choice(len(bands), p=[share for *_, share in bands]))]
    rounds = int(rng.integers(band[0], band[1]))
    encoded, total = [], 0
    while total < BATCH_TOKENS:
        for document in draw_documents(rng, rounds, own_play):
            part = encode(thin(document, QUESTION_TOKENS, tokenizer, rng), tokenizer, weights)
            encoded.append(part)
            total += len(part.ids)
    return pack(encoded, max(1024, max(len(part.ids) for part in encoded)))


def losses(model: Any, rows: list[Row]) -> tuple[Any, Any, Any]:
    """Return loss, weight and kind of every taught token of some rows."""
    size = max(row.length for row in rows)
    ids = torch.zeros(len(rows), size, dtype=torch.long)
    positions = torch.zeros_like(ids)
    mask = torch.full((len(rows), 1, size, size), -torch.inf, dtype=torch.bfloat16)
    at, taught, weights, kinds = [], [], [], []
    for index, row in enumerate(rows):
        ids[index, : row.length] = torch.from_numpy(row.join("ids"))
        positions[index, : row.length] = torch.from_numpy(row.join("positions"))
        mask[index, 0][torch.from_numpy(row.mask(size))] = 0
        at.append(torch.from_numpy(row.join("places", shifted=True)) + index * size)
        taught.append(torch.from_numpy(row.join("taught")))
        weights.append(torch.from_numpy(row.join("weights")))
        kinds.append(torch.from_numpy(row.join("kinds")))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False
        ).last_hidden_state
        scores = model.lm_head(hidden.flatten(0, 1)[torch.cat(at)])
    each = torch.nn.functional.cross_entropy(scores.float(), torch.cat(taught), reduction="none")
    return each, torch.cat(weights), torch.cat(kinds)


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Return the rate of a step: linear warm-up, then a cosine down to a fiftieth."""
    cosine = 0.02 + 0.98 * 0.5 * (1 + float(np.cos(np.pi * step / steps)))
    return peak * min(1.0, (step + 1) / WARM_UP) * cosine


def build_model(tokenizer: Any, seed: int) -> Any:
    """Return the untrained model."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def train(settings: Settings, work: Path, start: Path | None, every: int) -> tuple[Any, Any]:
    """Train, or go on from the last checkpoint in `work`; return model and tokenizer."""
    from transformers import AutoTokenizer

    if start is None:
        tokenizer = train_tokenizer(settings.seed)
        model = build_model(tokenizer, settings.seed)
    else:
        tokenizer = AutoTokenizer.from_pretrained(start)
        model = LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    peak = PEAK_RATE if start is None else LATER_RATE
    optimizer = torch.optim.AdamW(model.parameters(), peak, (0.9, 0.98), weight_decay=0.01)
    checkpoint, log = work / "checkpoint.pt", work / "loss.csv"
    first = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        if state["settings"] != vars(settings):
            raise SystemExit(f"{checkpoint}: is of other settings: {state['settings']}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    validation_rng = np.random.default_rng([settings.seed, 2])
    whole = ROUNDS if start is None else LATER_ROUNDS
    validation = [
        row
        for _ in range(8)
        for row in draw_rows(validation_rng, tokenizer, settings.own_play, whole)
    ]
    start_time, tokens = time.time(), 0
    for step in range(first, settings.steps):
        # A generator per step: a resumed training draws what an unbroken one would have drawn.
        rng = np.random.default_rng([settings.seed, 3, step])
        easy = start is None and step < EASY_SHARE * settings.steps
        rows = draw_rows(rng, tokenizer, settings.own_play, EASY if easy else whole)
        tokens += sum(row.length for row in rows)
        each, weights, _ = losses(model, rows)
        loss = (each * weights).sum() / weights.sum()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, settings.steps, peak)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        if (step + 1) % every == 0 or step + 1 == settings.steps:
            _log(log, step + 1, tokens, time.time() - start_time, model, validation)
            state = {"step": step + 1, "settings": vars(settings)}
            state |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
    return model, tokenizer


def _log(
    path: Path, step: int, tokens: int, seconds: float, model: Any, validation: list[Row]
) -> None:
    """Append the validation loss (nats per taught token) by kind of token."""
    with torch.no_grad():
        parts = [losses(model, [row]) for row in validation]
    each, kinds = (torch.cat([part[i] for part in parts]) for i in (0, 2))
    found = {name: float(each[kinds == i].mean()) for i, name in enumerate(KINDS)}
    row: dict[str, float] = {"step": step, "tokens": tokens, "seconds": round(seconds)}
    row |= {name: round(value, 4) for name, value in found.items()}
    new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the model's files")
    parser.add_argument(
        "--work", type=Path, help="folder for checkpoint and log (default: OUT.work)"
    )
    parser.add_argument("--own-play", choices=OWN_PLAY, default="varied", help="what is taught")
    parser.add_argument("--start-from", type=Path, help="a trained model to start from")
    parser.add_argument("--steps", type=int, default=5600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--every", type=int, default=200, help="steps between log and checkpoint")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    work = options.work or options.out.with_suffix(".work")
    work.mkdir(parents=True, exist_ok=True)
    settings = Settings(options.seed, options.steps, options.own_play)
    model, tokenizer = train(settings, work, options.start_from, options.every)
    model.half().save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    card = (
        Path(__file__).parent
        / "cards"
        / ("rational.md" if options.own_play == "best" else "main.md")
    )
    (options.out / "README.md").write_text(card.read_text())
    print(f"{options.out}: {model.num_parameters():,} parameters")


if __name__ == "__main__":
    main()
