"""Values of spymasters and operatives against enumeration through the contract alone."""

import itertools

import numpy as np
import pytest
from games.arena.brute_force import BruteForce
from games.arena.codenames.cases import every_action, small_game

from tomeval.games.codenames import search
from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.values import CodenamesSolver, colourings


def line_up(paths, seat, extra=False):
    """Return policies of all other seats; operatives have another embedding than spymasters."""
    others = (other for other in range(4) if other != seat)
    return {other: EmbeddingPlayer(paths[other % 2], extra=extra) for other in others}


def compared(game, seat, policies, seed, moves, exact=True):
    """Yield V*, Q* and regrets of both along a game in which the subject moves at random."""
    rng = np.random.default_rng(seed)
    state = game.deal(rng)
    oracle = BruteForce(game, seat, policies, every_action)
    view = game.view(state, seat)
    if seat % 2:
        boards = list(colourings(view.words, {}, view.left))
        deals = [(1 / len(boards), game.begin(board)) for board in boards]
    else:
        deals = [(1.0, state)]
    beliefs = oracle.begin(deals)
    belief = beliefs[view.events]
    follower = CodenamesSolver(game, seat, policies).follow(view)
    while due := game.due(state):
        (ask,) = due
        view = game.view(state, ask.seat)
        if ask.seat == seat:
            whole = sum(weight for weight, _, _ in belief)
            values = follower.values(view, ask)
            options = every_action(view, ask)
            top = oracle.value(belief) / whole
            yield values.best, top
            for action in options[:: max(1, len(options) // 4)]:
                worth = oracle.q(belief, action) / whole
                yield values.of(action), worth
                yield values.regret(action), top - worth
            if exact:
                best = values.best_actions()[0]
                assert oracle.q(belief, best) / whole == pytest.approx(values.best, abs=1e-9)
            action = options[int(rng.integers(len(options)))]
            moves -= 1
            if not moves:
                return
        else:
            action = policies[ask.seat].act(view, ask, None, rng)
        after = oracle.successors(belief, action if ask.seat == seat else None)
        state = game.after(state, {ask.seat: action}, rng)[1]
        belief = after[game.view(state, seat).events]
        follower.observe(game.view(state, seat))


def check(game, seat, policies, seed, moves=2):
    pairs, deal = [], 100 * seed
    while not pairs:  # some games end before the seat is due
        pairs, deal = list(compared(game, seat, policies, deal, moves)), deal + 1
    for value, truth in pairs:
        assert value == pytest.approx(truth, abs=1e-9)


def cases():
    """Yield (seat, seed, counts, bank, extra guesses, moves) of the games that are enumerated."""
    for seat, seed, levels in itertools.product((0, 2), range(8), (None, 2)):
        counts = (2, 2, 1, 1) if seed % 2 else (3, 2, 1, 1)
        yield seat, seed, counts, {"clues": 3, "levels": levels, "number": 3}, False, 2
    two = {"clues": 2, "number": 2}
    for seat, seed in itertools.product((0, 2), range(3)):
        yield seat, seed, (2, 2, 1, 1), {"clues": 3, "number": 2}, True, 2
    for seat, extra, seed in itertools.product((0, 2), (False, True), range(2)):
        yield seat, seed, (2, 1, 1, 1), two, extra, 2
    for turns in range(2, 10):  # the limit of turns matters
        for seed in range(3):
            yield 0, seed, (2, 2, 1, 1), two | {"turns": turns}, False, 2
        yield 1, 1, (2, 1, 1, 1), two | {"turns": turns}, False, 2
    for seat in (1, 3):
        for seed in range(3):
            yield seat, seed, (2, 1, 1, 1), {"clues": 4, "number": 2}, False, 3
        yield seat, 3, (2, 2, 0, 1), {"clues": 3, "number": 1}, False, 2  # both have two words
        yield seat, 2, (2, 1, 0, 1), {"clues": 3, "number": 1}, False, 2


@pytest.mark.parametrize(("seat", "seed", "counts", "bank", "extra", "moves"), list(cases()))
def test_values_are_those_of_enumeration(tmp_path, seat, seed, counts, bank, extra, moves):
    board = 1 if "turns" in bank else seed
    game, paths = small_game(tmp_path, counts, board, **bank)
    check(game, seat, line_up(paths, seat, extra), seed, moves)


@pytest.mark.parametrize("played", [0, 60])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_right_or_none_where_a_search_is_cut_off(tmp_path, monkeypatch, seed, played):
    """With hardly any budget, and with few outcomes tried."""
    monkeypatch.setattr(search, "WHOLE", 0)
    monkeypatch.setattr(search, "WIDTHS", (1,))
    monkeypatch.setattr(search, "PLAYED", played)
    monkeypatch.setattr(search, "GUESSED", 300)
    monkeypatch.setattr("tomeval.games.codenames.values.GUESSED_LATER", 300)
    spymaster, paths = small_game(tmp_path, (2, 2, 0, 1), seed, clues=2, number=2)
    pairs = list(compared(spymaster, 0, line_up(paths, 0), seed, 1, exact=False))
    operative, paths = small_game(tmp_path, (2, 1, 1, 1), 0, clues=4, number=2)
    pairs += compared(operative, 1, line_up(paths, 1), 0, 1, exact=False)
    assert None in [value for value, _ in pairs]
    for value, truth in pairs:
        assert value in (None, pytest.approx(truth, abs=1e-9))


def test_posteriors_by_enumeration(tmp_path):
    """The chance of each assassin, and of each set of words meant, given one clue."""
    game, paths = small_game(tmp_path, (2, 2, 1, 1), 5, clues=4, number=2)
    policies = line_up(paths, 1)
    rng = np.random.default_rng(1)
    state = game.deal(rng)
    follower = CodenamesSolver(game, 1, policies).follow(game.view(state, 1))
    boards = list(colourings(state.board.words, {}, game.view(state, 1).left))
    assert len(boards) == 180
    clue = policies[0].act(game.view(state, 0), game.due(state)[0], None, rng)
    assassins, meant = {}, {}
    for board in boards:
        other = game.begin(board)
        for chance, said in policies[0].choices(game.view(other, 0), game.due(other)[0], None):
            if said[:2] == clue[:2]:
                word = board.words[board.key.index(3)]
                assassins[word] = assassins.get(word, 0) + chance
                meant[said[2:]] = meant.get(said[2:], 0) + chance
    state = game.after(state, {0: clue}, rng)[1]
    view, (ask,) = game.view(state, 1), game.due(state)
    values = follower.values(view, ask)
    probes = {probe.name: probe for probe in game.probes(view._state, ask, None, {})}
    whole = sum(assassins.values())
    expected = {word: weight / whole for word, weight in assassins.items()}
    assert values.observer(probes["assassin"]) == pytest.approx(expected)
    assert values.answer(probes["assassin"])[1] == pytest.approx(max(expected.values()))
    found = values.observer(probes["meant"])
    assert found == pytest.approx({words: weight / whole for words, weight in meant.items()})
    answer = values.answer(probes["meant"])[0]
    score = sum(p * game.hit(probes["meant"], answer, words) for words, p in found.items())
    assert score == pytest.approx(values.answer(probes["meant"])[1])


def paths_of(game, policy, state, seat):
    """Return the chance of every sequence of words that an operative takes, by walking the game."""
    if state.ending or state.seat != seat:
        return {(): 1.0}
    found = {}
    (ask,) = game.due(state)
    for chance, action in policy.choices(game.view(state, seat), ask, None):
        after = game.outcomes(state, {seat: action})[0][1]
        for rest, weight in paths_of(game, policy, after, seat).items():
            words = rest if action is None else (action, *rest)
            found[words] = found.get(words, 0.0) + chance * weight
    return found


@pytest.mark.parametrize("extra", [False, True])
def test_the_sequence_that_an_operative_takes(tmp_path, extra):
    game, paths = small_game(tmp_path, (3, 2, 1, 1), 2)
    policies = line_up(paths, 0, extra)
    state = game.deal(np.random.default_rng(1))
    view, (ask,) = game.view(state, 0), game.due(state)
    values = CodenamesSolver(game, 0, policies).follow(view).values(view, ask)
    for number in (1, 2, 3):
        clue = (game.bank.clues[0], number)
        (probe,) = game.probes(view._state, ask, clue, {})
        heard = game.outcomes(state, {0: clue})[0][1]
        expected = paths_of(game, policies[1], heard, 1)
        assert values.observer(probe) == pytest.approx(expected)
        assert game.hit(probe, values.answer(probe)[0], next(iter(expected))) == 1
        assert values.answer(probe)[1] == 1


def test_acting_on_what_a_spymaster_expects(tmp_path):
    """A clue of which she expects a loss gives way to the best one; a win is what she waits for."""
    game, paths = small_game(tmp_path, (2, 2, 1, 1), 0, clues=3, number=2)
    replies = set()
    for seed in range(6):
        policies = line_up(paths, 0)
        state = game.deal(np.random.default_rng(seed))
        view, (ask,) = game.view(state, 0), game.due(state)
        values = CodenamesSolver(game, 0, policies).follow(view).values(view, ask)
        clue = (game.bank.clues[0], 2)
        (probe,) = game.probes(view._state, ask, clue, {})
        colour = view.key
        own = tuple(word for word in view.words if colour[word] == "red")
        assassin = next(word for word in view.words if colour[word] == "assassin")
        assert values.reply({probe: own}) == clue  # both own words: she expects to win
        loss = values.reply({probe: (assassin,)})
        assert loss == (values.best_actions()[0] if values.best > -1 else clue)
        replies.add(loss == clue)
        assert values.regret(loss) <= values.regret(clue)
        assert values.reply({probe: (assassin, own[0])}) is None  # the turn was over
        assert values.reply({}) is None
    assert False in replies


def test_acting_on_what_an_operative_believes(tmp_path):
    game, paths = small_game(tmp_path, (2, 1, 1, 1), 0, clues=4, number=2)
    policies = line_up(paths, 1)
    rng = np.random.default_rng(0)
    state = game.deal(rng)
    follower = CodenamesSolver(game, 1, policies).follow(game.view(state, 1))
    action = policies[0].act(game.view(state, 0), game.due(state)[0], None, rng)
    state = game.after(state, {0: action}, rng)[1]
    view, (ask,) = game.view(state, 1), game.due(state)
    values = follower.values(view, ask)
    meant, assassin = game.probes(view._state, ask, None, {})
    one, two = view.covered[:2]
    assert values.reply({meant: (two, one)}) == two
    assert values.reply({meant: (two, one), assassin: one}) is None
    assert values.reply({meant: ()}) is None
    assert values.reply({assassin: one}) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_search_that_widens_ends_with_the_exact_value(tmp_path, monkeypatch, seed):
    """Losses too, which only the whole width can tell."""
    monkeypatch.setattr(search, "WHOLE", 0)
    monkeypatch.setattr(search, "WIDTHS", (1, 2, 10**9))
    game, paths = small_game(tmp_path, (2, 2, 1, 1), seed, clues=3, number=2)
    for seat in (0, 2):
        check(game, seat, line_up(paths, seat), seed)
