"""Stated probabilities: the Bayes predictor, hedged responses, draws, tables and known truth."""

import itertools
import math

import numpy as np
import pytest
from forecast_coverage import coverage
from forecast_truth import expected_forecast
from hypothesis import given, settings
from hypothesis import strategies as st
from known import drawn
from support import ALL_GAMES, episodes_of, random_partner, scripts, setup_of

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Extension, add
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.play import play_episode
from tomeval.domains.matrix.subjects import Subject
from tomeval.extensions.probabilistic.forecaster import spoilt
from tomeval.extensions.probabilistic.forecasts import BINS, calibration, crossed_parts, plain_parts
from tomeval.extensions.probabilistic.measures import (
    MEASURES,
    NAME,
    Stated,
    by_step,
    episode_means,
)
from tomeval.extensions.probabilistic.posterior import bayes_predictions
from tomeval.extensions.probabilistic.tables import base_rates
from tomeval.plots import chosen, draw, drawable
from tomeval.runs.results import Run
from tomeval.runs.transcripts import transcript_lines
from tomeval.statistics.estimates import estimate

RPS, IBS, IPD = GAMES["RPS"], GAMES["IBS"], GAMES["IPD"]


def made_set(game, seed) -> PartnerSet:
    rng = np.random.default_rng(seed)
    kinds = ("deterministic", "mixed", "stochastic")
    tables = [random_partner(game, rng, 3, kind) for kind in kinds]
    tables = list({table.name: table for table in tables}.values())
    weights = rng.dirichlet(np.ones(len(tables)))
    return PartnerSet("made", tuple(tables), tuple((weights / weights.sum()).tolist()))


def likelihood(partner: Partner, own, theirs) -> float:
    """Return how probable a partner's moves are, given the own ones, walking its table."""
    state, chance = partner.start, 1.0
    for a, b in zip(own, theirs, strict=True):
        chance *= partner.emissions[state, b]
        state = int(partner.next_state[state, a, b])
    return chance


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(ALL_GAMES), st.integers(0, 10**6))
def test_the_bayes_predictor_is_the_ratio_of_likelihoods(game, seed):
    """P(b | past) = sum_k w_k P_k(past, b) / sum_k w_k P_k(past), for moves that can happen."""
    partners, rng = made_set(game, seed), np.random.default_rng(seed)
    own, theirs = [], []
    true = partners.partners[int(rng.integers(len(partners.partners)))]
    state = true.start
    for _ in range(5):
        own.append(int(rng.integers(game.n)))
        theirs.append(int(rng.choice(game.m, p=true.emissions[state])))
        state = int(true.next_state[state, own[-1], theirs[-1]])
    lengths = np.array([5, 2])
    flat = [np.array(moves + moves[:2]) for moves in (own, theirs)]
    found = bayes_predictions(partners, *flat, lengths)
    pairs = list(zip(partners.partners, partners.weights, strict=True))
    for t in range(5):
        past = sum(w * likelihood(p, own[:t], theirs[:t]) for p, w in pairs)
        joint = [
            sum(w * likelihood(p, own[: t + 1], [*theirs[:t], b]) for p, w in pairs)
            for b in range(game.m)
        ]
        assert found[t] == pytest.approx(np.array(joint) / past, abs=1e-12)
    assert found[5:].tolist() == found[:2].tolist()  # every episode begins anew


def test_moves_that_no_partner_makes_are_refused():
    partners = get_partner_set("single_action", RPS)
    with pytest.raises(TomevalError, match="no partner of the set"):
        bayes_predictions(partners, np.array([0, 0]), np.array([0, 1]), np.array([2]))


# What the forecaster should measure


def walked(game, partners, temperature, shift, horizon):
    """Return every possible episode of the forecaster, with its chance: (chance, moves) pairs.

    The forecast comes from likelihoods of whole histories, not from a filter.
    """
    pairs = list(zip(partners.partners, partners.weights, strict=True))
    episodes = [(1.0, (), ())]
    for _ in range(horizon):
        after = []
        for chance, own, theirs in episodes:
            joint = np.array(
                [
                    sum(w * likelihood(p, (*own, 0), (*theirs, b)) for p, w in pairs)
                    for b in range(game.m)
                ]
            )
            true = joint / joint.sum()
            said = spoilt(true[None], temperature, shift)[0]
            worth = game.own @ said
            best = np.flatnonzero(worth > worth.max() - 1e-9)
            for a, b in itertools.product(best.tolist(), np.flatnonzero(true).tolist()):
                after.append((chance * true[b] / len(best), (*own, a), (*theirs, b)))
        episodes = after
    return episodes


