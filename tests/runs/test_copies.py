"""Cells in which nothing is drawn: the claim is held against many episodes of each partner."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tomeval.comparing import compare
from tomeval.models.base import LocalModel, Reply, Scores
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.notes import copies_notes
from tomeval.runs.results import Run
from tomeval.strategies.asking import flatten

EPISODES = 12


class Hashing(LocalModel):
    """Answers depend on the prompt; texts above temperature 0 on the seed too."""

    name = "hashing"

    def __init__(self, ties: str = ""):
        self.ties = ties  # labels are equally probable where this stands in the prompt

    def _rng(self, request, *more):
        return np.random.default_rng([zlib.crc32(flatten(request.prompt).encode()), *more])

    def generate_batch(self, requests):
        said = []
        for request in requests:
            hot = request.sampling.temperature > 0
            rng = self._rng(request, request.seed if hot else 0)
            word = rng.choice(["Rock", "Paper", "Scissors", "Rock", "Paper", "nothing"])
            notes = f"Plans: {rng.integers(9)}\nInsights: {rng.integers(9)}\n"
            said.append(Reply(f"{notes}Final answer: {word}"))
        return said

    def score_batch(self, requests):
        found = []
        for request in requests:
            draw = self._rng(request).random(len(request.labels))
            if self.ties and self.ties in flatten(request.prompt):
                draw[:] = 1.0
            logprobs = tuple(np.log(draw / draw.sum()).tolist())
            found.append(Scores(logprobs, 1.0, "hashing"))
        return found


def experiment(*subjects, **keys):
    data = {
        "games": ["RPS"],
        "partners": ["single_action"],
        "horizon": 5,
        "episodes": EPISODES,
        "stop_after_voids": 0,
        "subjects": list(subjects),
        "model": "pocket",
    }
    return make_experiment(data | keys)


@pytest.fixture
def model(monkeypatch):
    found = Hashing()
    monkeypatch.setattr("tomeval.play.filling.open_model", lambda *args, **kwargs: found)
    return found


def play_many(monkeypatch, folder, *subjects, **keys):
    """Play many episodes, whose partners are drawn, whether or not anything else is."""
    with monkeypatch.context() as patch:
        patch.setattr("tomeval.games.matrix.play.nothing_drawn", lambda setup: False)
        run_experiment(experiment(*subjects, **keys), folder)


def games(folder, cell=0):
    """Return partner, status, and everything that was played and said, by episode."""
    with Run(folder) as run:
        partners = run.store.read("episodes", ("episode", "partner", "status"), cell)
        names = ("episode", "own_action", "partner_action", "predicted_action", "own_probs")
        names += ("predicted_probs", "reactions", "act_outcome", "predict_outcome")
        steps = list(run.store.read("steps", names, cell))
    return {
        episode: (partner, status, tuple(row[1:] for row in steps if row[0] == episode))
        for episode, partner, status in partners
    }


GREEDY = {"temperature": 0}
LM = {"strategy": "LM", "decide": "argmax"}
CASES = {
    # the subject, other keys, whether nothing but the partner is drawn
    "LM": (LM, {}, True),
    "LM reversed": ({**LM, "option_order": "reversed"}, {}, True),
    "LM conditional": ({**LM, "conditional": True}, {}, True),
    "LM without the probe": ({**LM, "literal": False}, {}, True),
    "LM against one": (LM, {"partners": "tit_for_tat"}, True),
    "LM, random policy": (LM, {"on_invalid": "random"}, True),
    "Social LM": ({"strategy": "Social LM", **GREEDY}, {}, True),
    "Oracle": ({**LM, "strategy": "Oracle + LM"}, {}, True),
    "greedy QA": ({"strategy": "QA", **GREEDY}, {}, True),
    "greedy S2A": ({**LM, "strategy": "S2A + LM", **GREEDY}, {}, True),
    "greedy Reflexion": ({**LM, "strategy": "Reflexion 2 + LM", **GREEDY}, {}, True),
    "greedy Plans": ({**LM, "strategy": "Plans + Insights + LM", **GREEDY}, {}, True),
    "LM drawn": ({"strategy": "LM"}, {}, False),
    "LM drawn at any temperature": ({"strategy": "LM", **GREEDY}, {}, False),
    "LM, predictions sampled": ({**LM, "predict": "sample"}, {}, False),
    "Social LM sampled": ({"strategy": "Social LM", "predict": "sample", **GREEDY}, {}, False),
    "LM shuffled": ({**LM, "option_order": "shuffled"}, {}, False),
    "LM, partner draws": (LM, {"partners": "uniform_random"}, False),
    "LM, unequal weights": (
        LM,
        {"partners": "{ partners = ['always(0)', 'always(1)'], weights = [0.25, 0.75] }"},
        False,
    ),
    "QA": ({"strategy": "QA"}, {}, False),
    "greedy QA, random policy": ({"strategy": "QA", **GREEDY}, {"on_invalid": "random"}, False),
    "S2A": ({**LM, "strategy": "S2A + LM"}, {}, False),
    "Reflexion": ({**LM, "strategy": "Reflexion 2 + LM"}, {}, False),
    "Plans": ({**LM, "strategy": "Plans + Insights + LM"}, {}, False),
    "Social QA": ({"strategy": "Social QA"}, {}, False),
    "tabular": ("rmax", {}, False),
}


@pytest.mark.parametrize(("subject", "keys", "fixed"), CASES.values(), ids=CASES)
def test_an_episode_for_each_partner_is_all_there_is(
    model, monkeypatch, tmp_path, subject, keys, fixed
):
    play_many(monkeypatch, tmp_path / "all", subject, **keys)
    run_experiment(experiment(subject, **keys), tmp_path / "run")
    whole, once = games(tmp_path / "all"), games(tmp_path / "run")
    assert len(whole) == EPISODES
    if not fixed:
        assert once == whole
        return
    of_partner = {game[0]: game for game in once.values()}
    assert sorted(of_partner) == list(range(len(once)))  # each partner, once
    assert all(game == of_partner[game[0]] for game in whole.values())


@pytest.mark.parametrize(
    ("name", "strategy", "fixed"),
    [
        ("openai:m@http://127.0.0.1:1/v1", "LM", True),
        ("openai:m@http://127.0.0.1:1/v1", "QA", False),  # servers do not repeat texts for certain
        ("hf:a/b", "QA", True),
        ("pocket", "S2A + LM", True),
        ("scripted:rule", "LM", False),  # a script may answer by anything
    ],
)
def test_models_that_repeat_themselves(name, strategy, fixed):
    [cell] = experiment({**LM, "strategy": strategy, "model": name, **GREEDY}).cells
    assert cell.wanted(EPISODES) == (3 if fixed else EPISODES)
    assert cell.wanted(1) == (3 if fixed else 1)


def test_servers_may_find_scores_invalid():
    subject = {**LM, "model": "openai:m@http://127.0.0.1:1/v1"}
    [cell] = experiment(subject, on_invalid="random").cells
    assert cell.wanted(EPISODES) == EPISODES


def test_the_mean_is_exact_and_has_no_interval(model, monkeypatch, tmp_path):
    play_many(monkeypatch, tmp_path / "all", LM)
    run_experiment(experiment(LM), tmp_path / "run")
    with Run(tmp_path / "all") as whole, Run(tmp_path / "run") as run:
        [cell], [row] = whole.cells, run.rows()
        for name, values in cell.metrics().items():
            truth = np.mean([values[cell.which == partner][0] for partner in range(3)])
            assert row[name] == pytest.approx(truth, abs=1e-12)
            for interval in ("normal", "t"):
                assert np.isnan(run.rows(interval)[0][f"{name}_ci95"])
        assert row["episodes"] == 3
        [note] = copies_notes(run)
        assert "nothing is drawn in LM" in note
        assert "each distinct episode is played once" in note


def test_against_players_that_are_drawn_every_episode_pairs(model, monkeypatch, tmp_path):
    """The comparison is that of a run with many episodes: what each would be is known."""
    players = ({**LM, "strategy": ["LM", "Oracle + LM"]}, "rmax")
    play_many(monkeypatch, tmp_path / "all", *players)
    run_experiment(experiment(*players), tmp_path / "run")
    for baseline, others in (("LM", {"rmax"}), ("rmax", {"LM", "Oracle + LM"})):
        with Run(tmp_path / "all") as whole, Run(tmp_path / "run") as once:
            rows = [compare(run, baseline=baseline).rows() for run in (whole, once)]
        both = 0
        for one, other in zip(*rows, strict=True):
            if one["strategy"] in others:
                both += 1
                keys = [k for k in one if "p_" not in k and k != "verdict"]
                assert {k: one[k] for k in keys} == pytest.approx(
                    {k: other[k] for k in keys}, nan_ok=True
                )
                assert other["pairs"] == EPISODES
        assert both
    with Run(tmp_path / "run") as run:
        one = compare(run, baseline="LM", metrics=["reward_per_step"])
        place = one.levels.index("Oracle + LM")
        assert one.pairs[0, place] == 3
        assert one.unpaired[0].tolist() == [0, 0]
        values = [cell.metrics()["reward_per_step"] for cell in run.cells[:2]]
        assert one.difference[0, place, 0] == pytest.approx((values[1] - values[0]).mean())
