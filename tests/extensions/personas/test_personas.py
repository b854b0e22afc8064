"""Partners that are persons: what is told and kept, and players of known truth."""

from __future__ import annotations

import math
import re
from functools import partial

import numpy as np
import pytest
from support import scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.fresh.twins import twin_partners
from tomeval.extensions.personas import differ, notes, pairs, rows
from tomeval.extensions.personas.worth import worth_of_knowing
from tomeval.games.matrix.games import Disguise, get_game
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.results import matrix_cells
from tomeval.strategies.asking import flatten

RPS, IPD = get_game("RPS"), get_game("IPD")
WHO = ("a quarry owner", "a paper maker", "a tailor")
EACH = [{"partner": f"always({k})", "persona": who} for k, who in enumerate(WHO)]
TELLS = ("true", "swapped", "withheld")
SET = {"partners": EACH, "name": "trades", "tell": list(TELLS)}
LABELS = RPS.label_set("neutral").own
T = 4


def told_in(text: str) -> str | None:
    found = re.search(r"Who the other player is: (.*)", text)
    return found and found[1]


def obeys(request):
    """Take the persona's word; told nothing, expect the partner's last action again, first 0."""
    text = flatten(request.prompt)
    seen = re.findall(r"other player chose (\w)", text)
    who = told_in(text)
    expected = WHO.index(who) if who else LABELS.index(seen[-1]) if seen else 0
    return answer(request, expected)


def draws(request):
    """Be as likely to expect anything, whatever is told."""
    chance = np.random.default_rng([request.seed, *flatten(request.prompt).encode()])
    return answer(request, chance.integers(3))


def answer(request, expected):
    asked = request.prompt.messages[-1].content.rpartition("\n\n")[2]
    predicts = "will the other player" in asked
    return f"Final answer: {LABELS[expected if predicts else (expected + 1) % 3]}"


def calls_of(cell, episode):
    return list(cell.store.calls(cell.number, episode))


def experiment(model="scripted:obeys", partners=SET, **more):
    data = {"games": "RPS", "labels": "neutral", "horizon": T, "episodes": 30, "seed": 5}
    data |= {"subjects": [{"strategy": "QA", "model": model}], "partners": [partners]}
    return data | more


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    known = {"obeys": obeys, "draws": draws}
    models = [f"scripted:{name}" for name in known]
    data = experiment(models) | {"subjects": [{"strategy": "QA", "model": models}, "rmax"]}
    with scripts(**known), tomeval.run(data, tmp_path_factory.mktemp("told") / "run") as run:
        yield run


def test_who_obeys_shows_what_follows_by_hand(played) -> None:
    found = [row for row in rows(played) if row["model"] == "scripted:obeys"]
    assert [(row["told"], row["persona"]) for row in found] == [
        (f"true - {tell}", who) for tell in TELLS[1:] for who in ("all", *WHO)
    ]
    # Swapped: always wrong, so knows is -50; the best reply to what beats the partner loses to it.
    for row in found[:4]:
        values = row["knows_change_percent"], row["plays_change_percent"], row["regret_change"]
        assert values == (150, 200, -2)
    # Withheld: one step tells all. Paper is met by Paper first, Scissors beaten, Rock not.
    one = 100 - 100 * (3 - 4 / 3) / (4 - 4 / 3)
    for row, knows, regret in zip(found[5:], (0, one, one), (0, -1 / 4, -2 / 4), strict=True):
        assert row["knows_change_percent"] == pytest.approx(knows)
        assert row["regret_change"] == pytest.approx(regret)
        assert row["plays_change_percent"] == pytest.approx(-100 * regret)
    met = [row["episodes"] for row in found[5:]]
    assert found[4]["episodes"] == sum(met) == 30
    mean = (0 * met[0] - met[1] / 4 - met[2] * 2 / 4) / 30
    assert found[4]["regret_change"] == pytest.approx(mean)
    assert {row["members_differ_percent"] for row in found} == {100}
    assert {row["worth_per_step"] for row in found} == {0.25}
    assert found[0]["regret_change_ci95_low"] == -2  # the two sides cannot be farther apart
    assert found[0]["regret_change_ci95_high"] > -2


def test_who_is_not_moved_shows_nothing(played) -> None:
    found = [row for row in rows(played) if row["model"] == "scripted:draws"]
    assert len(found) == 8
    for row in found[::4]:
        for name in ("knows_change_percent", "plays_change_percent", "regret_change"):
            assert row[f"{name}_ci95_low"] < 0 < row[f"{name}_ci95_high"]
            assert row[f"{name}_ci95"] > 0
    assert not any(row["subject"] == "rmax" for row in rows(played))


