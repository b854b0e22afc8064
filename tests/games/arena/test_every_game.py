"""What every game of the arena owes the table: rules, replays, hidden information, answers."""

import itertools
import json
from collections import defaultdict

import numpy as np
import pytest
from arena_contest import contest

from tomeval.games.arena.named_games import GAMES, get_kind, named_game
from tomeval.games.arena.replaying import replay
from tomeval.games.game import Broken
from tomeval.games.played import frozen
from tomeval.strategies.templates import Prompts

SMALL = {
    "ipd3": {"game": "ipd3", "rounds": 3},
    "ipd3 without talk": {"game": "ipd3", "rounds": 4, "talk": 0, "reward": "rank"},
    "blotto": {"game": "blotto", "fields": 3, "units": 4, "rounds": 3},
    "blotto by rounds": {
        **{"game": "blotto", "fields": 3, "units": 4, "rounds": 3, "reward": "rounds"},
        **{"win": 7.0, "tie": 1.0, "loss": -5.0},
    },
    "codenames": {"game": "codenames", "red": 3, "blue": 3, "neutral": 2, "assassin": 1},
    "mafia": {"game": "mafia"},
    "mafia with acts": {"game": "mafia", "talk": "acts"},
    "mafia as in TextArena": {
        **{"game": "mafia", "talk": "acts", "players": 4, "rules": "textarena-0.7.4"}
    },
    "mafia with free talk": {"game": "mafia", "talk": "free", "players": 7},
    "contest of an extension": {"game": "example_name", "most": 6, "rounds": 2},
}


@pytest.fixture(scope="module", autouse=True)
def _with_the_example():
    with contest():
        yield


def made(name):
    return named_game(name, SMALL[name], "x.toml: games.x").game


def played(game, seed):
    """Return states, marks and actions of a game of random legal actions."""
    rng = np.random.default_rng(seed)
    states, record, actions = [game.deal(rng)], [], {}
    while due := game.due(states[-1]):
        said = {}
        for ask in due:
            said[ask.seat] = game.random(game.view(states[-1], ask.seat), ask, rng)
        place, after = game.after(states[-1], said, rng)
        actions[len(record)] = said
        record.append(place)
        states.append(after)
    return states, record, actions


def decisions(game, seeds):
    """Yield (view, ask, action) of every decision of some games."""
    for seed in range(seeds):
        states, _, actions = played(game, seed)
        for stage, said in actions.items():
            for ask in game.due(states[stage]):
                yield game.view(states[stage], ask.seat), ask, said[ask.seat]


@pytest.fixture(params=SMALL)
def game(request):
    return made(request.param)


def test_random_games_end_and_are_paid(game):
    for seed in range(20):
        states, _, actions = played(game, seed)
        end = states[-1]
        assert game.ending(end) in game.endings
        assert sum(map(len, actions.values())) <= game.length
        rewards, wins, teams = game.rewards(end), game.wins(end), game.teams(end)
        assert len(rewards) == len(wins) == len(game.roles(end)) == game.seats
        assert all(0 <= win <= 1 for win in wins)
        assert game.rounds(end) >= 1
        assert sorted(itertools.chain(*teams)) == list(range(game.seats))
        if len(teams) == game.seats:
            assert sum(wins) == pytest.approx(1)


def test_a_game_is_replayed_from_its_record(game):
    for seed in range(5):
        states, record, actions = played(game, seed)
        kept = json.loads(json.dumps([actions[stage] for stage in range(len(record))]))
        again = {
            stage: {int(seat): frozen(action) for seat, action in said.items()}
            for stage, said in enumerate(kept)
        }
        assert again == actions
        found = [after for _, after in replay(game, states[0], record, again)]
        assert found == states[1:]


def test_chance_is_a_distribution_and_the_same_each_time(game):
    for seed in range(5):
        states, record, actions = played(game, seed)
        for stage in range(len(record)):
            found = game.outcomes(states[stage], actions[stage])
            assert sum(weight for weight, _ in found) == pytest.approx(1, abs=1e-12)
            assert all(weight > 0 for weight, _ in found)
            assert game.outcomes(states[stage], actions[stage]) == found


def test_random_actions_are_legal_and_written_as_they_are_read(game):
    for view, ask, action in decisions(game, 10):
        assert game.fault(view, ask, action) is None
        items = game.written(view, ask, action)
        form = game.form(view, ask)
        assert fits(form, items)
        assert json.loads(json.dumps(items)) == items
        assert game.read(view, ask, items) == action
        if form.labels:
            assert str(items[0]) in form.labels


def test_every_label_can_be_read(game):
    for view, ask, _ in decisions(game, 5):
        form = game.form(view, ask)
        for label in form.labels:
            assert not isinstance(game.read(view, ask, form.items(label)), Broken), label
        for probe in game.probes(view._state, ask, None, {}):
            form = game.form(view, probe)
            for label in form.labels:
                items = form.items(label)
                assert not isinstance(game.read(view, probe, items), Broken), label


def fits(form, items):
    """Tell whether items have the form; a reader refuses all others before the game sees them."""
    return (not form.size or len(items) == form.size) and all(type(i) is form.kind for i in items)


def test_one_step_payoffs_are_parts_of_the_reward(game):
    """Over a game those of what was done sum to the reward, but for one constant; or none has one.

    So belief and response, which are differences of them, have the unit of regret.
    """
    without, rest = set(), set()
    for seed in range(10):
        states, _, actions = played(game, seed)
        for seat, reward in enumerate(game.rewards(states[-1])):
            mine = [at for at in actions if seat in actions[at]]
            paid = [game.stepwise(states[at], seat, actions[at], None) for at in mine]
            without |= {one is None for one in paid}
            if None not in paid:
                assert all(one.best >= one.chosen for one in paid)
                rest.add(round(reward - sum(one.chosen for one in paid), 9))
    assert len(without) == 1
    assert without == {True} or len(rest) == 1


