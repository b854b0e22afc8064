"""Train a model of the package, and the stages that it goes on from, from scratch.

    python experiments/pocket/train.py main --work work/pocket
    python experiments/pocket/train.py rational --work work/pocket

`WORK/main` then holds exactly the files that ship in `tomeval/models/pocket/main`. Stages in
`WORK` are not trained again; stop a training and run it again, and it goes on from its last
checkpoint. The same seed and thread count on the same kind of machine give the same weights.
`WORK/NAME.work/loss.csv` holds the validation loss by kind of token. docs/pocket.md says how long
it takes, and what comes out.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from documents import draw_documents, draw_lookups
from encoding import KINDS, OWN_TAUGHT, WEIGHTS, Row, encode, pack, thin
from stages import EASY, EASY_SHARE, STAGES, Bands, Stage
from tokenizer import train_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

HIDDEN, LAYERS, HEADS, INNER = 128, 4, 4, 384
CONTEXT = 8192
SHIPPED = Path(__file__).parents[2] / "tomeval" / "models" / "pocket"
WARM_UP, CLIP = 100, 1.0


def draw_rows(rng: np.random.Generator, tokenizer: Any, stage: Stage, bands: Bands) -> list[Row]:
    """Draw one batch: documents of similar length, side by side in rows."""
    weights = WEIGHTS | (OWN_TAUGHT if stage.own_play == "best" else {})
    band = bands[int(rng.choice(len(bands), p=[share for *_, share in bands]))]
    rounds = int(rng.integers(band[0], band[1]))
    encoded, total = [], 0
    only_lookups = stage.lookups > 0 and rng.random() < stage.lookups
    while total < stage.batch_tokens:
        if only_lookups:
            documents = draw_lookups(rng, rounds, stage.lookups < 1, stage.lookup_answers)
        else:
            documents = draw_documents(rng, rounds, stage.own_play, stage.scored)
        for document in documents:
            kept = thin(document, stage.question_tokens, tokenizer, rng)
            part = encode(kept, tokenizer, weights)
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


def retokenised(start: Path, before: Any, tokenizer: Any, seed: int) -> Any:
    """Return a model with the embeddings of another tokenizer than the one it had before.

    A new token begins as the mean of the old tokens that spell it.
    """
    old = LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    model = build_model(tokenizer, seed)
    weights = old.state_dict()
    for name in [name for name in weights if "embed_tokens" in name or "lm_head" in name]:
        rows, known = [], before.get_vocab()
        for token, index in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
            text = tokenizer.decode([index], skip_special_tokens=False)
            ids = (
                [known[token]] if token in known else before.encode(text, add_special_tokens=False)
            )
            rows.append(weights[name][ids].mean(dim=0))
        weights[name] = torch.stack(rows)
    model.load_state_dict(weights)
    return model


def train(stage: Stage, seed: int, work: Path, start: Path | None, every: int) -> tuple[Any, Any]:
    """Train, or go on from the last checkpoint in `work`; return model and tokenizer."""
    from transformers import AutoTokenizer

    if start is None:
        tokenizer = train_tokenizer(seed)
        model = build_model(tokenizer, seed)
    elif start.parent == SHIPPED:
        before = AutoTokenizer.from_pretrained(start)
        tokenizer = train_tokenizer(seed, before)
        model = retokenised(start, before, tokenizer, seed)
    else:
        tokenizer = AutoTokenizer.from_pretrained(start)
        model = LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    optimizer = torch.optim.AdamW(
        model.parameters(), stage.peak_rate, (0.9, 0.98), weight_decay=0.01
    )
    checkpoint, log = work / "checkpoint.pt", work / "loss.csv"
    first, settings = 0, {"seed": seed, **asdict(stage)}
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        if state["settings"] != settings:
            raise SystemExit(f"{checkpoint}: is of other settings: {state['settings']}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    validation_rng = np.random.default_rng([seed, 2])
    validation = [
        row for _ in range(8) for row in draw_rows(validation_rng, tokenizer, stage, stage.rounds)
    ]
    start_time, tokens = time.time(), 0
    for step in range(first, stage.steps):
        # A generator per step: a resumed training draws what an unbroken one would have drawn.
        rng = np.random.default_rng([seed, 3, step])
        easy = start is None and step < EASY_SHARE * stage.steps
        rows = draw_rows(rng, tokenizer, stage, EASY if easy else stage.rounds)
        tokens += sum(row.length for row in rows)
        each, weights, _ = losses(model, rows)
        loss = (each * weights).sum() / weights.sum()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, stage.steps, stage.peak_rate)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        if (step + 1) % every == 0 or step + 1 == stage.steps:
            _log(log, step + 1, tokens, time.time() - start_time, model, validation)
            state = {"step": step + 1, "settings": settings}
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


def make(name: str, seed: int, work: Path, every: int) -> None:
    """Train a stage into `work`, after those that it goes on from."""
    stage, folder = STAGES[name], work / name
    kind, _, shipped = (stage.start or "").partition(":")
    start = SHIPPED / shipped if shipped else work / kind if kind else None
    if start is not None and not (start / "model.safetensors").exists():
        make(kind, seed, work, every)
    state = work / f"{name}.work"
    state.mkdir(parents=True, exist_ok=True)
    model, tokenizer = train(stage, seed, state, start, every)
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    card = Path(__file__).parent / "cards" / f"{name}.md"
    if card.exists():
        (folder / "README.md").write_text(card.read_text())
    print(f"{folder}: {model.num_parameters():,} parameters")


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for models and checkpoints"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--every", type=int, default=200, help="steps between log and checkpoint")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    make(options.stage, options.seed, options.work, options.every)


if __name__ == "__main__":
    main()
