"""Claims of the sources: true of the published numbers; each can be made to hold and to fail."""

from __future__ import annotations

import csv
from fnmatch import fnmatchcase

import numpy as np
import pytest
from known import question
from support import ROOT, scripts

from tomeval import run as play_run
from tomeval.extensions.claims import FAILS, HOLDS, OPEN, Claim, check, shipped_claims
from tomeval.runs.analyses import known_measures
from tomeval.runs.domain import get_domain
from tomeval.runs.results import Run
from tomeval.strategies import parse_strategy

CLAIMS = shipped_claims()
MATRIX = [one for one in CLAIMS if one.domain == "matrix"]
TABLED = [one for one in MATRIX if one.place.startswith("table")]


def rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "experiments" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


HUB = {row["reported"]: row["model"] for row in rows("reported_models.csv")}


def level(row: dict[str, str], by: str) -> str:
    """Return what a published row is a level of."""
    if by == "model" or row["prompting"] == "Tabular":
        return HUB.get(row["model"], "rmax")
    if row["prompting"] == "reasoning":
        return "QA"  # a reasoning model is simply asked
    return (
        "Reflexion 1" if row["prompting"] == "Reflexion" else parse_strategy(row["prompting"]).name
    )


def matches(text: str, patterns: str) -> bool:
    return any(fnmatchcase(text.lower(), one.lower()) for one in patterns.split("|"))


@pytest.mark.parametrize("claim", TABLED, ids=lambda one: f"{one.claim}, {one.first}")
def test_the_published_numbers_bear_it_out(claim: Claim) -> None:
    # Read from the paper's tables by other code: the mean over all of a side's cells, games in
    # units of their own cost of a mistake, so that none outweighs the others.
    size = {"RPS": 1.5, "IBS": 8.5, "IPD": 3.5}
    asked = dict(part.split("=") for part in claim.where.split(";") if part)
    known = {"delta_tom_misprediction_per_step": "delta_tom_per_step"}
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows("reported_results.csv"):
        about = {
            "game": row["game"],
            "partners": row["partner"],
            "model": HUB.get(row["model"], ""),
        }
        learner = row["prompting"] == "Tabular" and row["partner"] == asked["partners"]
        if learner or (
            f"table {row['table']}" == claim.place
            and all(matches(about[name], values) for name, values in asked.items())
        ):
            value = float(row["mean"]) / (
                1 if row["metric"] == "tom_percent" else size[row["game"]]
            )
            for side, patterns in (("first", claim.first), ("second", claim.second)):
                if patterns and matches(level(row, claim.by), patterns):
                    found.setdefault((side, row["metric"]), []).append(value)
    other = ("first", known[claim.than]) if claim.than else ("second", claim.measure)
    difference = np.mean(found["first", claim.measure]) - np.mean(found[other])
    assert (difference > 0) == (claim.direction == "higher")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda one: one.claim)
def test_names_are_known(claim: Claim) -> None:
    domain = get_domain(claim.domain)
    measures = known_measures(domain)
    assert claim.measure.split()[0] in measures
    assert claim.than in measures or claim.than in ("", "50")
    assert bool(claim.than) != bool(claim.second)
    assert claim.direction in ("higher", "lower", "within 10")
    for name in filter(lambda name: "*" not in name, claim.first.split("|")):
        assert claim.by != "strategy" or parse_strategy(name).name == name


@pytest.mark.parametrize(
    ("direction", "low", "high", "verdict"),
    [
        *(("higher", 1, 2, HOLDS), ("higher", -2, -1, FAILS), ("higher", -1, 1, OPEN)),
        *(("lower", -2, -1, HOLDS), ("lower", 1, 2, FAILS), ("lower", 0, 1, OPEN)),
        *(("within 10", -9, 9, HOLDS), ("within 10", 11, 12, FAILS), ("within 10", -11, 2, OPEN)),
        *(("within 10", -12, -11, FAILS), ("higher", float("nan"), 1, OPEN)),
    ],
)
def test_verdicts(direction, low, high, verdict) -> None:
    assert Claim(*[""] * 10, direction).verdict(low, high) == verdict


def played(folder, subjects, **keys):
    data = {"games": ["RPS", "IBS", "IPD"], "partners": "single_action", "horizon": 20}
    data |= {"labels": "neutral", "episodes": 12, "subjects": subjects}
    return play_run(data | keys, folder)


def simulated(name: str, knows: float, uses: float) -> dict:
    return {"kind": "simulated", "name": name, "p": knows, "q": uses}


BY_STRATEGY = [one for one in TABLED if one.by == "strategy" and "model" not in one.where]


# Simulated players lose at least what their predictions cost, so that claim can only hold of them.
CASES = [(one, verdict) for one in BY_STRATEGY for verdict in (HOLDS, FAILS)]
CASES = [(one, verdict) for one, verdict in CASES if verdict == HOLDS or not one.than]


@pytest.mark.parametrize(("claim", "verdict"), CASES, ids=lambda one: getattr(one, "claim", one))
def test_it_holds_and_fails_of_players_of_known_truth(tmp_path, claim, verdict) -> None:
    # A player without a strategy is a level by its name: these know and use what they are given.
    more = (claim.direction == "higher") == (verdict == HOLDS)
    better = more if claim.measure == "tom_percent" else not more
    first, *_ = claim.first.split("|")
    if claim.than:  # predicts well, and acts at random
        subjects = [simulated(first, 0.95, 0.0)]
    else:
        second = claim.second.split("|")[0]
        good, bad = (1.0, 1.0), (0.4, 0.0)
        subjects = [simulated(first, *(good if better else bad))]
        subjects.append(simulated(second, *(bad if better else good)))
    with played(tmp_path / "run", subjects) as run:
        (row,) = check(claim, [run])
    assert row["verdict"] == verdict
    assert (row["first"], row["claimed"]) == (first, claim.direction)
    assert row["first_mean"] - row["second_mean"] == pytest.approx(row["difference"])
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]


