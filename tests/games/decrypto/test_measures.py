"""Every measure against values worked out by hand, a recount, or a simulation of the truth."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from tomeval.games.decrypto.domain import DECRYPTO
from tomeval.games.decrypto.game import OUTCOMES
from tomeval.games.decrypto.measures import (
    BELIEF_MEASURES,
    MEASURES,
    expects_bad,
    regrets,
    turn_items,
    turns_a_wrong,
)
from tomeval.games.decrypto.seats import INTERCEPTOR_QUESTIONS, ROLES, comparable
from tomeval.games.decrypto.tables import Together
from tomeval.games.decrypto.turns import READ, SHOWN_AS
from tomeval.games.played import Played
from tomeval.runs.columns import flat
from tomeval.statistics.estimates import Share, clustered_share

CODE, OTHER, THIRD = 241, 123, 312
KEYS = ("river", "violin", "bread", "winter")
A, B = ("one", "two", "three", "four"), ("five", "six", "seven", "eight")


def played(games, **more) -> Played:
    """Build games from rows of (bob right, eve right, predicted eve, predicted bob, best)."""
    rows = [(g, t, *row) for g, game in enumerate(games) for t, row in enumerate(game, 1)]
    game, turn, bob, eve, says_eve, says_bob, best = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    n = len(rows)
    turns = {name: np.full(n, np.nan) for name in READ[np.float64]}
    turns |= {name: np.zeros(n, dtype=np.int64) for name in READ[np.int64]}
    turns |= {name: np.ones(n, dtype=bool) for name in READ[np.bool_]}
    turns |= {name: np.full(n, "") for name in READ[np.str_]}
    turns |= {"game": game, "step": turn, "code": np.full(n, CODE)}
    turns |= {"bob": np.where(bob, CODE, OTHER), "eve": np.where(eve, CODE, OTHER)}
    turns |= {"miscommunication": bob == 0, "interception": eve == 1}
    turns |= {"predicted_eve": says_eve, "predicted_bob": says_bob}
    turns |= {"keywords": np.full(n, comparable(KEYS))}
    turns |= {"best": best.astype(float), "random": best / 4.0}
    turns |= {name: more.pop(name) for name in turns if name in more}
    whole = {"outcome": np.full(len(games), "survived"), "cluster": np.arange(len(games))}
    whole |= {"ended": np.ones(len(games), dtype=bool)}
    return Played(whole | more, turns)


def table(*pairings: Played, name: str) -> dict[str, float]:
    """Return a measure of several pairings as tables have it."""
    about = {"store": SimpleNamespace(domain=DECRYPTO), "number": 0, "sequential": False}
    about |= {"definition": {"players": {role: {"name": role} for role in ROLES}}}
    about |= {"measures": MEASURES}
    cells = [SimpleNamespace(played=p, episodes=np.arange(p.games), **about) for p in pairings]
    return flat([name], Together(cells).estimate([name]))


def measured(data: Played, name: str) -> tuple[float, float]:
    """Return a measure over games and the half-width of its interval."""
    row = table(data, name=name)
    return row[name], row[f"{name}_ci95"]


def turn_share(data: Played, name: str) -> Share:
    hits, among = turn_items(data)[name]
    return clustered_share(hits[among], data.by_game["cluster"][data["game"][among]])


# bob right, eve right, predicted Eve, predicted Bob (0: not asked or invalid), best
GAMES = [
    [(1, 0, CODE, CODE, 1), (1, 1, OTHER, CODE, 1), (0, 0, OTHER, CODE, 1)],
    [(1, 0, THIRD, CODE, 1)],
    [(0, 1, CODE, OTHER, 0), (1, 0, 0, CODE, 1)],
]


def test_shares_of_turns_by_hand() -> None:
    # Bob is wrong in 2 of 6 turns; Eve is right in 2 of 6.
    assert turn_share(played(GAMES), "miscommunication_per_turn").share == pytest.approx(2 / 6)
    found = turn_share(played(GAMES), "interception_per_turn")
    assert (found.share, found.items, found.clusters) == (pytest.approx(2 / 6), 6, 3)
    assert measured(played(GAMES), "interception_per_turn_percent")[0] == pytest.approx(100 / 3)


def test_perspective_by_hand() -> None:
    found = {
        f"{what}_{whom}": turn_share(played(GAMES), f"{what}_{whom}")
        for what in ("tom", "predicted", "actual")
        for whom in ("eve", "eve_reminded", "bob")
    }
    # Predictions of Eve: 5 valid. Said 241, truth 123: no. 123/241: no. 123/123: yes. 312/123: no.
    # 241/241: yes.
    assert (found["tom_eve"].share, found["tom_eve"].items) == (2 / 5, 5)
    # She says that Eve guesses the code on 2 of these 5; Eve did on 2 of these 5.
    assert found["predicted_eve"].share == 2 / 5
    assert found["actual_eve"].share == 2 / 5
    # Of Bob: 241 five times (right, right, wrong, right; last right), 123 once (right).
    assert (found["tom_bob"].share, found["tom_bob"].items) == (5 / 6, 6)
    assert [found[f"{what}_eve_reminded"].items for what in ("tom", "predicted", "actual")] == [
        0
    ] * 3


def test_guesses_that_were_drawn_do_not_count_against_predictions() -> None:
    drawn = played(GAMES, guessed_eve=np.array([False, True, True, True, True, True]))
    assert turn_share(drawn, "tom_eve").items == 4


def test_knowingly_bad_by_hand() -> None:
    bad, known = expects_bad(played(GAMES))
    # Bad: Eve predicted right (turns 1 and 5), or Bob predicted wrong (turn 5); turn 6 is unknown.
    assert bad.tolist() == [True, False, False, False, True, False]
    assert known.tolist() == [True] * 5 + [False]
    assert turn_share(played(GAMES), "knowingly_bad").share == 2 / 5
    # Without questions about Bob only Eve counts.
    silent = [[(b, e, s, 0, v) for b, e, s, _, v in game] for game in GAMES]
    assert turn_share(played(silent), "knowingly_bad").share == 2 / 5
    # Hints that were drawn for her, or not heard, are not hers to answer for.
    own = np.array([False, True, True, True, True, True])
    assert turn_share(played(GAMES, own=own), "knowingly_bad").share == 1 / 4


def test_regrets_by_hand() -> None:
    found = regrets(played(GAMES))
    nan = math.nan
    np.testing.assert_array_equal(found["value"], [1, 0, 0, 1, 0, 1])
    np.testing.assert_array_equal(found["delta_functional"], [0, 1, 1, 0, 0, 0])
    # Turns 1 and 5 look bad to her: a rational Alice sends other hints and loses nothing there.
    np.testing.assert_array_equal(found["delta_tom"], [0, 1, 1, 0, 0, nan])
    np.testing.assert_array_equal(found["response"], [0, 0, 0, 0, 0, nan])


def test_regret_that_predictions_could_have_avoided_is_response() -> None:
    # She says Eve will be right, sends the hints, and Eve is right: nothing wrong with her beliefs.
    found = regrets(played([[(1, 1, CODE, CODE, 1)], [(1, 1, OTHER, CODE, 1)]]))
    np.testing.assert_array_equal(found["delta_tom"], [0, 1])
    np.testing.assert_array_equal(found["response"], [1, 0])


def test_without_a_searched_best_there_is_no_regret() -> None:
    unknown = [[(1, 1, CODE, CODE, math.nan)], [(1, 0, OTHER, CODE, math.nan)]]
    found = regrets(played(unknown))
    for name in ("delta_functional", "delta_tom", "response"):
        assert np.isnan(found[name]).all()
    assert np.isfinite(found["value"]).all()


def test_means_are_over_games_of_their_own_means() -> None:
    data = played(GAMES * 2)
    # Games, twice: (0 + 1 + 1) / 3, 0, 0. Their sample variance is 2 (16 + 4 + 4) / 81 / 5.
    mean, half = measured(data, "delta_functional_per_turn")
    assert mean == pytest.approx(2 / 9)
    # Six games: Student's t of five degrees of freedom.
    assert half == pytest.approx(2.570582 * math.sqrt(48 / 405 / 6))
    assert measured(data, "turns_per_game")[0] == 2.0
    # Games without a turn that counts are left out.
    later = played(GAMES, own=np.array([False, False, False, True, True, True]))
    assert measured(later, "delta_functional_per_turn")[0] == 0.0
    nothing = played(GAMES, own=np.zeros(6, bool))
    assert math.isnan(measured(nothing, "delta_functional_per_turn")[0])


def test_outcomes_and_replays_that_break_off() -> None:
    twice = played(GAMES * 2, outcome=np.array(["survived", "both", "undecided"] * 2))
    found = table(twice, name="both_percent")
    # Of all games: the undecided one does not leave.
    low, high = np.multiply(100, proportion_confint(2, 6, method="wilson"))
    assert list(found.values()) == pytest.approx([100 / 3, (high - low) / 2, low, high])
    outcomes = np.array(["survived", "both", "undecided"])
    data = played(GAMES, outcome=outcomes, ended=outcomes != "undecided")
    shares = [MEASURES[f"{name}_percent"].of(data, "") for name in (*OUTCOMES, "undecided")]
    assert [part.top.sum() for part in shares] == [0, 0, 1, 1, 1]
    assert [part.bottom.sum() for part in shares] == [3] * 5
    assert sum(float(part.top.sum() / part.bottom.sum()) for part in shares) == pytest.approx(1)
    turns = MEASURES["turns_per_game"].of(data, "")  # of those that ended
    assert np.isnan(turns.values).tolist() == [False, False, True]


def beliefs(*rows) -> Played:
    """One game with a turn per row of (A, B, C), and B and C with A in view where given."""
    games = [[(1, 0, 0, 0, 1)] for _ in rows]
    said = [[comparable(words) if words else "" for words in (*row, None, None)] for row in rows]
    of_questions = zip(INTERCEPTOR_QUESTIONS, zip(*said, strict=False), strict=False)
    return played(games, **{SHOWN_AS[name]: np.array(texts) for name, texts in of_questions})


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        # who knows what she thought, and that another will think the same
        (A, A, A, (1, 1, 1, 1, 1)),
        # who thinks that she knew all along, and that everybody does
        (A, KEYS, KEYS, (0, 0, 0, 0, 1)),
        # who remembers that she was wrong, but not how
        (A, B, B, (1, 0, 1, 0, 1)),
        (A, A, KEYS, (1, 1, 0, 0, 0)),
        (A, ("ONE", " two", "three ", "Four"), B, (1, 1, 1, 0, 0)),
        (A, ("two", "one", "three", "four"), A, (1, 0, 1, 1, 0)),
    ],
)
def test_belief_measures_by_definition(a, b, c, expected) -> None:
    data = beliefs((a, b, c))
    names = ("weak_rc", "strong_rc", "weak_fb", "strong_fb", "consistent")
    assert tuple(turn_share(data, name).share for name in names) == expected
    assert turn_share(data, "keywords_right").share == 0.0


def test_each_condition_is_measured_from_its_own_answers() -> None:
    # Out of view she says she had known and others will; in view she repeats what she had said.
    data = beliefs((A, KEYS, KEYS, A, A), (A, KEYS, KEYS, A, B), (A, KEYS, None, None, A))
    found = {
        name: (turn_share(data, name).share, turn_share(data, name).items)
        for name in BELIEF_MEASURES
    }
    assert found == {
        "weak_rc": (0, 3),
        "strong_rc": (0, 3),
        "weak_fb": (0, 2),
        "strong_fb": (0, 2),
        "consistent": (1, 2),
        "weak_rc_in_view": (1, 2),
        "strong_rc_in_view": (1, 2),
        "weak_fb_in_view": (1, 3),
        "strong_fb_in_view": (2 / 3, 3),
        "consistent_in_view": (1 / 2, 2),
    }
    right = beliefs((KEYS, A, A, A, A))  # asked by nobody: A was right
    assert all(turn_share(right, name).items == 0 for name in BELIEF_MEASURES)


def test_only_turns_with_a_wrong_and_readable_a_count() -> None:
    data = beliefs((KEYS, None, None), (None, None, None), (A, A, None), (A, KEYS, KEYS))
    names = ("keywords_right", "weak_rc", "weak_fb", "consistent")
    found = [turn_share(data, name) for name in names]
    assert [share.share for share in found[:3]] == [1 / 3, 1 / 2, 0.0]
    assert [share.items for share in found] == [3, 2, 1, 1]
    assert turns_a_wrong(data) == 2
    assert turns_a_wrong(beliefs((A, None, KEYS), (A, B, None))) == 2  # whether B was read or not


def test_pooled_pairings_are_recounted() -> None:
    one, two = played(GAMES), played(GAMES[:2])
    apart = played([*GAMES, *GAMES[:2]], cluster=np.array([0, 1, 2, 0, 1]))
    for name in MEASURES:
        if not name.startswith(("knows", "uses", "plays", "right")):  # tables have no scores
            np.testing.assert_array_equal(
                [*table(one, two, name=name).values()], [*table(apart, name=name).values()]
            )