def test_a_player_reads_what_is_told_and_nothing_else(played) -> None:
    following = dict(zip(WHO, (*WHO[1:], WHO[0]), strict=True))
    for cell in matrix_cells(played):
        if cell.player == "rmax":
            continue
        for record in cell.store.records(cell.number):
            true = WHO[record.own["partner"]]
            expected = {"true": true, "swapped": following[true]}.get(cell.told.tell)
            texts = [call["prompt_rest"] for *_, call in calls_of(cell, record.episode)]
            assert told_in(texts[0]) == expected
            for said in texts:
                assert not re.search("always|trades|swapped|withheld", said)
                assert not any(who in said for who in WHO if who != expected)
            assert cell.shown_episode(record.episode, [record.own["partner"]]) == {
                "partner": f"always({record.own['partner']})",
                "told_partner_persona": expected or "",
                "told_frame": "",
            }


def test_telling_changes_no_chance_and_withheld_is_the_plain_set(played, tmp_path) -> None:
    plain = {"partners": [one["partner"] for one in EACH]}
    with scripts(obeys=obeys), tomeval.run(experiment(partners=plain), tmp_path / "run") as run:
        [cell] = matrix_cells(run)
        told = {one.told.tell: one for one in matrix_cells(played) if "obeys" in one.own_model}
        held = told["withheld"]
        every = zip(*(one.store.records(one.number) for one in (cell, held)), strict=True)
        for record, other in every:
            assert (record.own, record.columns) == (other.own, other.columns)
            asked, same = (calls_of(one, record.episode) for one in (cell, held))
            assert asked == same
        assert all((cell.which == one.which).all() for one in told.values())
        assert cell.draws == told["true"].draws
        assert cell.definition["templates"] == told["withheld"].definition["templates"]
        assert cell.definition["templates"] != told["true"].definition["templates"]
    rmax = [one for one in matrix_cells(played) if one.player == "rmax"]
    assert len({tuple(one.played.own.tolist()) for one in rmax}) == 1
    # Three tasks of the same chance are one sample, not three.
    pooled = tomeval.compare(played, by="model", metrics=["knows"])
    assert pooled.pairs[0].tolist() == [30]


def test_what_is_kept_comes_back(played) -> None:
    for cell in matrix_cells(played):
        told, tables = cell.definition["partners"]["told"], cell.setup.tables
        assert tables.told == cell.told
        assert tables.chance == "always(0) + always(1) + always(2)"
        assert [one["partner_persona"] for one in told["true"]] == list(WHO)
    assert [cell.columns["partners"] for cell in matrix_cells(played)][::3] == [
        "trades, told true",
        "trades, told swapped",
        "trades, told nothing",
    ]
    assert len(notes(played)) == 2


def test_one_partner_a_frame_and_nothing_to_compare(tmp_path) -> None:
    one = {"partner": "tit_for_tat", "persona": "one who pays back", "frame": "business"}
    found = get_partner_set(one, IPD)
    assert found.name == "tit_for_tat, told one who pays back; business"
    [partner] = found.partners
    assert found.said(partner) == {"partner_persona": "one who pays back", "frame": "business"}
    sure = {"strategy": "LM", "decide": "argmax"}
    data = {"games": "IPD", "model": "pocket", "subjects": sure, "horizon": 3}
    with tomeval.run(data | {"partners": [one]}, tmp_path / "run") as run:
        [cell] = run.cells
        prompt = calls_of(cell, 0)[0][3]["prompt_rest"]
        assert prompt.index("You manage a firm") < prompt.index(
            "Who the other player is: one who pays back"
        )
        assert "personas" in run.tables
        assert not rows(run)
        assert notes(run)[0].startswith("nothing to compare")
    both = {"partners": [one | {"tell": ["true", "withheld"]}]}
    with tomeval.run(data | both, tmp_path / "both") as run:  # nothing is drawn: exact
        [row] = rows(run)
        assert (row["persona"], row["episodes"], row["worth_per_step"]) == (one["persona"], 1, 0)
        assert math.isnan(row["regret_change_ci95"])
        assert math.isfinite(row["regret_change"])