def script(acts_well, predicts_well):
    """Return a model that plays against the partner's constant action, well or badly."""

    def answer(request):
        purpose, step, _ = question(request)
        text = request.prompt.messages[-1].content
        labels = ("J", "F")
        theirs = text.rfind("the other player chose F") > text.rfind("the other player chose J")
        right = acts_well(step) if purpose == "act" else predicts_well(step)
        return f"Final answer: {labels[int(theirs) if right else 1 - int(theirs)]}"

    return answer


def model_runs(tmp_path, name, made):
    """Play IBS, in which the best reply is the partner's own action, with a scripted model."""
    with scripts(**{name: made}):
        keys = {"games": "IBS", "model": f"scripted:{name}"}
        return played(tmp_path / name, [{"strategy": "QA"}], **keys)


@pytest.mark.parametrize(("acts", "predicts", "verdict"), [(1, 0, HOLDS), (0, 1, FAILS)])
def test_a_model_that_acts_better_than_it_predicts(tmp_path, acts, predicts, verdict) -> None:
    claim = next(one for one in MATRIX if "model" in one.where)
    with model_runs(tmp_path, "R1", script(lambda _: acts, lambda _: predicts)) as run:
        (row,) = check(claim, [run])
    assert row["verdict"] == verdict


@pytest.mark.parametrize(
    "claim", [one for one in MATRIX if one.by == "model"], ids=lambda c: c.first
)
@pytest.mark.parametrize("verdict", [HOLDS, FAILS])
def test_models_are_found_by_their_names(tmp_path, claim, verdict) -> None:
    first, second = (name.split("|")[0].replace("*", "") for name in (claim.first, claim.second))
    good, bad = (script(lambda _, well=well: well, lambda _: 1) for well in (1, 0))
    runs = [
        model_runs(tmp_path, first, good if verdict == HOLDS else bad),
        model_runs(tmp_path, second, bad if verdict == HOLDS else good),
    ]
    (row,) = check(claim, runs)
    for run in runs:
        run.close()
    assert row["verdict"] == verdict


@pytest.mark.parametrize(("early", "late"), [(1, 0), (0, 1)])
def test_labels_that_help_early_and_hurt_late(tmp_path, early, late) -> None:
    def answer(request):
        meaning = "Ballet" in request.prompt.messages[-1].content
        step = question(request)[1]
        well = (early if step <= 10 else late) if meaning else (late if step <= 10 else early)
        labels = ("Fight", "Ballet") if meaning else ("J", "F")
        return f"Final answer: {labels[0 if well else 1]}"

    claims = [one for one in MATRIX if one.by == "labels"]
    with scripts(m=answer):
        keys = {"games": [{"game": "IBS", "labels": ["canonical", "neutral"]}], "horizon": 100}
        keys |= {"partners": "always(0)", "model": "scripted:m", "episodes": 6}
        with played(tmp_path / "run", [{"strategy": "QA"}], **keys) as run:
            found = [row for claim in claims for row in check(claim, [run])]
    assert [row["verdict"] for row in found] == [HOLDS if early else FAILS] * 2
    means = [10 * (0.1 if well else 0.9) for well in (early, late)]  # 10 a mistake
    assert [row["first_mean"] for row in found] == pytest.approx(means, abs=1)


def test_teams_and_interceptors_of_decrypto(tmp_path) -> None:
    names = {"minilm": "minilm", "wordnet": "wordnet"}
    data = {
        "domain": "decrypto",
        "players": {name: {"embedding": one} for name, one in names.items()},
        "pairings": [{"encoder": "all", "decoder": "all", "interceptor": "minilm"}],
        "episodes": 12,
    }
    claim = next(one for one in CLAIMS if one.claim.startswith("unlike embeddings"))
    with play_run(data, tmp_path / "run") as run:
        found = list(check(claim, [run]))
    assert {(row["first"], row["second"]) for row in found} == {
        (f"{a} + {b}", f"{c} + {c}") for a, b in (names, [*names][::-1]) for c in names
    }
    assert {row["verdict"] for row in found} == {HOLDS}
    # No language model plays, and nobody was asked: nothing else is checked.
    with Run(tmp_path / "run") as run:
        others = [one for one in CLAIMS if one.domain == "decrypto" and one is not claim]
        assert [row for one in others for row in check(one, [run])] == []


def test_the_command_prints_them_and_what_it_lacks(tmp_path, tomeval) -> None:
    subjects = [simulated("LM", 0.95, 0), simulated("QA", 0.6, 1), "rmax"]
    with played(tmp_path / "run", subjects):
        pass
    code, out, errors = tomeval("compare", tmp_path / "run", "--what", "claims")
    assert code == 0
    assert "LM predicts best (table 2)" in out
    assert HOLDS in out
    assert "these runs cannot tell" in errors + out
    assert "told the partner's move" in errors + out


def test_cells_that_cannot_be_told_apart_are_not_checked(tmp_path) -> None:
    subjects = [{"strategy": "QA", "persona": one} for one in ("a trader", "a monk")]
    keys = {"model": "scripted:one", "games": "IBS", "horizon": 2, "episodes": 2}
    alike = scripts(one=script(lambda _: 1, lambda _: 1))
    with alike, played(tmp_path / "run", ["rmax", *subjects], **keys) as run:
        assert [row for claim in MATRIX for row in check(claim, [run])] == []
