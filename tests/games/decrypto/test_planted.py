"""Planted beliefs in Decrypto: a guess of Eve's that is right as often as was set."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from asking import query
from decrypto_support import Logged, everything, experiment, play, said, table
from support import scripts

from tomeval.games.decrypto.game import CODES, Rules
from tomeval.games.decrypto.played import Planted, plant_guess
from tomeval.games.decrypto.scripts import play_decrypto
from tomeval.games.decrypto.seats import ROLES
from tomeval.games.decrypto.tables import table_rows
from tomeval.play.runner import run_experiment
from tomeval.runs.results import Run

CODE = (2, 4, 1)


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 1.0])
def test_a_wrong_guess_is_wrong_about_the_interception(accuracy) -> None:
    grid = (np.arange(100) + 0.5) / 100
    for eve in (CODE, (1, 2, 3)):
        drawn = [plant_guess(eve, CODE, accuracy, *u) for u in itertools.product(grid, grid)]
        right = sum(one == eve for one in drawn) / len(drawn)
        assert right == pytest.approx(accuracy)
        wrong = {one for one in drawn if one != eve}
        if accuracy < 1:
            assert wrong == (set(CODES) - {CODE} if eve == CODE else {CODE})


def planted(accuracy, warned, intercepts, decodes, changed) -> Planted:
    flags = (np.array(column, dtype=bool) for column in (warned, intercepts, decodes, changed))
    return Planted(np.array(accuracy, dtype=float), *flags)


def test_each_turn_estimates_the_use_slope_whatever_alice_knows() -> None:
    """Enumerates statements and decisions of an Alice who also knows whether Eve intercepts."""
    rng = np.random.default_rng(0)
    for accuracy, intercepts in itertools.product((0.2, 0.5, 0.9), (False, True)):
        chance_of_change = rng.random(2)  # by warned
        found = 0.0
        for warned, changed in itertools.product((False, True), repeat=2):
            drawn = accuracy if warned == intercepts else 1 - accuracy
            acts = chance_of_change[warned] if changed else 1 - chance_of_change[warned]
            one = planted([accuracy], [warned], [intercepts], [True], [changed])
            found += drawn * acts * float(one.slope[0])
        assert found == pytest.approx(chance_of_change[1] - chance_of_change[0])


def test_hand_values() -> None:
    # Warned rightly and wrongly; told rightly and wrongly that all is well; nothing told.
    told = planted(
        [0.5, 0.5, 0.5, 0.5, math.nan],
        [True, True, False, False, False],
        [True, False, False, True, False],
        [True, True, True, True, True],
        [True, False, False, False, True],
    )
    best = np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    hits, among = told.complied(best)
    assert among.tolist() == [True, True, True, True, False]
    assert hits.tolist() == [True, False, True, True, False]
    assert told.right.tolist() == [True, False, True, False, False]
    assert told.slope[:4].tolist() == [2.0, 0.0, 0.0, 0.0]
    acting = told.acting(best)  # warned: nothing is lost; else best less the draft's value
    assert acting[:4].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert math.isnan(acting[4])
    # Where no hints are worth anything, a warning asks for nothing.
    assert not told.complied(np.zeros(5))[1][:2].any()
    # Without the search every warning counts, and no regret is known.
    assert told.complied(np.full(5, np.nan))[1][:2].all()
    assert np.isnan(told.acting(np.full(5, np.nan))).all()


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_always_right_or_wrong_there_is_no_slope(accuracy) -> None:
    assert np.isnan(planted([accuracy], [True], [True], [True], [True]).slope).all()


def test_alice_reads_what_is_stated_and_eves_true_guess_is_kept() -> None:
    for accuracy, guess in ((100, "1-2-3"), (0, "2-4-1")):
        found = {role: Logged(everything) for role in ROLES}
        options = {"strategy": {"encoder": f"Belief {accuracy}% (stranger, rated)"}}
        turn = play(table(found, every=options, rules=Rules(turns=1))).turns[0]
        draft, final = found["encoder"].texts()
        assert "stranger" not in draft
        assert (
            f"A stranger tells you that for these Eve will guess {guess}. Such predictions of the "
            f"stranger are right in {accuracy}% of all turns. You may give" in final
        )
        facts = turn.details["encoder"]
        assert turn.told
        assert facts["draft_eve"] == (1, 2, 3)
        assert facts["belief"]["right"] == (accuracy == 100)
        assert facts["belief"]["accuracy"] == accuracy / 100


def test_an_alice_of_known_use_is_recovered(tmp_path) -> None:
    """She gives other hints if and only if she is warned: a slope of 1, and all she is told."""

    def heeds(request):
        question = request.prompt.messages[-1].content
        answer = play_decrypto(request)
        if '{"hints"' not in question or "You think that" not in question:
            return answer
        stated = question.split("Eve will guess ")[1][:5]
        code = question.split("The code is ")[1][:5]
        return said("hints", ["qux", "zap", "vim"]) if stated == code else answer

    pairing = {"encoder": "heeds", "decoder": "minilm", "interceptor": "minilm"}
    strategy = {"encoder": "Belief 60% (own)"}
    with scripts(heeds=heeds):
        made = experiment(
            players={
                "heeds": {"model": "scripted:heeds", "strategy": strategy},
                "minilm": {"embedding": "minilm"},
            },
            pairings=[pairing],
            episodes=25,
            probes={},
        )
        run_experiment(made, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        assert {"use_slope", "delta_statement_per_turn"} <= set(run.measures)
        assert "planted" in run.tables
        assert [n for n, table in run.tables.items() if table.reported(run)] == ["planted"]
        [row] = table_rows("planted", run)
        [cell] = run.cells
        told = cell.played.planted
        facts = [
            json.loads(text)
            for (text,) in query(run, "SELECT json_extract(details, '$.encoder') FROM step_records")
        ]
    assert row["compliance_right_percent"] == 100
    assert row["compliance_wrong_percent"] == 100
    low, high = (row["use_slope"] + sign * row["use_slope_ci95"] for sign in (-1, 1))
    assert low <= 1 <= high
    assert len(told.accuracy) == len(facts)
    assert [fact["belief"]["right"] for fact in facts] == told.right.tolist()
