"""Train the embedded model on exact regret, and measure it against partners that it never met.

    python experiments/pocket/train_on_regret.py --work work/regret

REINFORCE on Q* - V* of every decision (`tomeval.environment`, reward ``advantage``): as the reward
of a decision already holds what it costs in all later rounds, no returns are added up. `WORK/model`
is the trained model, `WORK/before` and `WORK/after` are runs against the held-out partners; then

    tomeval compare work/regret/before work/regret/after --by run

says which link moved. docs/environments.md has the numbers.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tomeval
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling
from tomeval.models.local.transformers import TransformersModel

SHIPPED = Path(__file__).parents[2] / "tomeval" / "models" / "pocket" / "main"
TRAINED_ON = {
    "IPD": ["single_action", "tit_for_tat", "grim_trigger"],
    "IBS": ["single_action", "tit_for_tat"],
}
HELD_OUT = {
    "IPD": ["suspicious_tit_for_tat", "tit_for_two_tats", "win_stay_lose_shift"],
    "IBS": ["alternator", "win_stay_lose_shift"],
}
HORIZON, LABELS = 10, "neutral"
BATCH, LEARNT, RATE, TOKENS = 40, 100, 3e-4, 16


def environments() -> list[Any]:
    """Return the environments to train in, in turn those of each game."""
    keys: dict[str, Any] = {"horizon": HORIZON, "labels": LABELS, "option_order": "shuffled"}
    return [
        tomeval.environment(game, partner, reward={"advantage": 1, "format": 4}, **keys)
        for game, partners in TRAINED_ON.items()
        for partner in partners
        for _ in range(BATCH // sum(map(len, TRAINED_ON.values())))
    ]


def play(
    model: TransformersModel, envs: list[Any], batch: int
) -> list[tuple[int, Any, str, float]]:
    """Play one episode in each environment; return environment, prompt, reply and reward."""
    for place, env in enumerate(envs):
        env.reset(seed=batch * len(envs) + place)
    decisions = []
    for step in range(HORIZON):
        prompts = [
            Prompt(tuple(Message(m["role"], m["content"]) for m in env.info["messages"]))
            for env in envs
        ]
        requests = [
            GenerateRequest(prompt, Sampling(max_tokens=TOKENS), (batch * HORIZON + step) << 20 | e)
            for e, prompt in enumerate(prompts)
        ]
        for e, reply in enumerate(model.generate_batch(requests)):
            reward = envs[e].step(reply.text)[1]
            decisions.append((e, prompts[e], reply.text, reward))
    return decisions


def worth(decisions: list[tuple[int, Any, str, float]], envs: list[Any]) -> list[float]:
    """Return what each decision earned beside the batch's others in its game, in deviations."""
    games = [envs[e].game.name for e, *_ in decisions]
    rewards, found = np.array([reward for *_, reward in decisions]), np.zeros(len(decisions))
    for game in TRAINED_ON:
        its = np.array([one == game for one in games])
        found[its] = (rewards[its] - rewards[its].mean()) / (rewards[its].std() + 1e-6)
    return [float(x) for x in found]


def loss_of(model: TransformersModel, chosen: list[tuple[Any, str, float]]) -> Any:
    """Return minus the mean of worth times log-probability of replies."""
    rows, ends = [], model.tokenizer.eos_token_id
    for prompt, reply, _ in chosen:
        before = list(model.codec.encode(prompt)[0])
        after = model.tokenizer.encode(reply, add_special_tokens=False)
        rows.append((before, [*after, ends]))
    size = max(len(before) + len(after) for before, after in rows)
    ids = torch.full((len(rows), size), ends)
    taught = torch.zeros(len(rows), size, dtype=torch.bool)
    for place, (before, after) in enumerate(rows):
        ids[place, : len(before) + len(after)] = torch.tensor(before + after)
        taught[place, len(before) : len(before) + len(after)] = True
    hidden = model.model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    at = taught[:, 1:]
    logits = model.model.lm_head(hidden[at]).float()
    each = -torch.nn.functional.cross_entropy(logits, ids[:, 1:][at], reduction="none")
    weights = torch.tensor([w for *_, w in chosen])[:, None].expand(at.shape)[at]
    return -(weights * each).sum() / len(rows)


def train(work: Path, minutes: float, seed: int) -> None:
    """Train for some minutes of processor time, and write the model."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = TransformersModel(str(SHIPPED), prefix_reuse=False, dtype="float32")
    optimizer = torch.optim.Adam(model.model.parameters(), RATE)
    envs, batch, start = environments(), 0, time.process_time()
    while (used := time.process_time() - start) < 60 * minutes:
        decisions = play(model, envs, batch)
        gains = worth(decisions, envs)
        drawn = rng.choice(len(decisions), LEARNT, replace=False)
        optimizer.zero_grad()
        loss_of(model, [(*decisions[i][1:3], gains[i]) for i in drawn.tolist()]).backward()
        torch.nn.utils.clip_grad_norm_(model.model.parameters(), 1.0)
        optimizer.step()
        batch += 1
        mean = np.mean([reward for *_, reward in decisions])
        print(f"{used:6.0f} s, batch {batch}: reward {mean:.3f} per decision", flush=True)
    model.model.half().save_pretrained(work / "model")
    model.tokenizer.save_pretrained(work / "model")


def measure(work: Path, episodes: int) -> None:
    """Play both models against the held-out partners, with the same chance."""
    for name, model in (("before", "pocket"), ("after", f"hf:{work / 'model'}")):
        experiment = {
            "games": [{"game": g, "partners": partners} for g, partners in HELD_OUT.items()],
            "labels": LABELS,
            "horizon": HORIZON,
            "episodes": episodes,
            "on_invalid": "random",
            "models": {"trained": model},
            "subjects": [{"strategy": "QA", "max_attempts": 1, "option_order": "shuffled"}],
            "model": "trained",
            "seed": 10**6,
        }
        with tomeval.run(experiment, work / name) as run:
            print(name, run, sep="\n")


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for the model and the runs"
    )
    parser.add_argument("--minutes", type=float, default=3.0, help="processor time of the training")
    parser.add_argument("--episodes", type=int, default=40, help="of each held-out partner")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not (options.work / "model").exists():
        train(options.work, options.minutes, options.seed)
    measure(options.work, options.episodes)


if __name__ == "__main__":
    main()
