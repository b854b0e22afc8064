"""Lists of a player's options are axes: one player each, and levels that are paired on one deal."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tomeval
from tomeval import run as tomeval_run
from tomeval.core.errors import TomevalError
from tomeval.games.players import swept
from tomeval.runs.experiment import make_experiment

WAYS = ["LM", "QA", "CoT", "S2A", "Reflexion 1", "Social QA", "Plans + Insights"]
AXES = {
    "strategy": st.lists(st.sampled_from(WAYS), min_size=1, max_size=4, unique=True),
    "memory": st.lists(st.sampled_from(["restated", "conversation"]), min_size=1, unique=True),
    "max_tokens": st.lists(st.integers(1, 99), min_size=1, max_size=3, unique=True),
    "temperature": st.just(0.5),
}


@given(st.fixed_dictionaries(AXES))
def test_every_combination_is_one_player_with_a_name_of_its_own(entry) -> None:
    players = list(swept("p", entry))
    lists = [value if isinstance(value, list) else [value] for value in entry.values()]
    expected = [dict(zip(entry, values, strict=True)) for values in itertools.product(*lists)]
    assert [options for _, options in players] == expected
    names = [name for name, _ in players]
    assert len({*names}) == len(names)
    if len(names) == 1:
        assert names == ["p"]
    for name, options in players:
        for key, value in entry.items():
            swept_key = isinstance(value, list) and len(value) > 1
            assert (f"{key}={options[key]}" in name) == swept_key


def arena(**more):
    player = {"model": "scripted:arena", "strategy": ["QA", "CoT", "S2A + CoT"]}
    lineups = [{"game": "blotto", "subject": "m", "others": "uniform"}]
    players = {"m": player, "uniform": {"kind": "uniform"}}
    return {"domain": "arena", "episodes": 8, "players": players, "lineups": lineups, **more}


def decrypto(**more):
    player = {"model": "scripted:decrypto", "strategy": ["QA", "CoT", "S2A + CoT"]}
    pairings = [{"encoder": "m", "decoder": "m", "interceptor": "minilm"}]
    players = {"m": player, "minilm": {"embedding": "minilm"}}
    return {"domain": "decrypto", "episodes": 6, "players": players, "pairings": pairings, **more}


def test_one_name_is_one_player_in_all_seats_of_a_line_up() -> None:
    cells = make_experiment(decrypto()).cells
    assert [cell.names for cell in cells] == [
        (name, name, "minilm")
        for name in ("m(strategy=QA)", "m(strategy=CoT)", "m(strategy=S2A + CoT)")
    ]
    lineups = [{"game": "mafia", "subject": "m", "others": [["m", "m", "m", "f", "f"]]}]
    players = {"m": arena()["players"]["m"], "f": {"kind": "follower"}}
    cells = make_experiment(arena(lineups=lineups, players=players)).cells
    assert [len({*cell.names}) for cell in cells] == [2, 2, 2]
    one = [{"encoder": "m(strategy=CoT)", "decoder": "minilm", "interceptor": "m"}]
    cells = make_experiment(decrypto(pairings=one)).cells
    assert {cell.names[0] for cell in cells} == {"m(strategy=CoT)"}
    assert len(cells) == 3


@pytest.mark.parametrize("data", [arena, decrypto])
def test_the_default_strategy_and_the_models_can_be_axes(data) -> None:
    players = data()["players"] | {"m": {"kind": "llm"}}
    spec = data()["players"]["m"]["model"]
    own = {"players": players, "strategy": ["QA", "CoT"]}
    assert len(make_experiment(data(**own, model=spec)).cells) == 2
    players["m"] = {"model": [spec, "pocket"]}
    names = {cell.names[0] for cell in make_experiment(data(**own)).cells}
    assert names == {f"m(model={m}, strategy={s})" for m in (spec, "pocket") for s in ("QA", "CoT")}


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (["QA", "qa"], "the name 'm(strategy=QA)' is taken"),
        ([], "strategy is an empty list"),
        (["QA", "QAA"], "strategy 'QAA' cannot be read"),
    ],
)
def test_axes_that_cannot_be_are_one_line(strategy, said) -> None:
    players = decrypto()["players"] | {"m": {"model": "scripted:decrypto", "strategy": strategy}}
    with pytest.raises(TomevalError) as caught:
        make_experiment(decrypto(players=players), where="x.toml")
    assert str(caught.value).startswith("x.toml: players")
    assert said in str(caught.value)


@pytest.mark.parametrize(("data", "units"), [(arena, 4), (decrypto, 6)])
def test_strategies_are_compared_on_equal_deals(data, units, tmp_path) -> None:
    with tomeval.run(data(), tmp_path / "run") as run:
        dealt = [
            [json.dumps(record.own.get("keywords", record.own["deal"])) for record in records]
            for records in (run.store.records(cell.number) for cell in run.cells)
        ]
        assert dealt[0] == dealt[1] == dealt[2]
        by = {
            "strategy": ("QA", ("CoT", "S2A + CoT"), units),
            "context": ("full", ("s2a",), units),
            "answer": ("qa", ("cot",), units),
        }
        for name, (baseline, levels, pairs) in by.items():
            found = tomeval.compare(run, name, resamples=99)
            assert (found.baseline, found.levels) == (baseline, levels)
            assert found.pairs[0].tolist() == [pairs] * len(levels)
        with pytest.raises(TomevalError, match="only one advice was played"):
            tomeval.compare(run, "advice")
        parts = [[cell.facts[n] for n in ("context", "advice", "answer")] for cell in run.cells]
        assert parts == [["full", "none", "qa"], ["full", "none", "cot"], ["s2a", "none", "cot"]]
        for what in ("steps", "episodes"):
            columns, rows = tomeval.runs.results.iterate_export(run, what)
            at = [columns.index(n) for n in ("strategy", "context", "advice", "answer")]
            assert {tuple(row[i] for i in at) for row in rows} == {
                (name, *mine) for name, mine in zip(("QA", "CoT", "S2A + CoT"), parts, strict=True)
            }
        assert [row["answer_part"] for row in run.rows()] == ["qa", "cot", "cot"]


def test_rows_that_differ_in_a_setting_alone_show_it(tmp_path, tomeval) -> None:
    player = {"kind": "planner", "error_rate": 0.5}
    data = {
        "domain": "arena",
        "episodes": 6,
        "attempts": 1,
        "on_invalid": ["forfeit", "random"],
        "games": {"g": {"game": "ipd3", "rounds": 2, "talk": 0}},
        "players": {"p": player, "t": {"kind": "tit_for_tat"}},
        "lineups": [{"game": "g", "subject": "p", "others": "t"}],
    }
    tomeval_run(data, tmp_path / "run").close()
    code, said, notes = tomeval("table", tmp_path / "run")
    assert code == 0
    assert all(said.count(name) == 1 for name in ("on_invalid", "forfeit", "random"))
    assert "knows used and reads (--all) decide it" in notes
    assert "The player broke the rules for good, which has no regret: plays is by rewards" in notes