def test_what_is_hidden_changes_no_view(game):
    """States that a seat has seen the same of must look the same, whatever else is true."""
    seen = defaultdict(set)
    pairs = 0
    for seed in range(30):
        for state in played(game, seed)[0]:
            for seat in range(game.seats):
                view = game.view(state, seat)
                due = tuple(ask for ask in game.due(state) if ask.seat == seat)
                names = [n for n in dir(view) if not n.startswith("_") and n not in ("game",)]
                shown = {n: getattr(view, n) for n in names if not callable(getattr(view, n))}
                key = (seat, view.events, due)
                pairs += len(seen[key]) > 0
                seen[key].add(repr(shown))
    # No two boards of Codenames are alike: that game has a test of its own.
    assert pairs > 10 or game.name == "codenames"
    odd = [key for key, shown in seen.items() if len(shown) > 1]
    assert not odd, seen[odd[0]]


def test_events_only_grow(game):
    for seed in range(3):
        states = played(game, seed)[0]
        for before, after in itertools.pairwise(states):
            assert game.events(after)[: len(game.events(before))] == game.events(before)
            for event in game.events(after):
                assert game.line(event) == game.line(event).strip() != ""


def test_rotations_seat_everybody(game):
    for seats in game.rotations:
        assert sorted(seats) == list(range(game.seats))
    assert sorted(seats[0] for seats in game.rotations) == list(range(game.seats))


def test_truths_show_at_the_end(game):
    from tomeval.games.game import Stage

    told = 0
    for seed in range(10):
        states, record, actions = played(game, seed)
        trail = [Stage(states[i], actions[i]) for i in range(len(record))]
        for at in range(len(record)):
            for ask in game.due(states[at]):
                view = game.view(states[at], ask.seat)
                for probe in game.probes(view._state, ask, None, {}):
                    truth = game.truth(probe, ask.seat, trail, at, states[-1])
                    if truth is not None:
                        assert game.hit(probe, truth, truth) == 1
                        told += 1
    assert told


def test_a_seat_that_breaks_the_rules_loses_or_is_out(game):
    for how in set(game.on_broken) & {"forfeit", "eliminate"}:
        for seed in range(5):
            states, record, _ = played(game, seed)
            for stage in range(len(record)):
                ask = game.due(states[stage])[0]
                after = game.struck(states[stage], ask, how)
                assert all(other.seat != ask.seat for other in game.due(after))
                if how == "forfeit":
                    assert not game.due(after)
                    assert game.wins(after)[ask.seat] == 0
                    assert game.rewards(after)[ask.seat] <= min(game.rewards(states[-1]))


OPTIONS = {
    "mixture": {"allocations": [[4, 0, 0], [1, 1, 2]], "weights": [1, 3], "noise": 0.1},
    "retaliator": {"noise": 0.3},
}
"""Of scripted players that need any."""


def test_scripted_players_choose_among_legal_actions(game):
    rng = np.random.default_rng(1)
    for name, cls in get_kind(game.name).policies.items():
        policy = cls(**{k: frozen(v) for k, v in OPTIONS.get(name, {}).items()})
        if getattr(policy, "talks", False) and not game.rules.talk:
            continue
        policy.fits(game)
        assert policy.about
        assert len({policy}) == 1
        state = game.deal(rng)
        memories = [policy.start(game.view(state, seat)) for seat in range(game.seats)]
        for _ in range(6):
            if not (due := game.due(state)):
                break
            actions = {}
            for ask in due:
                view, memory = game.view(state, ask.seat), memories[ask.seat]
                choices = policy.choices(view, ask, memory)
                legal = [action for _, action in choices]
                assert sum(weight for weight, _ in choices) == pytest.approx(1, abs=1e-12)
                assert len(set(legal)) == len(legal)
                for action in legal[:50]:
                    assert game.fault(view, ask, action) is None
                before = rng.bit_generator.state
                actions[ask.seat] = policy.act(view, ask, memory, rng)
                assert actions[ask.seat] in legal
                if policy.without_chance:
                    assert len(legal) == 1
                    assert rng.bit_generator.state == before
            _, state = game.after(state, actions, rng)
            for seat in range(game.seats) if policy.remembers else ():
                memories[seat] = policy.observe(game.view(state, seat), memories[seat])


def test_templates_render_for_every_seat(game):
    prompts = Prompts("arena").beside(game.templates)

    def render(name, **values):
        text = prompts.render(f"{game.name}/{name}", game=game, **values)
        assert text
        assert "None" not in text
        return text

    for view, ask, action in decisions(game, 4):
        render(f"ask/{ask.kind}", view=view, ask=ask)
        assert "A: {" in render(f"examples/{ask.kind}", view=view, marker="A:")
        for probe in game.probes(view._state, ask, None, {}) + game.probes(
            view._state, ask, action, {}
        ):
            render(f"probe/{probe.name}", view=view, ask=ask, probe=probe)
    for seed in range(4):
        states = played(game, seed)[0]
        for seat, role in enumerate(game.roles(states[-1])):
            view = game.view(states[-1], seat)
            rules = render("rules", view=view)
            assert len(set(game.roles(states[-1]))) == 1 or role in rules.lower()
            for event in view.events:
                assert game.line(event)
                assert "\n" not in render("event", view=view, event=event)


def test_all_games_are_tried():
    assert {table["game"] for table in SMALL.values()} == {*GAMES, "example_name"}
