"""Does it use what it knows? Players of known truth, the rule word by word, and the edges."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import answer_coverage
import pytest
from support import scripts

import tomeval
from tomeval.games.answer import (
    BADLY,
    CERTAIN,
    HOARDS,
    IGNORANT,
    MISLED,
    MYOPIC,
    NO_EPISODE,
    NO_STAKE,
    NOTHING,
    OTHERWISE,
    PLAYS_BADLY,
    PLAYS_WELL,
    SHORT,
    SHORT_SIGHTED,
    UNDECIDED,
    UNREAD,
    UNSAID,
    USES,
    WELL,
    Ends,
    answer,
    lines,
    plain,
    words,
)
from tomeval.games.matrix.results import matrix_cells
from tomeval.play.runner import run_experiment
from tomeval.report.views import MOST_ROWS, Asked, cells_view
from tomeval.runs.experiment import make_experiment
from tomeval.runs.measures import SCORES
from tomeval.runs.results import Run
from tomeval.statistics.bounded import ends_if_alike

PERFECT = {"kind": "simulated", "name": "perfect", "p": 1.0, "q": 1.0}
HOARDER = {"kind": "simulated", "name": "hoarder", "p": 1.0, "q": 0.0}
WRONG = {"kind": "simulated", "name": "never right", "p": 0.0, "q": 1.0}


def answers(folder, **keys) -> dict[tuple[str, str, str], str]:
    data = {"horizon": 20, "episodes": 15, "seed": 1} | keys
    with tomeval.run(data, folder) as run:
        return {
            (cell.player, cell.game.name, str(cell.columns["partners"])): plain(answer(cell))
            for cell in matrix_cells(run)
        }


KNOWN = {  # knows, uses, plays of experiments/known_players.toml; None: nothing to see
    "rmax": [
        (96, 92, 92), (91, 78, 79), (97, 95, 95), (96, 92, 91), (97, None, 95), (96, None, 88),
    ],
    "fictitious_play": [
        (99, 99, 99), (-25, 81, -33), (99, 99, 99), (99, 99, 100), (99, None, 100), (96, None, -33),
    ],
    "equilibrium": [
        (0, -1, 0), (0, 1, 1), (-10, 100, 8), (100, 100, 100), (2, None, 100), (98, None, -33),
    ],
    "random": [(1, 1, -1), (-1, -1, 1), (0, -1, 0), (1, -1, 1), (0, None, -1), (0, None, -1)],
    "knows, does not use": [
        (100, -1, -1), (100, 0, 0), (100, 1, 1), (100, -3, -2), (100, None, 0), (100, None, 0),
    ],
    "knows 90 %, uses it": [
        (85, 100, 85), (86, 100, 86), (80, 100, 80), (80, 100, 60), (80, None, 100),
        (80, None, -33),
    ],
}  # fmt: skip
SAID = {
    "rmax": [USES, USES, USES, USES, WELL, WELL],
    "fictitious_play": [USES, MISLED, USES, USES, WELL, MYOPIC],
    "equilibrium": [IGNORANT, IGNORANT, MISLED, USES, UNSAID, MYOPIC],
    "random": [IGNORANT] * 6,
    "knows, does not use": [HOARDS, HOARDS, HOARDS, HOARDS, BADLY, BADLY],
    "knows 90 %, uses it": [USES, USES, USES, USES, WELL, MYOPIC],
}


def test_known_players_have_their_scores_and_their_answers(tmp_path) -> None:
    with tomeval.run("known_players", tmp_path / "run") as run:
        tasks = list(dict.fromkeys((c.game.name, c.columns["partners"]) for c in run.cells))
        for cell in matrix_cells(run):
            place = tasks.index((cell.game.name, cell.columns["partners"]))
            found = cell.estimate(SCORES).mean.tolist()
            for value, wanted in zip(found, KNOWN[cell.player][place], strict=True):
                assert math.isnan(value) if wanted is None else abs(value - wanted) <= 1, cell.name
            assert answer(cell) == SAID[cell.player][place], cell.name
        short_sighted = next(
            cell for cell in run.cells if cell.name == "rmax, IPD, canonical, tit_for_tat"
        )
        parts = short_sighted.estimate(["replies_percent", "plans_percent"]).mean
        assert parts.round().tolist() == [-86, 90]


def test_partners_that_draw(tmp_path) -> None:
    """Right as often as anyone can be is knowing, and the best reply is using."""
    players = ["best_response", "fictitious_play"]
    keys = {"subjects": players, "horizon": 100, "episodes": 30}
    for game, partner in (("RPS", "mixture(0.6,0.2,0.2)"), ("stag_hunt", "mixture(0.8,0.2)")):
        found = answers(tmp_path / game, games=game, partners=partner, **keys)
        assert set(found.values()) <= {USES, WELL}, found
    with tomeval.run(
        {"games": "RPS", "partners": "mixture(0.6,0.2,0.2)", "subjects": [WRONG, "best_response"]}
        | {"horizon": 100, "episodes": 30, "seed": 1},
        tmp_path / "run",
    ) as run:
        wrong, best = matrix_cells(run)
        assert answer(wrong) == MISLED
        assert wrong.estimate(SCORES).mean == pytest.approx([-125, 100, -127], abs=8)
        assert answer(best) == USES
        assert best.estimate(SCORES).mean == pytest.approx([98, 100, 95], abs=6)


def test_players_of_known_truth_in_sixty_drawn_games(tmp_path) -> None:
    """Whatever the payoffs: who is never right does not know, who always replies best uses it."""
    players = [PERFECT, HOARDER, WRONG, "random"]
    found = answers(tmp_path / "run", games={"fresh": {"seed": 1, "count": 60}}, subjects=players)
    assert len(found) == 4 * 60
    by_player: dict[str, set[str]] = {}
    for (player, _, _), said in found.items():
        by_player.setdefault(player, set()).add(said)
    perfect = [said for (player, *_), said in found.items() if player == "perfect"]
    assert set(perfect) <= {USES, WELL, MYOPIC, SHORT_SIGHTED, UNDECIDED}
    assert perfect.count(UNDECIDED) <= len(perfect) / 10  # replies, and does not plan
    assert by_player["hoarder"] <= {HOARDS, BADLY, UNDECIDED}
    assert by_player["never right"] <= {MISLED, UNSAID, IGNORANT, UNDECIDED}
    assert by_player["random"] <= {IGNORANT, UNDECIDED}


def test_a_player_who_plays_well_is_not_told_that_it_does_not_use(tmp_path) -> None:
    """The best response to a noisy partner is no reply to its likeliest move as if certain."""
    keys = {"games": "chicken", "partners": "noisy_tit_for_tat", "subjects": ["best_response"]}
    found = answers(tmp_path / "run", horizon=100, episodes=30, **keys)
    assert set(found.values()) == {OTHERWISE}


ABOVE, BELOW, OPEN, NONE = (
    Ends(80, 60, 90),
    Ends(10, 0, 40),
    Ends(55, 40, 70),
    Ends(*[math.nan] * 3),
)
RULE = [  # knows, uses, plays, replies, plans: as in the table of docs/measures.md
    (ABOVE, ABOVE, ABOVE, ABOVE, ABOVE, USES),
    (ABOVE, ABOVE, BELOW, BELOW, ABOVE, USES),
    (ABOVE, ABOVE, OPEN, ABOVE, BELOW, USES),
    (ABOVE, ABOVE, BELOW, ABOVE, BELOW, SHORT_SIGHTED),
    (ABOVE, BELOW, BELOW, BELOW, BELOW, HOARDS),
    (ABOVE, BELOW, ABOVE, BELOW, BELOW, OTHERWISE),
    (ABOVE, BELOW, OPEN, BELOW, BELOW, UNDECIDED),
    (ABOVE, BELOW, NONE, BELOW, BELOW, HOARDS),
    (ABOVE, NONE, ABOVE, BELOW, ABOVE, WELL),
    (ABOVE, NONE, BELOW, ABOVE, BELOW, MYOPIC),
    (ABOVE, NONE, BELOW, BELOW, BELOW, BADLY),
    (ABOVE, NONE, OPEN, ABOVE, BELOW, UNDECIDED),
    (ABOVE, OPEN, ABOVE, OPEN, OPEN, UNDECIDED),
    (OPEN, ABOVE, ABOVE, ABOVE, ABOVE, UNDECIDED),
    (BELOW, OPEN, ABOVE, OPEN, OPEN, UNSAID),
    (BELOW, NONE, ABOVE, ABOVE, ABOVE, UNSAID),
    (BELOW, ABOVE, BELOW, ABOVE, ABOVE, MISLED),
    (BELOW, BELOW, BELOW, BELOW, BELOW, IGNORANT),
    (BELOW, NONE, BELOW, BELOW, BELOW, IGNORANT),
    (BELOW, BELOW, OPEN, BELOW, BELOW, UNDECIDED),
    (BELOW, OPEN, BELOW, OPEN, OPEN, UNDECIDED),
    (NONE, ABOVE, NONE, ABOVE, ABOVE, NOTHING),
    (ABOVE, NONE, NONE, NONE, NONE, NO_STAKE),
]


@pytest.mark.parametrize(("knows", "uses", "plays", "replies", "plans", "said"), RULE)
def test_the_rule(knows, uses, plays, replies, plans, said) -> None:
    ends = {"knows": knows, "uses": uses, "plays": plays, "replies": replies, "plans": plans}
    assert words(ends) == said
    blind = said == USES and plays is BELOW
    assert words(ends, certain=True) == (CERTAIN if blind else said)


def test_every_combination_has_an_answer_with_a_short_word() -> None:
    kinds = (ABOVE, BELOW, OPEN, NONE)
    for sides in itertools.product(kinds, repeat=5):
        ends = dict(zip(("knows", "uses", "plays", "replies", "plans"), sides, strict=True))
        for asked in (True, False):
            assert words(ends, asked) in SHORT
    assert words({**ends, "plays": ABOVE}, asked=False) == PLAYS_WELL
    assert words({**ends, "plays": BELOW}, asked=False) == PLAYS_BADLY


def test_undecided_says_how_many_more_episodes_would_tell(tmp_path) -> None:
    half = {"kind": "simulated", "name": "half", "p": 0.67, "q": 1.0}  # knows 50
    data = {"games": "RPS", "subjects": [half], "horizon": 10, "seed": 5}
    with tomeval.run(data | {"episodes": 6}, tmp_path / "few") as run:
        (cell,) = matrix_cells(run)
        said = answer(cell)
        found = cell.estimate(SCORES)
        (line,) = lines(run)
    score, low = float(found.mean[0]), float(found.low[0])
    more = math.ceil(6 * (((score - low) / (score - 50)) ** 2 - 1))
    assert said == f"{UNDECIDED}: about {more} more episodes"
    assert line.endswith(f": about {more} more episodes would tell")
    with tomeval.run(data | {"episodes": 3}, tmp_path / "three") as run:
        assert answer(matrix_cells(run)[0]) == f"{UNDECIDED}: at least 5 episodes are needed"


def test_without_predictions_partner_stake_or_episodes(tmp_path) -> None:
    with tomeval.Run("known_models") as run:
        cells = matrix_cells(run)
        assert {plain(answer(cell)) for cell in cells} <= {UNDECIDED, PLAYS_WELL, PLAYS_BADLY}
        assert run.scores[-1] == "plays_percent"
    uniform = answers(tmp_path / "u", games="RPS", partners="uniform_random", subjects=["random"])
    assert set(uniform.values()) == {NOTHING}
    game = replace(tomeval.get_game("RPS"), payoffs=tomeval.get_game("RPS").payoffs * 0)
    for episodes in (3, 15):
        keys = {"games": [game], "subjects": [PERFECT], "episodes": episodes}
        assert set(answers(tmp_path / f"flat {episodes}", **keys).values()) == {NO_STAKE}
    data = {"games": "RPS", "subjects": ["rmax"], "horizon": 3, "episodes": 1}
    with tomeval.run(data, tmp_path / "n") as run:
        (cell,) = matrix_cells(run)
        cell.__dict__["episodes"] = cell.episodes[:0]
        assert answer(cell) == NO_EPISODE


def test_of_a_player_who_was_never_understood_nothing_is_said(tmp_path) -> None:
    data = {"games": ["IPD"], "partners": "tit_for_tat", "horizon": 4, "episodes": 6}
    data |= {"on_invalid": "random", "subjects": [{"strategy": "QA", "max_attempts": 1}]}
    with scripts(mute=lambda request: "hm"):
        experiment = make_experiment({**data, "model": "scripted:mute"})
        run_experiment(experiment, tmp_path / "run", go_on=True)
    with Run(tmp_path / "run") as run:
        (cell,) = matrix_cells(run)
        assert (len(cell.episodes), answer(cell)) == (6, UNREAD)
        view = cells_view([run], Asked())
        assert "invalid % 100.0" in view.grids[0].above
        assert "up to 100.0 % of the answers" in " ".join(view.notes)


def test_the_answer_is_of_the_interval_that_is_shown(tmp_path) -> None:
    """A confidence sequence is wider: what is told by Student's t need not be told by it."""
    data = {"games": "RPS", "subjects": [HOARDER], "horizon": 10, "episodes": 6}
    with tomeval.run(data, tmp_path / "run") as run:
        (cell,) = matrix_cells(run)
        assert answer(cell) == HOARDS
        low = float(cell.estimate(SCORES, "sequence").low[0])
        assert low < 50
        assert plain(answer(cell, "sequence")) == UNDECIDED