CASES = [
    (RPS, "single_action", 0.5, 0.2),
    (RPS, "mixture(0.5, 0.3, 0.2)", 2.0, 0.0),
    (IPD, "tit_for_tat + noisy_tit_for_tat(0.2)", 0.7, 0.1),
    (IBS, "0.3*always(0) + 0.7*mixture(0.4, 0.6)", 3.0, 0.0),
]


@pytest.mark.parametrize(("game", "spec", "temperature", "shift"), CASES)
def test_expected_forecasts_are_the_sum_over_all_episodes(game, spec, temperature, shift):
    partners, horizon = get_partner_set(spec, game), 3
    truth = expected_forecast(game, partners, temperature=temperature, shift=shift, horizon=horizon)
    episodes = walked(game, partners, temperature, shift, horizon)
    chances = np.array([chance for chance, *_ in episodes])
    assert chances.sum() == pytest.approx(1)
    own, theirs = (np.array([e[i] for e in episodes]).ravel() for i in (1, 2))
    lengths = np.full(len(episodes), horizon)
    stated = spoilt(bayes_predictions(partners, own, theirs, lengths), temperature, shift)
    none = np.zeros(len(own), dtype=np.int64)
    data = Stated("stated", stated, stated, none, 0, partners.weights)
    more = {"partners": partners.partners, "lengths": lengths, "more": {NAME: lambda: data}}
    played = episodes_of(game, own, theirs, stated.argmax(axis=1), **more)
    steps = by_step(played)
    for name in (*(measure.name for measure in MEASURES), "bayes_log_loss"):
        mean = float(chances @ episode_means(played, steps[name]))
        assert truth[name] == pytest.approx(mean, abs=1e-9), name
    found = calibration(stated, theirs, np.repeat(np.arange(len(episodes)), horizon), len(episodes))
    assert truth["ece_percent"] == pytest.approx(100 * np.abs(chances @ found.gaps).sum(), abs=1e-9)


def test_no_dial_beats_the_calibrated_forecaster():
    partners = get_partner_set("0.3*mixture(0.7, 0.2, 0.1) + 0.7*mixture(0.1, 0.5, 0.4)", RPS)
    best = expected_forecast(RPS, partners, horizon=3)
    assert best["ece_percent"] == pytest.approx(0, abs=1e-9)
    assert best["excess_log_loss"] == pytest.approx(0, abs=1e-12)
    assert best["tom_percent"] == pytest.approx(best["bayes_accuracy_percent"])
    for dials in ({"temperature": 0.5}, {"temperature": 2.0}, {"shift": 0.2}):
        other = expected_forecast(RPS, partners, horizon=3, **dials)
        assert other["log_loss"] > best["log_loss"] + 1e-3
        assert other["brier_score"] > best["brier_score"] + 1e-3
        assert other["ece_percent"] > 1
        assert other["excess_log_loss"] == pytest.approx(other["log_loss"] - best["log_loss"])


def forecasts(temperature, shift, episodes, horizon, partners):
    """Return played episodes of a forecaster as its measures read them, and its probabilities."""
    dials = {"temperature": temperature, "shift": shift}
    setup = setup_of("forecaster", dials, RPS, partners, horizon, 4)
    own, theirs, probs = [], [], []
    for episode in range(episodes):
        steps = play_episode(setup, episode)
        assert steps.told[0, 0]  # it knows the partner set
        own.append(steps.own_action[0])
        theirs.append(steps.partner_action[0])
        probs.append([steps.book[code] for code in steps.predicted_probs[0]])
    stated = np.concatenate(probs)
    data = Stated("stated", stated, stated, np.zeros(len(stated), int), 0, partners.weights)
    more = {"partners": partners.partners, "more": {NAME: lambda: data}}
    return episodes_of(RPS, own, theirs, stated.argmax(axis=1), **more), stated


