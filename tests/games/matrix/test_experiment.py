from __future__ import annotations

import pytest
from support import make_game

from tomeval.core.errors import TomevalError
from tomeval.runs.experiment import load_experiment, make_experiment

BASE = {"games": "RPS", "subjects": "rmax"}
DUEL = {"partners": [{"kind": "random"}]}


def cells(**changes):
    return make_experiment(BASE | changes).cells


def test_every_list_is_an_axis() -> None:
    found = cells(
        games=["RPS", "IPD"],
        partners=["single_action", "tit_for_tat"],
        labels=["canonical", "neutral"],
        subjects=["rmax", {"kind": "simulated", "p": [0.2, 0.4], "q": [0, 1]}],
        horizon=[5, 10],
        seed=[1, 2],
        reference=["horizon", "stationary"],
        on_invalid=["void", "random"],
    )
    assert len(found) == 2 * 2 * 2 * 5 * 2 * 2 * 2 * 2
    names = list(dict.fromkeys(cell.subject for cell in found))
    assert names == ["rmax", *(f"simulated(p={p}, q={q})" for p in (0.2, 0.4) for q in (0, 1))]


def test_a_games_own_labels_and_partners() -> None:
    found = cells(
        games=[{"game": "RPS", "labels": ["letters"], "partners": "cycler"}, "IPD"],
        labels="neutral",
    )
    assert [(c.setup.game.name, c.setup.labels.name, c.setup.partners.name) for c in found] == [
        ("RPS", "letters", "cycler"),
        ("IPD", "neutral", "single_action"),
    ]


def test_python_objects_serve_as_well() -> None:
    game = make_game([[1, 0], [0, 1]], name="mine")
    assert cells(games=[game])[0].setup.game is game


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizn": 5}, "unknown key 'horizn' (did you mean 'horizon'?)"),
        ({"horizon": 0}, "must be from 1 to 100000, is 0"),
        ({"seed": 2**63}, "must fit into 64 bits"),
        ({"on_invalid": "skip"}, "unknown policy 'skip'"),
        ({"games": "RSP"}, "did you mean 'RPS'"),
        ({"games": {"game": "RPS", "labels": []}}, "labels is an empty list"),
        ({"partners": ["grim_trigger"]}, "does not fit game RPS"),
        ({"subjects": {"name": "x"}}, "missing key 'kind'"),
        ({"subjects": ["rmax", "rmax"]}, "the same cell appears twice: rmax, RPS"),
        ({"partners": ["cycler", "cycler"]}, "the same cell appears twice"),
        # two players at one table
        ({"partners": [{"kind": "simulated"}]}, "in the subject's seat only"),
        (DUEL | {"subjects": "best_response"}, "has no table"),
        ({"partners": [{"kind": "rmax", "gamma": 1}]}, "in the partner's seat: rmax: gamma"),
    ],
)
def test_bad_experiments_are_one_clear_message(changes, message) -> None:
    with pytest.raises(TomevalError) as caught:
        cells(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "rmax", "gamma": 1}, "rmax: gamma must be at least 0 and below 1"),
        ({"kind": "simulated", "p": 1.1}, "simulated: p must be a number from 0 to 1"),
        ({"draws": 1}, "draws must be 0 or at least 2, is 1"),
        ({"draws": 4, "temperature": 0}, "draws need a temperature above 0"),
        ({"literal": "no"}, 'literal must be true or false, is "no"'),
        ({"literal": False, "conditional": True}, "conditional = true needs literal = true"),
        ({"persona": 3}, "persona must be text, is 3"),
        ({"persona": "a\u202eb"}, "contains the control character U+202E"),
        ({"partner_persona": "x" * 501}, "partner_persona must be one line of text of at most 500"),
        ({"frame": "busines"}, "unknown frame 'busines' (did you mean 'business'?)"),
    ],
)
def test_bad_options_of_players_are_one_clear_message(options, message) -> None:
    written = {} if "kind" in options else {"strategy": "QA", "model": "pocket"}
    with pytest.raises(TomevalError) as caught:
        cells(subjects={**written, **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_paths_start_from_the_experiment_file(tmp_path) -> None:
    (tmp_path / "mine.toml").write_text("rule = { kind = 'sequence', actions = [1] }\n")
    path = tmp_path / "e.toml"
    path.write_text('games = "IPD"\nsubjects = "rmax"\npartners = "mine.toml"\n')
    assert load_experiment(path).cells[0].setup.partners.name == "mine"