def test_a_wrong_word_is_rare_and_intervals_hold_the_truth(tmp_path) -> None:
    """`benchmarks/answer_coverage.py` in small: 36 players, 4 runs, 5 episodes each."""
    sums: dict[str, int] = {}
    grid = list(itertools.product(answer_coverage.GRID, answer_coverage.GRID))
    players = [{"kind": "simulated", "name": f"p{p} q{q}", "p": p, "q": q} for p, q in grid]
    truths = [answer_coverage.truth("RPS", p, q) for p, q in grid]
    for seed in range(4):
        data = {"games": "RPS", "subjects": players, "horizon": 10, "episodes": 5, "seed": seed}
        with tomeval.run(data, tmp_path / str(seed)) as run:
            for cell, truth in zip(matrix_cells(run), truths, strict=True):
                for name, count in answer_coverage.cell_counts(cell, truth).items():
                    sums[name] = sums.get(name, 0) + count
    assert sums["told"] > 0.4 * sums["cells"]
    assert sums["wrong"] <= 0.05 * sums["clear"]
    for name in ("knows", "uses", "plays"):
        assert sums[name] >= 0.92 * sums["cells"], name


def test_ends_of_alike_episodes_allow_for_unseen_ones_at_chance() -> None:
    for units in (5, 15, 100):
        low, high = ends_if_alike(100.0, units, -50.0, 100.0)
        share = 1 - low / 100  # of episodes at chance, unseen in all of these
        assert high == 100.0
        assert 0.02 < (1 - share) ** units < 0.08
    assert ends_if_alike(-50.0, 5, -50.0)[0] == -50.0
    assert ends_if_alike(120.0, 5)[1] == 120.0  # nothing is known to lie beyond


def test_more_cells_than_rows_fit_have_a_row_per_player(tmp_path) -> None:
    """With more than eight tasks it says how many of them have each answer."""
    players: list[Any] = ["rmax", "random", HOARDER, PERFECT]
    players += [{"kind": "simulated", "name": f"half {n}", "p": 0.5, "q": n / 40} for n in range(8)]
    games, partners = ["RPS", "IBS", "IPD", "chicken", "harmony"], ["single_action", "tit_for_tat"]
    keys = {"games": games, "partners": partners, "subjects": players, "horizon": 6, "episodes": 5}
    with tomeval.run(keys, tmp_path / "run") as run:
        assert len(run.cells) > MOST_ROWS
        [grid] = cells_view([run], Asked()).grids
        told = [(cell.title, SHORT[plain(answer(cell))]) for cell in matrix_cells(run)]
    heads = [head.split("\n")[-1] for head in grid.heads[1:]]
    assert len(grid.body) == len(players)
    for name, *counts in grid.body:
        mine = [said for title, said in told if title == name]
        assert list(map(int, counts)) == [mine.count(head) for head in heads]
        assert sum(map(int, counts)) == len(mine) == 10
