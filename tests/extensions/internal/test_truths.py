"""What can be decoded: labels derived by hand, and compiled models that hold them or cannot."""

import re
from unittest import mock

import numpy as np
import pytest
from safetensors.numpy import load_file

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.extensions.internal import reading
from tomeval.extensions.internal.chain import sites, verdict
from tomeval.extensions.internal.decoding import shuffled
from tomeval.extensions.internal.keys import POSITIONS, TRUTHS, Internal
from tomeval.extensions.internal.probing import TRUTHS as LABELS
from tomeval.extensions.internal.probing import Steps
from tomeval.extensions.internal.states import Watched
from tomeval.extensions.internal.tables import notes, probe_rows, rows
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

SUBJECT = {"kind": "llm", "name": "LM", "strategy": "LM -Rewards", "option_order": "shuffled"}
BASE = {
    "games": ["RPS"],
    "labels": "canonical",
    "horizon": 3,
    "episodes": 18,
    "subjects": [SUBJECT],
}
# Draws a move in step 1 and stays with it: one partner whose state differs between episodes.
STAYS = Partner(
    "stays",
    np.vstack([np.full((1, 3), 1 / 3), np.eye(3)]),
    np.array([[[1, 2, 3]] * 3, *([[[s] * 3] * 3 for s in (1, 2, 3)])]),
)