def test_pairs_that_are_lost_are_said(tmp_path, request) -> None:
    def mute(asked):
        return "?" if told_in(flatten(asked.prompt)) == WHO[0] else obeys(asked)

    data = experiment("scripted:mute", episodes=6, stop_after_voids=0)
    data["subjects"][0]["max_attempts"] = 1
    with scripts(mute=mute):
        tomeval.run(data, tmp_path / "run").close()
    told = request.getfixturevalue("tomeval")("table", tmp_path / "run", "--what", "personas")
    assert re.search(r"\d of 18 episodes are void or failed", told[2])


def test_what_cannot_be_known_is_empty_and_said(tmp_path, monkeypatch) -> None:
    """Two episodes meet two partners of three at most; and a set that leaves too many beliefs."""
    data = experiment(partners=SET | {"tell": ["true", "swapped"]}, episodes=2)
    with scripts(obeys=obeys), tomeval.run(data, tmp_path / "run") as run:
        found = rows(run)
        unmet = [row for row in found if not row["episodes"]]
        assert unmet
        for name in ("knows_change_percent", "regret_change", "members_differ_percent"):
            assert all(math.isnan(row[name]) for row in unmet)
        assert math.isnan(found[0]["regret_change_ci95"])  # fewer than five
        few = partial(worth_of_knowing, most=2)
        monkeypatch.setattr("tomeval.extensions.personas.worth_of_knowing", few)
        assert all(math.isnan(row["worth_per_step"]) for row in rows(run))
        assert notes(run)[2].startswith("worth per step –: more than")


def test_on_which_steps_partners_would_differ(tmp_path) -> None:
    """Tit for tat, and who defects from the second step on: they differ after cooperation."""
    both = {"partners": ["tit_for_tat", "switcher(0, 1, k=2)"]}
    data = {"games": "IPD", "subjects": {"kind": "random"}, "partners": both, "episodes": 6}
    with tomeval.run(data | {"horizon": 5}, tmp_path / "run") as run:
        [cell] = matrix_cells(run)
        own = cell.played.own.reshape(-1, 5)
        expected = np.concatenate([np.zeros((len(own), 1)), own[:, :-1] == 0], axis=1)
        assert differ(cell.played).reshape(-1, 5).tolist() == expected.tolist()
        assert not list(pairs(run))


def test_sets_that_are_made_of_others_keep_what_is_told() -> None:
    told = get_partner_set(SET | {"tell": "swapped"}, RPS)
    disguise = Disguise("RPS", ("order",), (1, 0, 2), (1, 0, 2), (1.0, 1.0), (0.0, 0.0))
    assert twin_partners(told, disguise).told == told.told


@pytest.mark.parametrize(
    ("partners", "said"),
    [
        (SET | {"tell": "false"}, "tell: input should be 'true', 'swapped' or 'withheld'"),
        ({"partners": ["always(0)", EACH[1]]}, "either all of its partners have a persona"),
        ({"partners": ["always(0)"], "tell": "true"}, "tell needs partners with a persona"),
        ({"partners": [{"partner": "always(0)"}]}, r"partners\[0\]: missing key 'persona'"),
        (
            {"partners": [EACH[0] | {"persna": "x"}]},
            r"unknown key 'persna' \(did you mean 'persona",
        ),
        (EACH[0] | {"persona": "none"}, "must say who the other player is, is 'none'"),
        (EACH[0] | {"persona": "two\nlines"}, "persona must be one line"),
        (EACH[0] | {"tell": "swapped"}, "partner 1 would be told as it is"),
        (EACH[0] | {"tell": []}, "tell is an empty list"),
        (EACH[0] | {"frame": "busines"}, r"unknown frame 'busines' \(did you mean 'business'"),
        (EACH[0] | {"partner": "always(7)"}, "7 is not an action index"),
    ],
)
def test_what_cannot_be_told_is_named(partners, said) -> None:
    with scripts(obeys=obeys), pytest.raises(TomevalError, match=said):
        tomeval.make_experiment(experiment(partners=partners)).cells  # noqa: B018


@pytest.mark.parametrize("tell", TELLS)
def test_only_one_of_the_two_says_who_it_is(tell) -> None:
    subject = {"strategy": "QA", "model": "pocket", "partner_persona": "a trader"}
    data = experiment(partners=SET | {"tell": tell}, subjects=[subject])
    with pytest.raises(TomevalError, match="partner_persona is said by the subject and by the par"):
        tomeval.make_experiment(data).cells  # noqa: B018
    # A frame is the subject's own where no partner has one.
    free = {"strategy": "QA", "model": "pocket", "frame": "friends"}
    assert tomeval.make_experiment(experiment(partners=SET, subjects=[free])).cells
