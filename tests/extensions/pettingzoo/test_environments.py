"""Games of the arena as PettingZoo's environments, by that package's own tests and by hand."""

import importlib
import importlib.util

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.games import get_kind
from tomeval.domains.arena.games.blotto.allocations import every
from tomeval.extensions.pettingzoo.aec import aec_env

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("pettingzoo") is None,
    reason="environments of PettingZoo need its package: pip install 'tomeval[pettingzoo]'",
)

GAMES = [
    ("ipd3", {"talk": 1, "rounds": 2}),
    ("ipd3", {"talk": 0, "reward": "rank"}),
    ("blotto", {"preset": "small"}),
    ("blotto", {"preset": "large"}),
    ("codenames", {}),
    ("mafia", {"talk": "none"}),
    ("mafia", {"talk": "acts", "players": 7}),
]


def policy(game, name, **options):
    return get_kind(game).policies[name](**options)


@needs_package
@pytest.mark.filterwarnings(
    "ignore"
)  # it warns of observations that are all zeros: nothing is known yet
@pytest.mark.parametrize(("name", "rules"), GAMES)
def test_the_packages_own_tests(name, rules):
    tests = importlib.import_module("pettingzoo.test")
    tests.api_test(aec_env(name, rules), num_cycles=200)
    tests.seed_test(lambda: aec_env(name, rules), num_cycles=30)


def play(env, choose, seed=1):
    """Play a game; return what every agent got in all, and its observations."""
    env.reset(seed=seed)
    total = dict.fromkeys(env.agents, 0.0)
    seen = []
    for agent in env.agent_iter():
        observation, reward, ended, _, info = env.last()
        total[agent] += reward
        seen.append((agent, info["text"]))
        assert bytes(observation["observation"]).rstrip(b"\0").decode() == info["text"]
        env.step(None if ended else choose(agent, observation))
    return total, seen


@needs_package
def test_payoffs_by_hand():
    env = aec_env("ipd3", {"talk": 0, "rounds": 2})
    choices = {"seat_0": 3, "seat_1": 0, "seat_2": 0}  # defects on both; cooperate with both
    total, seen = play(env, lambda agent, _: choices[agent])
    assert total == {"seat_0": 20.0, "seat_1": 6.0, "seat_2": 6.0}
    assert [agent for agent, _ in seen] == ["seat_0", "seat_1", "seat_2"] * 3
    assert seen[0][1] == seen[2][1] == ""  # decided at once
    assert "Player 0 defects on Player 1" in seen[3][1]


@needs_package
def test_regret_by_hand():
    others = {seat: policy("ipd3", "always_cooperate") for seat in (1, 2)}
    rules = {"talk": 0, "rounds": 3}
    for choice, lost in ((0, 4.0), (1, 2.0), (2, 2.0), (3, 0.0)):  # 5 - 3 for each cooperation
        env = aec_env("ipd3", rules, policies=others, reward="regret")
        total, seen = play(env, lambda agent, _, choice=choice: choice)
        assert total == {"seat_0": -3 * lost}
        assert [agent for agent, _ in seen] == ["seat_0"] * 4
    env = aec_env("ipd3", rules, policies=others)
    assert play(env, lambda agent, _: 3)[0] == {"seat_0": 30.0}


@needs_package
def test_what_is_lost_and_what_is_got_add_up_to_the_best():
    """Against policies without chance, payoff + regrets = V*, whatever the agent does."""
    rules, rng = {"talk": 0, "rounds": 6}, np.random.default_rng(3)
    others = {0: policy("ipd3", "tit_for_tat"), 1: policy("ipd3", "grim")}
    sums = set()
    for _ in range(10):
        choices = rng.integers(4, size=6).tolist()
        found = []
        for reward in ("payoff", "regret"):
            left = iter(choices)
            env = aec_env("ipd3", rules, policies=others, reward=reward)
            found.append(play(env, lambda agent, _, left=left: next(left))[0]["seat_2"])
        sums.add(round(found[0] - found[1], 9))
    assert len(sums) == 1


@needs_package
def test_illegal_actions_and_masks():
    env = aec_env("mafia", {"talk": "none"})
    env.reset(seed=2)
    observation, *_ = env.last()
    mask = observation["action_mask"]
    illegal = int(np.flatnonzero(mask == 0)[0])
    with pytest.raises(TomevalError, match=f"action {illegal}"):
        env.step(illegal)
    with pytest.raises(TomevalError, match="no action of"):
        env.step(10_000)
    env.step(int(np.flatnonzero(mask)[0]))


@needs_package
def test_what_is_hidden_is_not_observed():
    env = aec_env("mafia", {"talk": "none"})
    env.reset(seed=5)
    state = env.unwrapped.state_now
    for agent in env.agents:
        seen = env.unwrapped.text(agent)
        for seat, role in enumerate(state.roles):
            told = f"Player {seat} is dealt the role {role}" in seen
            assert told == (agent == f"seat_{seat}")


def test_allocations_by_number_are_all_of_them_in_order():
    game = get_kind("blotto").make(get_kind("blotto").rules())
    menu = game.menu(0)
    assert [list(menu.action(None, None, i)) for i in range(menu.size)] == every(3, 20).tolist()


@pytest.mark.parametrize(("name", "rules"), GAMES)
def test_masked_actions_are_those_that_the_judge_allows(name, rules):
    kind = get_kind(name)
    rules = {**kind.presets.get(rules.get("preset"), {}), **rules}
    rules.pop("preset", None)
    game = kind.make(kind.rules(**rules))
    rng = np.random.default_rng(4)
    state = game.deal(rng)
    for _ in range(6):
        due = game.due(state)
        if not due:
            break
        actions = {}
        for ask in due:
            view, menu = game.view(state, ask.seat), game.menu(ask.seat)
            legal = np.ones(min(menu.size, 300)) if menu.legal is None else menu.mask(view, ask)
            places = np.flatnonzero(legal)
            assert len(places)
            tried = rng.choice(min(len(legal), 5000), 20)
            for place in tried[legal[tried] == 1]:
                assert game.fault(view, ask, menu.action(view, ask, int(place))) is None
            actions[ask.seat] = menu.action(view, ask, int(rng.choice(places)))
            if menu.legal is not None:
                assert not menu.mask(view, None).any()
        _, state = game.after(state, actions, rng)


@needs_package
def test_a_text_that_is_too_long_is_an_error():
    env = aec_env("codenames", observation_size=10)
    with pytest.raises(TomevalError, match="give a larger observation_size"):
        play(env, lambda agent, _: 0)


def test_bad_arguments_are_one_line(monkeypatch):
    cooperate = policy("ipd3", "always_cooperate")
    for arguments, words in (
        ({"reward": "regrets"}, "did you mean 'regret'"),
        ({"reward": "regret"}, "needs policies in all seats but one"),
        ({"policies": {3: cooperate}}, "seats 0 to 2, not 3"),
        ({"policies": dict.fromkeys(range(3), cooperate)}, "no agent is left"),
        ({"rules": {"round": 3}}, "did you mean 'rounds'"),
        ({"rules": {"preset": "big"}}, "unknown preset"),
    ):
        with pytest.raises(TomevalError, match=words):
            aec_env("ipd3", **arguments)
    with pytest.raises(TomevalError, match="did you mean 'mafia'"):
        aec_env("maffia")

    real = importlib.import_module

    def missing(name, package=None):
        if "zoo.environment" in name:
            raise ModuleNotFoundError(f"No module named {name!r}", name="pettingzoo")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(TomevalError, match=r"tomeval\[pettingzoo\]"):
        aec_env("ipd3")