def steps_of(cell):
    """Return all steps of a cell, without states."""
    lengths = cell.played.lengths
    rows, episode = np.arange(lengths.sum()), np.repeat(np.arange(len(lengths)), lengths)
    return Steps(cell, rows, episode, np.empty(0), np.empty(0))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a run of a random player against tit for tat, and against a set of two others."""
    game = tomeval.get_game("IPD")
    experiment = {
        "games": ["IPD"],
        "partners": [
            "tit_for_tat",
            PartnerSet("two", tuple(tomeval.get_partner(n, game) for n in ("always(0)", "cycler"))),
        ],
        "subjects": ["random"],
        "horizon": 3,
        "episodes": 8,
    }
    path = tmp_path_factory.mktemp("truths") / "run"
    tomeval.run(experiment, path).close()
    with Run(path) as run:
        yield [steps_of(cell) for cell in run.cells]


def test_the_state_of_tit_for_tat_is_the_last_own_move(played) -> None:
    one = played[0]
    [state], size = LABELS["state"]([one])
    own = one.cell.played.own.reshape(8, 3)
    start = np.zeros((8, 1), dtype=np.int64)
    assert size == 3  # the start, and after each own move
    assert (state.reshape(8, 3) == np.hstack([start, 1 + own[:, :2]])).all()


def test_states_of_a_set_are_those_of_the_partner_that_was_drawn(played) -> None:
    one = played[1]
    [state], size = LABELS["state"]([one])
    which = one.cell.played.which[:, None]
    assert size == 3  # of always(0) one, of the cycler two, which it takes in turn
    assert (state.reshape(8, 3) == np.where(which == 0, 0, [[1, 2, 1]])).all()
    assert set(which.ravel()) == {0, 1}


def test_the_best_reply_to_tit_for_tat_is_to_cooperate_until_the_last_step(played) -> None:
    [best], size = LABELS["best_reply"](played[:1])
    assert (best.reshape(8, 3) == [0, 0, 1]).all()
    assert size == 2


def test_types_are_partners_of_all_cells(played) -> None:
    by_cell, size = LABELS["type"](played)
    assert size == 3
    assert (by_cell[0] == 0).all()
    assert (by_cell[1] == 1 + played[1].cell.played.which[played[1].episode]).all()


def test_labels_of_cells_that_share_their_chance_stay_in_their_unit() -> None:
    episode = np.repeat(np.arange(8), 2)
    unit, truth = episode % 4, episode // 4
    seen = set()
    for seed in range(20):
        [mixed] = shuffled([truth], episode, np.random.default_rng(seed), unit)
        for one in range(4):
            assert sorted(mixed[unit == one]) == [0, 0, 1, 1]
        seen.add(tuple(mixed))
    assert len(seen) > 8


def read(path, experiment):
    """Play, read states; return by cell what was found, the chain by truth, passes, notes, rows."""
    tomeval.run(experiment, path).close()
    with (
        Run(path) as run,
        mock.patch.object(Watched, "run", autospec=True, side_effect=Watched.run) as passes,
    ):
        told = [reading.found(cell) for cell in run.cells]
        chains = [
            {truth: verdict(cell, one, truth) for truth in TRUTHS}
            for cell, one in zip(run.cells, told, strict=True)
        ]
        assert len({tuple(row) for row in probe_rows(run)}) == 1
        return told, chains, passes.call_count, notes(run), rows(run)


def test_state_and_best_reply_are_held_by_whom_reads_them_and_at_chance_by_who_cannot(
    tmp_path,
) -> None:
    experiment = BASE | {
        "partners": [PartnerSet("stays", (STAYS,))],
        "model": ["compiled:uses", "compiled:blind"],
        "internal": {"folds": 3, "pairs": 8, "truth": list(TRUTHS), "positions": ["act"]},
    }
    (uses, blind), chains, passes, said, table = read(tmp_path / "run", experiment)
    same = {"type": "same in all steps"}
    held = dict.fromkeys(("next_move", "state", "best_reply"), "held, used")
    assert chains[0] == held | same
    assert chains[1] == dict.fromkeys(held, "not held") | same
    for truth in held:
        assert np.mean(uses.held[truth].of("holds")) == 100
        assert uses.held[truth].layer == 2  # which writes the belief
        assert np.mean(blind.held[truth].of("holds")) < 67
        taken = uses.held[truth].ablated
        assert np.mean(taken["read"]) > np.mean(taken["before"]) == 0
    assert any(re.search("type cannot be decoded: there is only one", line) for line in said)
    assert [row["decoded"] for row in table[:4]] == ["next move", "type", "state", "best reply"]
    assert np.isnan(table[1]["holds_percent"])
    assert len({tuple(row) for row in table}) == 1  # one set of columns
    # Of positions the action's token alone: neither the prediction nor the moves are touched.
    tensors = load_file(tmp_path / "run" / "internal" / "cell_0.safetensors")
    assert set(tensors) == {"act", "episode", "step", "layer"}
    assert {swap[:2] for swap in uses.swaps} == {("act", "last")}
    assert sites(uses, "state")[1].share.items == 0
    made = make_experiment(experiment)
    [line] = made.extra_tables["internal"].planned(made.cells, 18)
    most = int(re.search(r"at most ([\d,]+) passes", line)[1].replace(",", ""))
    assert most / 2 < passes <= most
    whole = make_experiment(experiment | {"internal": {"folds": 3, "pairs": 8}})
    [full] = whole.extra_tables["internal"].planned(whole.cells, 18)
    size = [float(re.search(r"take ([\d.]+) MB", one)[1]) for one in (line, full)]
    assert size[0] == pytest.approx(size[1] / 3, abs=0.1)


def test_types_are_decoded_over_cells_that_differ_in_the_partner_alone(tmp_path) -> None:
    experiment = BASE | {
        "partners": ["always(0)", "always(1)"],
        "model": ["compiled:idle", "compiled:blind"],
        "internal": {"folds": 3, "pairs": 1, "truth": ["type"], "positions": ["act", "moves"]},
    }
    told, chains, _, _, _ = read(tmp_path / "run", experiment)
    assert [chain["type"] for chain in chains] == ["held, not used", "not held"] * 2
    shares = [np.mean(one.held["type"].of("holds")) for one in told]
    assert shares == [100, 50, 100, 50]  # one number per pool; of two alike one is right
    assert told[1].held["type"].p == 1
    with Run(tmp_path / "run") as run:
        row = run.rows()[0]
        assert row["internal_type_percent"] == 100
        assert np.isnan(row["internal_percent"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"truth": ["typ"]}, "unknown truth 'typ'.*did you mean 'type'"),
        ({"truth": []}, "truth"),
        ({"positions": ["act", "move"]}, "unknown position 'move'.*did you mean 'moves'"),
        ({"positions": ["moves"]}, 'must name "act"'),
    ],
)
def test_what_is_not_known_is_one_line(keys, said) -> None:
    with pytest.raises(TomevalError, match=said) as error:
        make_experiment(BASE | {"model": ["compiled:blind"], "internal": keys})
    assert "\n" not in str(error.value)


def test_no_truth_or_position_counts_twice() -> None:
    said = Internal(truth=["type", "type"], positions=["moves", "act", "act"])
    assert (said.truth, said.positions) == (["type"], ["act", "moves"])


@pytest.mark.parametrize(
    ("positions", "questions", "places"),
    [(["act"], 1, 1), (["act", "moves"], 1, 2), (["act", "predict"], 2, 1), (POSITIONS, 2, 2)],
)
def test_passes_are_of_the_named_positions_alone(positions, questions, places) -> None:
    """Of 10 steps the questions, the twin and two removals; of 8 pairs the exchanges at 3 layers.

    Four pairs are tried for one whose answers are apart, and three states are put in.
    """
    how = Internal(pairs=8, positions=list(positions))
    exchanged = 2 * 4 + places * (2 + 3 * 3)
    assert how._passes(10, 3) == 10 * (questions + 3) + 8 * questions * exchanged
