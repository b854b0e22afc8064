"""Stated probabilities: scores by hand, by enumeration and by loops; draws; tables."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from asking import query
from hypothesis import given, settings
from hypothesis import strategies as st
from known import drawn
from support import scripts

import tomeval
from tomeval.core.outcomes import Decision
from tomeval.core.parts import register
from tomeval.extensions.probabilistic import BINS, brier_scores, curve, log_losses
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.subjects import Subject
from tomeval.report.tables import data
from tomeval.statistics.estimates import clustered_share

IPD = GAMES["IPD"]
TRUE = (Fraction(6, 10), Fraction(3, 10), Fraction(1, 10))
STATED = np.zeros(1, dtype=int)


def outcomes_of(draws: int) -> dict[tuple[int, ...], Fraction]:
    """Return the chance of every count of actions among draws from `TRUE`, draw by draw."""
    chances: dict[tuple[int, ...], Fraction] = {}
    for actions in itertools.product(range(3), repeat=draws):
        counts = tuple(actions.count(action) for action in range(3))
        chance = math.prod((TRUE[action] for action in actions), start=Fraction(1))
        chances[counts] = chances.get(counts, Fraction(0)) + chance
    return chances


@pytest.mark.parametrize("draws", [2, 3, 5])
@pytest.mark.parametrize("actual", [0, 2])
def test_the_brier_score_of_draws_has_no_bias(draws, actual):
    truth = sum((TRUE[b] - (b == actual)) ** 2 for b in range(3))
    mean = plain = 0.0
    for counts, chance in outcomes_of(draws).items():
        shares, hit = np.array([counts]) / draws, np.array([actual])
        mean += float(chance) * brier_scores(shares, hit, np.array([draws]))[0]
        plain += float(chance) * brier_scores(shares, hit, STATED)[0]
    assert mean == pytest.approx(float(truth), abs=1e-12)
    spread = sum(p * (1 - p) for p in TRUE) / draws
    assert plain == pytest.approx(float(truth + spread), abs=1e-12)  # what it would be without


@given(st.lists(st.integers(0, 2), min_size=2, max_size=7), st.integers(0, 2))
def test_it_is_the_mean_over_pairs_of_draws(actions, actual):
    errors = [[(d == b) - (b == actual) for b in range(3)] for d in actions]
    pairs = [
        sum(x * y for x, y in zip(one, other, strict=True))
        for one, other in itertools.permutations(errors, 2)
    ]
    shares = np.array([[actions.count(b) / len(actions) for b in range(3)]])
    score = brier_scores(shares, np.array([actual]), np.array([len(actions)]))[0]
    assert score == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


def test_hand_values():
    probs = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    actual = np.array([0, 1, 2])
    assert log_losses(probs, actual).tolist() == [pytest.approx(math.log(2)), 0.0, math.inf]
    assert brier_scores(probs, actual, STATED).tolist() == pytest.approx([0.38, 0.0, 2.0])


def test_both_scores_are_proper():
    """Whatever is true, nothing scores better in expectation than to say so."""
    rng, each = np.random.default_rng(0), np.arange(3)
    for _ in range(50):
        true, said = rng.dirichlet(np.ones(3), 2)
        honest, other = np.tile(true, (3, 1)), np.tile(said, (3, 1))
        assert true @ log_losses(honest, each) < true @ log_losses(other, each)
        assert true @ brier_scores(honest, each, STATED) < true @ brier_scores(other, each, STATED)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_the_curve_is_that_of_loops_whatever_actions_are_called(seed, size):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(size, 0.7), 24)
    actual, units = rng.integers(0, size, 24), np.repeat(np.arange(4), 6)
    wanted = []
    for k in range(BINS):
        inside = [i for i in range(24) if k / BINS < max(probs[i]) <= (k + 1) / BINS]
        if inside:
            hits = [list(probs[i]).index(max(probs[i])) == actual[i] for i in inside]
            sure = np.mean([max(probs[i]) for i in inside])
            wanted.append((sure, *clustered_share(hits, units[inside])))
    order = rng.permutation(size)
    for said, happened in ((probs, actual), (probs[:, order], np.argsort(order)[actual])):
        bins = [(sure, *right) for sure, right in curve(said, happened, units)]
        assert np.allclose(bins, wanted, equal_nan=True)


class Stubborn(Subject):
    """Always states the same probabilities."""

    probs = (0.5, 0.3, 0.2)

    def act(self, observation):
        return Decision(0)

    def predict(self, observation, own_action):
        return Decision(0, self.probs)


class Certain(Stubborn):
    """Gives no chance to the last action."""

    probs = (0.5, 0.5, 0.0)


class Sometimes(Stubborn):
    """States probabilities in the first step only."""

    def predict(self, observation, own_action):
        return Decision(0, self.probs if observation.round == 1 else None)


@pytest.fixture
def subjects():
    kinds = (Stubborn, Certain, Sometimes)
    for kind in kinds:
        register("subjects", kind.__name__.lower(), kind)


def play_run(folder, **keys):
    return tomeval.run({"games": "RPS", "horizon": 4, "episodes": 3, **keys}, folder)


def table(run):
    return run.tables["probabilistic"].rows(run, [])


def test_a_table_by_hand(tmp_path, subjects):
    with play_run(tmp_path / "run", subjects=["stubborn"], partners="always(0)") as run:
        [row], [whole] = table(run), run.rows()
    assert whole["log_loss"] == pytest.approx(math.log(2))
    assert whole["brier_score"] == pytest.approx(0.25 + 0.09 + 0.04)
    assert (row["confidence_percent"], row["right_percent"], row["steps"]) == (50, 100, 12)
    assert row["probabilities"] == "stated"


def test_an_infinite_loss_is_never_averaged_away(tmp_path, subjects):
    keys = {"subjects": ["certain", "stubborn"], "partners": "single_action", "episodes": 12}
    with play_run(tmp_path / "run", **keys) as run:
        first, second = run.rows()
    assert math.isnan(first["log_loss"])
    assert math.isfinite(first["brier_score"])
    assert math.isfinite(second["log_loss"])


def test_only_who_always_states_probabilities_has_them(tmp_path, subjects):
    keys = {"subjects": ["sometimes", "stubborn", "simulated"], "partners": "always(0)"}
    with play_run(tmp_path / "run", **keys) as run:
        assert [math.isnan(row["log_loss"]) for row in run.rows()] == [True, False, True]
        assert [row["subject"] for row in table(run)] == ["stubborn"]


def test_draws_in_a_run(tmp_path):
    keys = {
        "subjects": {"strategy": ["QA", "LM"], "draws": 4, "max_attempts": 1, "name": "it"},
        "games": "IPD",
        "partners": "always(0)",
        "episodes": 12,
        "on_invalid": "random",
    }
    with scripts(drawn=drawn), play_run(tmp_path / "run", model="scripted:drawn", **keys) as run:
        shown, (written, scored) = table(run), run.rows()
        asked = query(
            run,
            "SELECT episode, step, outcome, value FROM answers WHERE cell = 0 AND seat = 'subject'",
        )
        lengths = run.cells[0].played.lengths.tolist()
    assert list(dict.fromkeys(row["probabilities"] for row in shown)) == ["draws", "stated"]
    assert scored["log_loss"] == pytest.approx(-math.log(0.6))
    assert len(asked) == 12 * 4 * 4
    by_place: dict = {}
    for episode, step, outcome, value in asked:
        by_place.setdefault((episode, step), []).append(value if outcome == "valid" else None)
    losses: dict = {}
    scores: dict = {}
    for (episode, _), said in by_place.items():
        n, hits = 4 - said.count(None), said.count(0)
        if n < 2:
            continue
        losses.setdefault(episode, []).append(-math.log((hits + 0.5) / (n + 1)))
        p = hits / n
        scores.setdefault(episode, []).append(2 * (p - 1) ** 2 - 2 * p * (1 - p) / (n - 1))
    assert lengths == [4] * 12
    used = sum(row["steps"] for row in shown if row["probabilities"] == "draws")
    assert used == sum(map(len, losses.values()))
    for name, values in (("log_loss", losses), ("brier_score", scores)):
        mean = np.mean([np.mean(some) for some in values.values()])
        assert written[name] == pytest.approx(mean)


def test_a_cell_without_intervals_has_the_columns_of_the_others(tmp_path, subjects, monkeypatch):
    first = property(lambda cell: cell.number == 0)
    keys = {"subjects": ["stubborn"], "partners": ["uniform_random", "mixture(0.5, 0.3, 0.2)"]}
    with play_run(tmp_path / "run", episodes=8, **keys) as run:
        monkeypatch.setattr(MatrixRunCell, "each_once", first)
        once, drawn = table(run)
        text = data([once, drawn], "csv")
    assert list(once) == list(drawn)
    assert math.isnan(once["right_percent_ci95_low"])
    assert math.isfinite(drawn["right_percent_ci95_low"])
    assert len(text.splitlines()) == 3