@pytest.mark.parametrize(("temperature", "shift"), [(0.4, 0.0), (1.0, 0.3)])
def test_the_forecaster_is_recovered(temperature, shift):
    partners = get_partner_set("0.5*mixture(0.6, 0.3, 0.1) + 0.5*mixture(0.1, 0.2, 0.7)", RPS)
    played, stated = forecasts(temperature, shift, 300, 5, partners)
    truth = expected_forecast(RPS, partners, temperature=temperature, shift=shift, horizon=5)
    steps = by_step(played)
    for name in (measure.name for measure in MEASURES):
        values = episode_means(played, steps[name])
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - truth[name]) <= 4 * error, name
    found = calibration(stated, played.partner, np.repeat(np.arange(300), 5), 300)
    ends = estimate(100 * np.stack([crossed_parts(found), plain_parts(found)], axis=1))
    assert ends.low[0] <= truth["ece_percent"] <= ends.high[1]


@pytest.mark.parametrize(
    ("temperature", "samples"), [(1.0, 60), pytest.param(0.4, 300, marks=pytest.mark.slow)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(temperature, samples):
    """95 % of 60 samples of 20 episodes: 50 or fewer happen once in a thousand."""
    found = coverage(20, temperature, 0.0, samples, np.random.default_rng(7))
    assert {"ece_percent", "brier_score of draws", "skill over base rate"} < set(found)
    for name, (held, *_) in found.items():
        assert held > 0.84, name


# What is stated, and where


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
    add(Extension("of_this_test", subjects={kind.__name__.lower(): kind for kind in kinds}))


def play_run(folder, **keys):
    return tomeval.run({"games": "RPS", "horizon": 4, "episodes": 3, **keys}, folder)


def table(run):
    return run.tables["probabilistic"].rows(run, [])


def test_a_table_by_hand(tmp_path, subjects):
    with play_run(tmp_path / "run", subjects=["stubborn"], partners="always(0)") as run:
        [row], [whole] = table(run), run.rows()
    assert row["log_loss"] == whole["log_loss"] == pytest.approx(math.log(2))
    assert row["brier_score"] == pytest.approx(0.25 + 0.09 + 0.04)
    assert row["overconfidence"] == pytest.approx(-50)
    assert row["ece_percent"] == pytest.approx(50)
    assert row["excess_log_loss"] == pytest.approx(math.log(2))  # Bayes knows it all
    assert (row["steps"], row["draws"], row["impossible_steps"]) == (12, 0, 0)
    assert whole["bayes_accuracy_percent"] == 100
    # Rock earns 0.2 - 0.3, Paper 0.5 - 0.2, Scissors 0.3 - 0.5: Paper, which is best against Rock.
    assert whole["delta_tom_expected_utility_per_step"] == 0
    # The base rate is never wrong: no skill against it, and it says so.
    assert math.isnan(row["log_loss_skill_over_base_rate"])
    with Run(tmp_path / "run") as run:
        said = " ".join(run.tables["probabilistic"].notes(run))
    assert "the base rate has no loss there" in said


def test_skill_by_hand(tmp_path, subjects):
    """Against one of three constant partners, each met once: Bayes loses ln 3 in the first step."""
    keys = {"subjects": "stubborn", "partners": "single_action", "episodes": 12, "seed": 3}
    with play_run(tmp_path / "run", **keys) as run:
        [row] = table(run)
        which = run.cells[0].played.which
    met = np.bincount(which, minlength=3)
    assert (met > 0).all()
    loss = -np.log([0.5, 0.3, 0.2])[which].mean()
    assert row["log_loss"] == pytest.approx(loss)
    assert row["base_rate_log_loss"] == pytest.approx(math.log(3))  # by the set's weights
    assert row["bayes_log_loss"] == pytest.approx(math.log(3) / 4)
    assert row["log_loss_skill_over_base_rate"] == pytest.approx(1 - loss / math.log(3))
    assert row["base_rate_brier_score"] == pytest.approx(2 / 3)
    assert row["log_loss_skill_over_base_rate_ci95"] > 0


def test_base_rates_weigh_partners_by_their_share():
    partners = get_partner_set("0.25*always(0) + 0.75*always(1)", IPD)
    which = np.array([0, 0, 0, 1])
    theirs = np.repeat(which, 2)
    played = episodes_of(
        IPD, theirs, theirs, partners=partners.partners, which=which, lengths=np.full(4, 2)
    )
    assert base_rates(played, partners.weights).tolist() == [0.25, 0.75]
    assert base_rates(played, ()).tolist() == [0.75, 0.25]


def test_an_infinite_loss_is_shown_and_never_averaged_away(tmp_path, subjects):
    keys = {"subjects": ["certain", "stubborn"], "partners": "single_action", "episodes": 12}
    with play_run(tmp_path / "run", **keys) as run:
        certain, _ = table(run)
        first, second = run.rows()
        said = " ".join(run.tables["probabilistic"].notes(run))
    assert certain["log_loss"] == math.inf
    assert certain["impossible_steps"] > 0
    assert math.isnan(first["log_loss"])
    assert math.isnan(first["excess_log_loss"])
    assert math.isfinite(first["brier_score"])
    assert math.isfinite(second["log_loss"])
    assert "certain, RPS, single_action: the log loss is infinite" in said


def test_only_who_always_states_probabilities_has_them(tmp_path, subjects):
    keys = {"subjects": ["sometimes", "stubborn", "simulated"], "partners": "always(0)"}
    with play_run(tmp_path / "run", **keys) as run:
        rows = run.rows()
        shown = table(run)
        said = " ".join(run.tables["probabilistic"].notes(run))
    assert [math.isnan(row["log_loss"]) for row in rows] == [True, False, True]
    assert [row["subject"] for row in shown] == ["stubborn"]
    assert "2 cells without probabilities left out" in said


def test_measures_reach_comparisons_and_figures(tmp_path, subjects):
    keys = {"subjects": ["stubborn", {"kind": "forecaster"}], "partners": "single_action"}
    with play_run(tmp_path / "run", episodes=8, **keys) as run:
        found = tomeval.comparing.compare(run, by="subject", metrics=["log_loss"])
        [row] = [one for one in found.rows() if one["scope"] == "all tasks"][:1] or found.rows()[:1]
        shown = {one["subject"]: one["log_loss"] for one in table(run)}
        [drawing] = draw(run, ["probabilistic"])
        offered, first = drawable(run), chosen(run)
    gap = shown["forecaster"] - shown["stubborn"]
    assert abs(row["difference"]) == pytest.approx(abs(gap))
    assert "Bayes 0.27" in drawing.description  # ln 3 over four steps
    assert "probabilistic" in offered
    assert first == ["plane", "forest", "literal_against_functional", "decomposition"]
    assert len(drawing.figure.axes[0].collections) == 2 * 2  # dots and bars


# Draws


def test_draws_in_a_run(tmp_path):
    keys = {
        "subjects": {"strategy": ["QA", "LM"], "draws": 4, "max_attempts": 1, "name": "it"},
        "games": "IPD",
        "partners": "always(0)",
        "episodes": 12,
        "on_invalid": "random",
    }
    with scripts(drawn=drawn), play_run(tmp_path / "run", model="scripted:drawn", **keys) as run:
        written, scored = table(run)
        lines = list(transcript_lines(run, 0, 0))
        asked = run.store.query(
            "SELECT episode, step, outcome, value FROM answers WHERE cell = 0 AND seat = 'subject'"
        )
    assert (written["probabilities"], scored["probabilities"]) == ("draws", "stated")
    assert scored["log_loss"] == pytest.approx(-math.log(0.6))
    assert len(asked) == 12 * 4 * 4
    unread = sum(outcome != "valid" for _, _, outcome, _ in asked)
    assert written["unreadable_draws"] == unread > 0
    assert written["draws"] + unread == len(asked)
    by_place: dict = {}
    for episode, step, outcome, value in asked:
        by_place.setdefault((episode, step), []).append(value if outcome == "valid" else None)
    losses, scores = [], []
    for said in by_place.values():
        n, hits = 4 - said.count(None), said.count("0")
        if n < 2:
            continue
        losses.append(-math.log((hits + 0.5) / (n + 1)))
        p = hits / n
        scores.append(2 * (p - 1) ** 2 - 2 * p * (1 - p) / (n - 1))
    assert written["steps"] == len(losses)
    assert written["steps"] + written["steps_without"] == 48
    if written["steps_without"] == 0:
        assert written["log_loss"] == pytest.approx(np.mean(losses))
        assert written["brier_score"] == pytest.approx(np.mean(scores))
    counts = [by_place[0, 1].count(value) for value in ("0", "1", None)]
    own = IPD.label_set().partner
    said = f"asked 4 times more, predicted {own[0]} {counts[0]}, {own[1]} {counts[1]}"
    assert any(said in line for line in lines)


def test_bins_cover_every_confidence():
    probs = np.stack([np.linspace(0.5, 1, 301), 1 - np.linspace(0.5, 1, 301)], axis=1)
    found = calibration(probs, np.zeros(301, int), np.zeros(301, int), 1)
    assert found.items.shape == (1, BINS)
    assert found.items.sum() == 301
