"""Rules of Codenames: games worked by hand, legal clues, what seats see, bad parameters."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.codenames import KIND
from tomeval.games.codenames.clues import TEXTARENA, clue_fault, conflict
from tomeval.games.codenames.state import ENDINGS, Board
from tomeval.games.game import Ask, Broken, Probe, Stage

# red: sea, oak, sun; blue: fox, ant; neutral: tax; assassin: ice
BOARD = Board(("sea", "fox", "oak", "tax", "ice", "sun", "ant"), (0, 1, 0, 2, 3, 0, 1))
RULES = {"red": 3, "blue": 2, "neutral": 1, "assassin": 1}


@cache
def game(**more):
    return KIND.make(KIND.rules(**RULES, **more))


def run(made, *actions):
    """Play actions, and return the state and the seats that were due."""
    state, seats = made.begin(BOARD), []
    for action in actions:
        (ask,) = made.due(state)
        seats.append(ask.seat)
        assert made.fault(made.view(state, ask.seat), ask, action) is None
        state = made.after(state, {ask.seat: action}, np.random.default_rng(0))[1]
    return state, seats


def test_a_game_by_hand():
    state, seats = run(
        game(), ("wave", 1), "sea", "oak", ("wild", 2), "fox", None, ("star", 1), "sun"
    )
    assert seats == [0, 1, 1, 2, 3, 3, 0, 1]
    assert (state.ending, state.winner) == ("found", 0)
    assert game().rewards(state) == (1, 1, -1, -1)
    assert game().wins(state) == (1, 1, 0, 0)
    assert game().rounds(state) == 3


@pytest.mark.parametrize(
    ("actions", "ending", "winner"),
    [
        ([("frost", 1), "ice"], "assassin", 1),
        ([("wild", 2), "fox", ("bug", 1), "ice"], "assassin", 0),
        ([("wild", 1), "fox", ("bug", 1), "ant"], "found", 1),
        ([("wild", 1), "fox", ("duty", 1), "tax", ("bug", 1), "ant"], "given_away", 1),
    ],
)
def test_endings_by_hand(actions, ending, winner):
    state, _ = run(game(), *actions)
    assert (state.ending, state.winner) == (ending, winner)
    assert ending in ENDINGS
    assert not game().due(state)


def test_a_number_allows_one_guess_more_and_a_wrong_word_ends_the_turn():
    state, _ = run(game(), ("wave", 1), "sea", "oak")
    assert state.seat == 2  # two right guesses for a clue of one
    state, _ = run(game(), ("wave", 2), "sea", "oak")
    assert (state.seat, state.left) == (1, 1)
    for wrong in ("fox", "tax"):
        state, _ = run(game(), ("wave", 2), "sea", wrong)
        assert (state.seat, state.clue) == (2, None)


def test_the_limit_of_turns_counts_found_words():
    state, _ = run(game(turns=2), ("wave", 1), "sea")
    assert (state.ending, state.winner) == ("limit", 0)
    state, _ = run(game(turns=4), ("wave", 1), None, ("wild", 1), "fox")
    assert (state.ending, state.winner) == ("limit", 1)
    state, _ = run(game(turns=5), ("wave", 1), "sea", None, ("wild", 1), "fox")
    assert (state.ending, state.winner) == ("limit", None)
    assert game().rewards(state) == (0, 0, 0, 0)
    assert game().wins(state) == (0.5, 0.5, 0.5, 0.5)


def test_textarena_makes_one_decision_more_than_its_limit():
    state, _ = run(game(turns=2, rules=TEXTARENA), ("wave", 1), "sea")
    assert not state.ending
    state, _ = run(game(turns=2, rules=TEXTARENA), ("wave", 1), "sea", "oak")
    assert (state.ending, state.winner) == ("limit", 0)


def test_no_clue_and_a_broken_rule():
    made = game()
    view, ask = made.view(made.begin(BOARD), 0), Ask(0, "clue")
    assert made.default(view, ask) is None
    assert made.fault(view, ask, None).error == "rule"
    state = made.after(made.begin(BOARD), {0: None}, np.random.default_rng(0))[1]
    assert (state.seat, state.round) == (2, 2)
    lost = made.struck(state, Ask(2, "clue"), "forfeit")
    assert (lost.ending, lost.winner, made.rewards(lost)) == ("forfeit", 0, (1, 1, -1, -1))


@pytest.mark.parametrize(
    ("clue", "word", "own", "textarena"),
    [
        ("sea", "sea", True, True),
        ("Sea", "sea", True, False),
        ("seas", "sea", True, True),
        ("dancing", "dance", True, False),
        ("or", "sword", False, True),
        ("word", "sword", False, True),
        ("horse", "horseback", True, True),
        ("horses", "horseback", True, False),
        ("seaport", "port", True, True),
        ("art", "heart", False, True),
        ("ocean", "sea", False, False),
    ],
)
def test_clues_that_give_words_away(clue, word, own, textarena):
    assert conflict(clue, word) is own
    assert conflict(clue, word, TEXTARENA) is textarena


@pytest.mark.parametrize(
    ("clue", "own", "textarena"),
    [
        ("ice-cream", None, "format"),
        ("deep sea", "format", "format"),
        ("r2d2", "format", None),
        ("", "format", "format"),
        ("x" * 61, "format", None),
        ("oaken", None, "rule"),
    ],
)
def test_clues_that_are_no_word(clue, own, textarena):
    def error(found):
        return found and found[0]

    assert error(clue_fault(clue, ["oak"])) == own
    assert error(clue_fault(clue, ["oak"], TEXTARENA)) == textarena


def test_numbers_of_clues():
    made, state = game(number=3), game().begin(BOARD)
    for number, fine in ((0, False), (1, True), (3, True), (4, False)):
        assert (made.fault(made.view(state, 0), Ask(0, "clue"), ("wave", number)) is None) is fine
    theirs = game(rules=TEXTARENA)
    for number in (0, 5, 10**6):
        assert theirs.fault(theirs.view(state, 0), Ask(0, "clue"), ("wave", number)) is None


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        ("clue", ["wave", "2"], ("wave", 2)),
        ("clue", [" Wave ", " 2 "], ("Wave", 2)),
        ("clue", ["wave", "two"], "format"),
        ("clue", ["wave", "9" * 20], "format"),
        ("clue", ["oaks", "1"], "rule"),
        ("guess", ["SEA"], "sea"),
        ("guess", ["Pass"], None),
        ("guess", ["boat"], "target"),
        ("guess", [3], "format"),
    ],
)
def test_reading_answers(kind, items, expected):
    made = game()
    state = made.begin(BOARD) if kind == "clue" else run(made, ("wave", 2))[0]
    (ask,) = made.due(state)
    found = made.read(made.view(state, ask.seat), ask, items)
    assert (found.error if isinstance(found, Broken) else found) == expected


def properties(view):
    names = (name for name in dir(view) if not name.startswith("_") and name != "game")
    return {name: getattr(view, name) for name in names}


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(7)), st.integers(0, 10**6))
def test_operatives_see_nothing_of_the_key(order, seed):
    """Boards that differ in covered words only look the same to operatives, not to spymasters."""
    made, rng = game(), np.random.default_rng(seed)
    state = made.begin(BOARD)
    for _ in range(int(rng.integers(8))):
        if not (due := made.due(state)):
            return
        (ask,) = due
        action = made.random(made.view(state, ask.seat), ask, rng)
        state = made.after(state, {ask.seat: action}, rng)[1]
    covered = [place for place in range(7) if state.covered >> place & 1]
    swapped = [place for place in order if place in covered]
    key = list(BOARD.key)
    for place, other in zip(covered, swapped, strict=True):
        key[place] = BOARD.key[other]
    log = made.begin(Board(BOARD.words, tuple(key))).log + state.log[2:]
    twin = state._replace(board=Board(BOARD.words, tuple(key)), log=log)
    for seat in (1, 3):
        assert properties(made.view(state, seat)) == properties(made.view(twin, seat))
        ask = Ask(seat, "guess")
        if state.clue is not None:
            one, two = (made.form(made.view(at, seat), ask) for at in (state, twin))
            assert one == two
            assert made.probes(state, ask, None, {}) == made.probes(twin, ask, None, {})
    if tuple(key) != BOARD.key:
        assert properties(made.view(state, 0)) != properties(made.view(twin, 0))


def test_deals_have_the_counts_and_every_colour_everywhere():
    made, rng = game(), np.random.default_rng(1)
    boards = [made.deal(rng).board for _ in range(300)]
    assert all(sorted(board.key) == [0, 0, 0, 1, 1, 2, 3] for board in boards)
    assert all(len(set(board.words)) == 7 for board in boards)
    for place in range(7):
        share = np.mean([board.key[place] == 0 for board in boards])
        assert share == pytest.approx(3 / 7, abs=0.12)  # four standard errors


def trail_of(made, *actions):
    state, trail = made.begin(BOARD), []
    for action in actions:
        (ask,) = made.due(state)
        trail.append(Stage(state, {ask.seat: action}))
        state = made.after(state, {ask.seat: action}, np.random.default_rng(0))[1]
    return trail, state


def test_truths_by_hand():
    made = game()
    trail, end = trail_of(made, ("wave", 2, "sea", "sun"), "sea", "tax", ("bug", 1), None)
    view = made.view(trail[0].state, 0)
    (takes,) = made.probes(view._state, Ask(0, "clue"), trail[0].actions[0], {})
    assert takes == Probe("takes", 1, ("wave", 2, "sea", "sun"))
    assert made.truth(takes, 0, trail, 0, end) == ("sea", "tax")
    meant, assassin = made.probes(trail[1].state, Ask(1, "guess"), None, {})
    assert made.truth(meant, 1, trail, 1, end) == ("sea", "sun")
    assert made.truth(assassin, 1, trail, 1, end) == "ice"
    assert made.probes(trail[2].state, Ask(1, "guess"), None, {}) == ()
    assert made.truth(Probe("takes", 3, ("bug", 1)), 2, trail, 3, end) == ()
    assert made.truth(Probe("meant", 2), 3, trail, 4, end) is None  # no words were named
    assert made.truth(Probe("takes", 3, ("bug", 1)), 2, trail[:4], 3, trail[3].state) is None


def test_hits_by_hand():
    made, takes, meant = game(), Probe("takes", 1, ("wave", 2)), Probe("meant", 0)
    assert made.hit(takes, ("sea", "oak"), ("sea", "oak")) == 1
    assert made.hit(takes, ("sea", "oak", "fox"), ("sea", "tax")) == pytest.approx(1 / 3)
    assert made.hit(takes, ("oak", "sea"), ("sea", "oak")) == 0
    assert made.hit(meant, ("oak", "sea"), ("sea", "oak")) == 1
    assert made.hit(meant, ("oak",), ("sea", "oak", "sun")) == pytest.approx(1 / 3)
    assert made.hit(Probe("assassin"), "ice", "ice") == 1


def test_answers_to_probes():
    made = game()
    state, _ = run(made, ("wave", 1), "sea", None, ("bug", 1))
    view, takes = made.view(state, 3), Probe("takes", 3, ("bug", 1))
    assert made.read(view, takes, ["Fox", "ant"]) == ("fox", "ant")
    assert made.read(view, takes, ["sea"]).error == "target"
    assert made.read(view, takes, ["fox", "fox"]).error == "rule"
    assert made.read(view, takes, ["fox", "ant", "oak"]).error == "rule"
    assert made.read(view, Probe("meant", 2), ["fox", "ant", "oak"]) == ("fox", "ant", "oak")
    assert made.read(view, Probe("assassin"), ["ice"]) == "ice"
    assert made.read(view, Probe("assassin"), []).error == "format"
