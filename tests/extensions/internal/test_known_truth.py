"""Compiled models: site, selectivity and use come out as their weights have it; rows stay."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.internal import reading
from tomeval.extensions.internal.chain import shares, sites, verdict
from tomeval.extensions.internal.measures import _followed
from tomeval.extensions.internal.network import WIDTH
from tomeval.models import open_model
from tomeval.plots import draw
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import load_experiment, make_experiment
from tomeval.runs.file_schema import experiment_schema
from tomeval.runs.results import Run

KINDS = ("uses", "idle", "elsewhere", "blind")
EXPERIMENT = {
    "games": ["RPS"],
    "partners": "single_action",
    "labels": "canonical",
    "horizon": 3,
    "episodes": 18,
    "model": [f"compiled:{kind}" for kind in KINDS],
    "subjects": [
        # Without rewards: their lengths tell moves apart by where a prompt's last token stands.
        {"kind": "llm", "name": "LM", "strategy": "LM -Rewards", "option_order": "shuffled"}
    ],
    "internal": {"folds": 3, "pairs": 8},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("internal") / "run"
    tomeval.run(EXPERIMENT, path).close()
    return path


@pytest.fixture(scope="module")
def told(folder):
    with Run(folder) as run:
        found = {kind: reading.found(cell) for kind, cell in zip(KINDS, run.cells, strict=True)}
        return {
            kind: (one, verdict(cell, one, "next_move"))
            for (kind, one), cell in zip(found.items(), run.cells, strict=True)
        }


def test_the_chain_breaks_where_the_weights_break_it(told) -> None:
    assert {kind: said for kind, (_, said) in told.items()} == {
        "uses": "held, used",
        "idle": "held, not used",
        "elsewhere": "held, used elsewhere (moves, layer 1)",
        "blind": "not held",
    }


@pytest.mark.slow
def test_the_embedded_models_are_ordered(tmp_path) -> None:
    tomeval.run(load_experiment("internal_quickstart"), tmp_path).close()
    with Run(tmp_path) as run:
        main, rational = ((cell, reading.found(cell)) for cell in run.cells)
        assert verdict(*main, "next_move") == "held, used"
        assert verdict(*rational, "next_move").startswith("held, used elsewhere (moves")
        held = [np.mean(one.held["next_move"].of("holds")) for _, one in (main, rational)]
        assert held[0] < held[1]


def test_the_belief_is_read_where_block_2_writes_it_and_nowhere_below(told) -> None:
    for kind in ("uses", "idle", "elsewhere"):
        found = told[kind][0]
        held = found.held["next_move"]
        assert min(layer for layer, _ in held.chosen) == 2, kind
        assert np.mean(held.of("holds")) == 100
        assert np.mean(held.of("internal_regret")) == 0
        assert np.mean(held.of("shuffled")) < 60
        assert found.off < 1e-5
    blind = told["blind"][0].held["next_move"]
    assert blind.p > 0.05
    assert np.mean(blind.of("holds")) < 70


def test_exchanges_follow_where_the_next_block_reads(told) -> None:
    def at(kind, question, position):
        followed = shares(told[kind][0])
        return [round(followed[question, position, layer, "twin"].share, 6) for layer in range(4)]

    # Moves are read by block 2 alone, after block 1 has found them; in `elsewhere` by block 3 too.
    assert at("uses", "act", "moves") == [1, 1, 0, 0]
    assert at("uses", "act", "last") == [0, 0, 1, 1]
    assert at("elsewhere", "act", "moves") == [1, 1, 1, 0]
    assert at("elsewhere", "act", "last") == [0, 0, 0, 1]
    assert at("elsewhere", "predict", "last") == at("uses", "act", "last")
    assert told["idle"][0].apart["act"] == 0
    assert at("idle", "predict", "last") == [0, 0, 1, 1]


def test_the_measure_of_use_is_where_the_table_has_it(folder, told) -> None:
    # Probed at the last layer, whose state decides alone: the one below is looked at.
    elsewhere = told["elsewhere"][0]
    held = replace(elsewhere.held["next_move"], chosen=[(3, 0.1)] * 3)
    probed = replace(elsewhere, held={"next_move": held})
    with Run(folder) as run:
        totals = _followed(run.cells[2].played, probed)
    assert sites(probed, "next_move")[0].share.share == totals.top.sum() == 0


def test_taking_the_belief_out_costs_only_whom_it_serves(told) -> None:
    lost = {
        kind: np.mean(np.subtract(taken["read"], taken["before"]))
        for kind, (found, _) in told.items()
        for taken in [found.held["next_move"].ablated]
    }
    assert lost["uses"] > 0.3
    assert lost["idle"] == lost["elsewhere"] == lost["blind"] == 0


def test_states_are_kept_by_step_and_position(folder, told) -> None:
    tensors = load_file(folder / "internal" / "cell_0.safetensors")
    assert set(tensors) == {"act", "predict", "moves", "episode", "step", "layer"}
    assert tensors["act"].shape[:2] == tensors["moves"].shape[:2] == (36, 4)
    assert str(tensors["act"].dtype) == "float16"
    sizes = [tensors[name].nbytes for name in ("act", "predict", "moves")]
    assert sum(sizes) == 36 * 4 * WIDTH * 3 * 2  # what `plan` says, of each of the four cells
    planned = make_experiment(EXPERIMENT)
    [said] = planned.extra_tables["internal"].planned(planned.cells, 18)
    assert f"states take {4 * sum(sizes) / 1e6:.1f} MB" in said
    assert tensors["step"].tolist() == [2, 3] * 18
    assert tensors["layer"].tolist() == [0, 1, 2, 3]


def test_what_was_found_is_kept_and_rows_are_not_changed(
    folder, told, tmp_path, monkeypatch
) -> None:
    bare = {name: value for name, value in EXPERIMENT.items() if name != "internal"}
    tomeval.run(bare, tmp_path / "bare").close()
    steps = [Run(path) for path in (folder, tmp_path / "bare")]
    for mine, other in zip(*(run.cells for run in steps), strict=True):
        for name in ("own", "partner", "predicted"):
            assert np.array_equal(getattr(mine.played, name), getattr(other.played, name))
    monkeypatch.setattr(reading, "_read", None)  # it is not read again
    with Run(folder) as run:
        assert reading.found(run.cells[0]).swaps == told["uses"][0].swaps
        row = run.rows()[0]
        assert row["internal_percent"] == 100
        assert row["delta_internal_per_step"] == 0
        assert len(draw(run, ["internal"])) == 3  # of the blind one no answers are apart


def test_what_was_found_of_other_episodes_is_not_taken(folder, told, tmp_path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / "internal" / "cell_0.json"
    with Run(copy) as run:
        assert reading.kept(run.cells[0]) is not None
        before = path.read_text()
        path.write_text(json.dumps(json.loads(path.read_text()) | {"key": "another"}))
        assert reading.kept(run.cells[0]) is None
        path.write_text(json.dumps({**json.loads(before), "held": {"next_move": {}}}))
        assert reading.kept(run.cells[0]) is None
        path.write_text("[")
        assert reading.kept(run.cells[0]) is None


def test_a_question_that_cannot_be_asked_again_is_one_line(folder, tmp_path, monkeypatch) -> None:
    with Run(folder) as run:
        cell = run.cells[0]
        monkeypatch.setitem(cell.setup.options, "goal", "maximise")
        with pytest.raises(TomevalError, match=r"step 1: the question .* cannot be asked again"):
            reading._read(cell)


def test_a_model_that_is_not_here_says_where_paths_start() -> None:
    with pytest.raises(TomevalError, match=r"no such folder.*folder of the run's experiment"):
        reading._opened(json.dumps("hf:./no_such_folder"))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"model": ["openai:m@http://localhost:1/v1"]}, "needs open weights: hf: or pocket"),
        ({"internal": {"layers": [4]}}, "has layers 0 to 3, not 4"),
        ({"internal": {"layers": [0]}}, "must name one above 0"),
        ({"episodes": 9, "internal": True}, "9 distinct episodes in a cell, and folds = 5 need"),
        ({"internal": {"folds": 2, "most_megabytes": 0}}, "most_megabytes"),
        ({"episodes": 10**6, "internal": {"folds": 2, "most_megabytes": 1}}, "MB on disk"),
        ({"subjects": [{"kind": "llm", "strategy": "S2A"}]}, "strategy 'S2A.*shows the model"),
        ({"subjects": ["random"], "model": []}, "no player is a language model"),
        ({"internal": {"layer": [1]}}, "layers"),
        ({"internal": {"layers": []}}, r'must be "all" or a list of layers, is \[\]'),
        ({"internal": 3}, "internal: must be true or a table, is 3"),
        ({"horizon": 1}, "start at step 2"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_played(keys, said) -> None:
    with pytest.raises(TomevalError, match=said) as error:
        make_experiment({**EXPERIMENT, **keys})
    assert "\n" not in str(error.value)


def test_editors_take_true_for_the_table() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft7Validator(experiment_schema(get_domain("matrix")))
    for value, fits in ((True, True), ({"pairs": 8}, True), (False, False), (3, False)):
        assert validator.is_valid({**EXPERIMENT, "internal": value}) == fits


def test_a_compiled_model_is_named_in_full() -> None:
    with pytest.raises(TomevalError, match="did you mean 'blind'"):
        open_model("compiled:blin")
