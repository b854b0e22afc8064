"""The script that trains on regret: its loss by a plain loop, and what a decision is worth."""

from __future__ import annotations

import pytest
import torch
from train_on_regret import SHIPPED, environments, loss_of, play

from tomeval.models.local.transformers import TransformersModel


@pytest.fixture(scope="module")
def model():
    return TransformersModel(str(SHIPPED), prefix_reuse=False, dtype="float32")


def test_the_loss_is_minus_worth_times_log_probability(model) -> None:
    envs = environments()[:2]
    chosen = [
        (p, reply, w)
        for (_, p, reply, _), w in zip(play(model, envs, 0), (1.5, -0.5), strict=False)
    ]
    found = loss_of(model, chosen)
    total = 0.0
    for prompt, reply, weight in chosen:
        ids = list(model.codec.encode(prompt)[0])
        for token in [
            *model.tokenizer.encode(reply, add_special_tokens=False),
            model.tokenizer.eos_token_id,
        ]:
            logits = model.model(torch.tensor([ids])).logits[0, -1]
            total -= weight * float(torch.log_softmax(logits.detach(), 0)[token]) / len(chosen)
            ids.append(token)
    assert float(found.detach()) == pytest.approx(total, rel=1e-4)
    found.backward()
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in model.model.parameters())
