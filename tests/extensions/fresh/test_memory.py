"""The memory effect: hand-worked pairs, rememberers of known truth, coverage, recognition."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import tomeval
from tomeval.cli import main
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import VALID
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.responses import best_responses, stepwise_regret
from tomeval.domains.matrix.subjects.simulated import equilibrium
from tomeval.extensions.fresh.figure import memory
from tomeval.extensions.fresh.memory import (
    Pair,
    difference,
    effect,
    lines,
    paired_means,
    pairs,
)
from tomeval.extensions.fresh.recognition import (
    NAMES,
    READER,
    recognition_notes,
    recognition_rows,
    right_name,
)
from tomeval.extensions.fresh.tables import memory_notes, memory_rows, verdicts

P, Q, MEMORY = 0.8, 0.9, 0.6
GAMES = ("RPS", "stag_hunt")
PLAYER = {"subject": "s", "model": "", "strategy": "", "partners": "p", "horizon": 5, "seed": 1}


def run_of(folder, episodes, memory, by="labels", disguise="all", recognition="never"):
    """Play rememberers in two famous games and twins of them."""
    keys = {
        "games": [{"twins": {"of": list(GAMES), "seed": 1, "disguise": disguise}}],
        "partners": "single_action",
        "subjects": [
            {"kind": "rememberer", "memory": memory, "by": by, "p": P, "q": Q}
            | {"recognition": recognition}
        ],
        "horizon": 6,
        "episodes": episodes,
    }
    return tomeval.run(keys, folder)


def truth(memory: float) -> tuple[float, float]:
    """Return the true effects on regret and ToM %, by summing over all that can happen."""
    regret, right = [], []
    for name in GAMES:
        game = get_game(name)
        lost, best = stepwise_regret(game), best_responses(game)
        own, partner = equilibrium(game)
        for b in range(game.m):
            told = np.full(game.m, (1 - P) / (game.m - 1))
            told[b] = P
            rational = (best / best.sum(axis=0)) @ told
            responds = Q * rational + (1 - Q) / game.n
            regret.append(float((responds - own) @ lost[:, b]) / game.m)
            right.append(100 * float(P - partner[b]) / game.m)
    return memory * sum(regret) / len(GAMES), memory * sum(right) / len(GAMES)


def blocks(found, size):
    """Return the pairs of every block of episodes."""
    for first in range(0, len(found[0].episodes), size):
        chosen = slice(first, first + size)
        yield [
            replace(one, episodes=one.episodes[chosen], differences=one.differences[chosen])
            for one in found
        ]


def test_effect_by_hand() -> None:
    """Two games of two and three episodes; the first has two twins, averaged by episode."""
    one = _pair("A", ("labels",), [[1.0], [3.0]])
    other = _pair("A", ("story",), [[3.0], [5.0]])
    second = _pair("B", ("labels",), [[0.0], [0.0], [6.0]])
    said = effect([one, other, second], 0)
    assert said.value == pytest.approx((3.0 + 2.0) / 2)  # games count the same
    # variances of the means: A: 2 / 2 = 1; B: 12 / 3 = 4; of their mean: (1 + 4) / 4
    assert said.error == pytest.approx(np.sqrt(5 / 4))
    assert said.freedom == pytest.approx(5**2 / (1**2 / 1 + 4**2 / 2))
    assert said.units == 5
    assert np.isnan(effect([replace(one, exact=True)], 0).low)
    apart = difference(effect([second], 0), effect([one], 0))
    assert (apart.value, apart.error) == pytest.approx((0.0, np.sqrt(4 + 1)))


def _pair(game, kinds, values):
    values = np.array(values)
    both = np.concatenate([values, values], axis=1)
    known = np.zeros(len(values), dtype=bool)
    means = np.zeros((2, 2))
    return Pair(PLAYER, game, kinds, tuple(range(len(values))), both, means, known, False)


def test_a_rememberer_has_the_effect_that_it_must_have(tmp_path) -> None:
    with run_of(tmp_path / "run", 120, MEMORY) as run:
        found = pairs([run])
        for measure, true in enumerate(truth(MEMORY)):
            said = effect(found, measure)
            assert abs(said.value - true) < 4 * said.error
            assert abs(said.value) > 4 * said.error


@pytest.mark.slow
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_intervals_cover(tmp_path, memory) -> None:
    """250 samples of 24 episodes per game: 95 % cover, and without memory at most 5 % alarm."""
    with run_of(tmp_path / "run", 6000, memory) as run:
        found = pairs([run])
        for measure, true in enumerate(truth(memory)):
            made = [effect(block, measure) for block in blocks(found, 24)]
            covered = np.mean([one.low <= true <= one.high for one in made])
            print("memory", memory, "measure", measure, "covered", covered)
            assert 0.92 <= covered <= 0.98


def test_without_memory_few_alarms(tmp_path) -> None:
    with run_of(tmp_path / "run", 240, 0.0) as run:
        alarms = [effect(block, 0).p < 0.05 for block in blocks(pairs([run]), 12)]
        assert sum(alarms) <= 4  # of 20; more has a probability below 1 % at 5 %


def test_what_is_disguised_is_told_apart(tmp_path) -> None:
    kinds = ["labels", "payoffs", "order"]
    with run_of(tmp_path / "run", 60, 1.0, by="payoffs", disguise=kinds) as run:
        said = {
            line.disguised: line.effect
            for line in lines(pairs([run]))
            if line.measure == 1 and line.game == "all"
        }
        assert said["payoffs"].low > 20  # points of ToM %
        for name in ("labels", "order"):
            assert not said[name].low > 0, name


def test_recognition_splits_the_effect(tmp_path) -> None:
    with run_of(tmp_path / "run", 12, MEMORY, recognition="ends") as run:
        rows = recognition_rows(run)
        for row in rows:
            hidden = row["disguised"] != ""
            assert row["recognised_percent"] == (0 if hidden else 100)
            assert row["none_percent"] == (100 if hidden else 0)
            assert row["other_name_percent"] == 0
        assert {(row["round"], row["partners"]) for row in rows} == {
            (1, "single_action"),
            (6, "single_action"),
        }
        found = pairs([run])
        assert "100 % of episodes" in memory_notes(found)[1]
        assert not any("recognised" in line.disguised for line in lines(found))
    first = np.arange(12) < 6
    split = [replace(one, known=first) for one in found]
    said = {line.disguised: line.effect for line in lines(split) if line.measure == 0}
    for label, chosen in (("recognised", first), ("not recognised", ~first)):
        kept = [
            replace(
                one,
                episodes=tuple(np.array(one.episodes)[chosen]),
                differences=one.differences[chosen],
            )
            for one in found
        ]
        assert said[label] == effect(kept, 0)
    apart = said["recognised less not recognised"]
    assert apart.value == pytest.approx(said["recognised"].value - said["not recognised"].value)


def test_holm_covers_all_rows_of_a_measure(tmp_path) -> None:
    with run_of(tmp_path / "run", 30, MEMORY) as run:
        rows = [row for row in memory_rows(pairs([run])) if row["measure"] == "tom_percent"]
        p = sorted(row["p"] for row in rows)
        assert min(row["p_holm"] for row in rows) == pytest.approx(len(rows) * p[0])


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Final answer: Prisoner's Dilemma", "prisoner's dilemma"),
        ("Final answer: the iterated game", None),
        ("Final answer: the Prisoner’s Dilemma", "prisoner's dilemma"),
        ("It is old.\nFinal answer: **Hawk-Dove**", "chicken"),
        ("Final answer: The stag hunt game", "stag hunt"),
        ("Final answer: rock, paper, scissors", "rock paper scissors"),
        ("Final answer: none", "none"),
        ("Final answer: I don’t recognise it", "none"),
        ("Final answer: It has no name.", "none"),
        ("Final answer: N/A", "none"),
        ("Final answer: This is the Prisoner's Dilemma (a classic game)", "prisoner's dilemma"),
        ("Final answer: the iterated prisoners’ dilemma", "prisoner's dilemma"),
        ("Final answer: Rock–Paper–Scissors", "rock paper scissors"),
        ("Final answer: not the prisoner's dilemma", None),
        ("Final answer: a variant of chicken", None),
        ("Final answer: No. It is a twist on chicken.", None),
        ("<think>Chicken? Final answer: chicken", None),
        ("Final answer: Ultimatum game", None),
        ("Final answer: chicken or stag hunt", None),
    ],
)
def test_names_are_read_strictly(answer, name) -> None:
    read = READER.read(answer, "stop")
    if name is None:
        assert read.outcome != VALID
    else:
        assert NAMES[read.value].name == name


def test_right_names() -> None:
    said = {game: NAMES[right_name(get_game(game))].name for game in ("IPD", "IBS", "RPS")}
    assert said == {
        "IPD": "prisoner's dilemma",
        "IBS": "battle of the sexes",
        "RPS": "rock paper scissors",
    }
    assert NAMES[right_name(get_game("harmony"))].name == "harmony"


def test_a_model_is_asked_aside(tmp_path, capsys, monkeypatch) -> None:
    keys = {
        "games": [{"twins": {"of": "IPD", "disguise": "story", "stories": "orchards"}}],
        "subjects": [{"strategy": "QA", "recognition": "ends", "model": "scripted:says.json"}],
        "partners": "tit_for_tat",
        "horizon": 2,
        "episodes": 1,
    }
    (tmp_path / "says.json").write_text(json.dumps(["Final answer: chicken"] * 200))
    keys["on_invalid"] = "random"
    monkeypatch.chdir(tmp_path)
    with tomeval.run(keys, tmp_path / "run") as run:
        rows = recognition_rows(run)
        assert [row["other_name_percent"] for row in rows] == [100] * 4
        assert [row["recognised_percent"] for row in rows] == [0] * 4
    monkeypatch.setattr("sys.argv", ["tomeval", "compare", "run", "--what", "memory"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert "memory effect" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "none", "unlisted"),
    [("I don't know", 100, 0), ("the ultimatum game", 0, 100), ("a 2x2 game", 0, 100)],
)
def test_what_is_no_name_of_the_list_is_no_other_name(
    tmp_path, monkeypatch, answer, none, unlisted
) -> None:
    keys = {
        "games": [{"fresh": {"seed": 1, "count": 1}}],
        "subjects": [{"strategy": "QA", "recognition": "first", "model": "scripted:says.json"}],
        "horizon": 1,
        "episodes": 1,
        "on_invalid": "random",
    }
    (tmp_path / "says.json").write_text(json.dumps([f"Final answer: {answer}"] * 200))
    monkeypatch.chdir(tmp_path)
    with tomeval.run(keys, tmp_path / "run") as run:
        (row,) = recognition_rows(run)
        notes = recognition_notes(run)
    said = [row[f"{name}_percent"] for name in ("other_name", "none", "unlisted")]
    assert said == [0, none, unlisted]
    assert "0 % gave one of the list" in notes[-1]


def test_who_was_not_asked_did_not_fail_to_recognise(tmp_path) -> None:
    kind = {"kind": "rememberer", "memory": 1.0}
    keys = {
        "games": [{"twins": {"of": "RPS", "disguise": "labels"}}],
        "partners": "single_action",
        "subjects": [kind | {"name": "asked", "recognition": "first"}, kind | {"name": "not"}],
        "horizon": 2,
        "episodes": 3,
    }
    with tomeval.run(keys, tmp_path / "run") as run:
        notes = [note for note in memory_notes(pairs([run])) if "recognised" in note]
    assert notes == ["asked: recognised the famous game in 100 % of episodes"]


def test_means_are_over_the_episodes_of_the_difference() -> None:
    """An episode without a prediction has no difference, and moves neither mean."""
    sides = [np.array([[1.0, 50.0], [3.0, np.nan]]), np.array([[2.0, 70.0], [6.0, 90.0]])]
    assert paired_means(sides).tolist() == [[2.0, 50.0], [4.0, 70.0]]
    assert np.isnan(paired_means([np.full((2, 2), np.nan)] * 2)).all()


def test_verdicts_say_it_in_words(tmp_path) -> None:
    """Constant twins cost more, less, or nothing that is told from 0."""
    rng = np.random.default_rng(3)
    for shift, words in (
        (1.0, "plays worse in disguise: memory helped, or the disguise is hard to read"),
        (-1.0, "plays better in disguise: memory misled it"),
    ):
        one = _pair("A", ("labels",), shift + rng.normal(0, 0.1, (12, 1)))
        assert verdicts([one]) == [f"s: {words} (disguised: labels)"]
        (said,) = verdicts([replace(one, exact=True)])
        assert "which cannot be tested" in said
    none = _pair("A", ("labels",), np.array([[-1.0], [1.0], [-1.0], [1.0]]))
    (said,) = verdicts([none])
    assert said == "s: no significant effect of memory on regret: 0.000 [-1.837, 1.837] per step"


def test_the_figure_says_it_too(tmp_path) -> None:
    with run_of(tmp_path / "run", 30, 1.0, disguise=["labels", "order"]) as run:
        (drawn,) = memory(run)
        assert verdicts(pairs([run]))[0] in drawn.caption
        assert "labels: ToM %" in drawn.description
    with run_of(tmp_path / "one", 4, 1.0, disguise="labels") as run:
        shown = [line for line in lines(pairs([run])) if line.game == "all"]
        assert [line.disguised for line in shown] == ["labels", "labels"]  # a row a measure
        assert "labels: ToM %" in memory(run)[0].description


def test_no_twin_is_one_line(tmp_path) -> None:
    with (
        tomeval.run(
            {"games": ["IPD"], "subjects": ["random"], "horizon": 2}, tmp_path / "r"
        ) as run,
        pytest.raises(TomevalError, match="no twin was played together with its game"),
    ):
        pairs([run])
