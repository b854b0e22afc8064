"""The rules of Secret Mafia by hand, what seats may know, and the scripted players."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.games.game import Ask, Event, Probe, Stage
from tomeval.games.mafia import KIND
from tomeval.games.mafia.answers import PROBES
from tomeval.games.mafia.policies import POLICIES
from tomeval.games.mafia.state import SILENT, acts, heard, label, parse, say

ROLES = ("mafia", "mafia", "doctor", "detective", "villager", "villager")


def make(**parameters):
    return KIND.make(KIND.rules(**parameters))


def after(game, state, actions, place=0):
    return game.outcomes(state, actions)[place][1]


def at_vote(game, roles=ROLES, night=None):
    """Return the state before the first vote; the Mafia kill seat 5 if nothing else is said."""
    return after(game, game.dealt(roles), night or {0: 5, 1: 5, 2: 4, 3: 0})


def play(game, policies, rng):
    """Return every state of a game."""
    states = [game.deal(rng)]
    while due := game.due(states[-1]):
        views = {ask: game.view(states[-1], ask.seat) for ask in due}
        chosen = {a.seat: policies[a.seat].act(views[a], a, None, rng) for a in due}
        for ask in due:
            assert game.fault(views[ask], ask, chosen[ask.seat]) is None
        states.append(game.after(states[-1], chosen, rng)[1])
    return states


def test_numbers_of_roles():
    counts = [sum(r == "mafia" for r in make(players=n).starts()[0][1].roles) for n in range(4, 11)]
    assert counts == [1, 1, 2, 2, 2, 2, 2]
    assert [make(players=n).mafia for n in (11, 14, 15)] == [3, 4, 4]
    assert len(make().starts()) == len(set(make().starts())) == 6 * 5 * 4 * 3 // 2


def test_a_night_kills_who_is_not_protected():
    game = make()
    start = game.dealt(ROLES)
    assert game.due(start) == (
        Ask(0, "kill"),
        Ask(1, "kill"),
        Ask(2, "protect"),
        Ask(3, "investigate"),
    )
    killed = after(game, start, {0: 5, 1: 5, 2: 4, 3: 1})
    assert killed.alive == (0, 1, 2, 3, 4)
    assert killed.findings == ((1, True),)
    assert Event("died", 5, None) in killed.log
    saved = after(game, start, {0: 5, 1: 5, 2: 5, 3: 4})
    assert saved.alive == tuple(range(6))
    assert saved.findings == ((4, False),)
    assert Event("peace", None, None) in saved.log


def test_ties_of_the_night_and_of_the_vote_are_even():
    game = make()
    found = game.outcomes(game.dealt(ROLES), {0: 4, 1: 5, 2: 5, 3: 0})
    assert [(p, s.alive) for p, s in found] == [(0.5, (0, 1, 2, 3, 5)), (0.5, tuple(range(6)))]
    found = game.outcomes(at_vote(game), {0: 2, 1: 2, 2: 0, 3: 0, 4: 3})
    assert [(p, s.alive) for p, s in found] == [(0.5, (1, 2, 3, 4)), (0.5, (0, 1, 3, 4))]
    assert found[0][1].ending == ""
    assert found[1][1].ending == "mafia"  # two of four


def test_the_village_wins_when_no_mafia_is_left():
    game = make(players=4)
    state = at_vote(game, ("mafia", "doctor", "detective", "villager"), {0: 3, 1: 2, 2: 0})
    end = after(game, state, {0: 1, 1: 0, 2: 0})
    assert end.ending == "village"
    assert game.rewards(end) == (-1, 1, 1, 1)
    assert game.wins(end) == (0, 1, 1, 1)
    assert game.rounds(end) == 1
    assert game.due(end) == ()


def test_the_last_day_has_no_winner():
    game = make(max_days=1)
    end = after(game, at_vote(game), {0: 1, 1: 0, 2: 0, 3: 0, 4: 0})
    assert game.ending(end) == "days"
    assert game.rewards(end) == (0,) * 6
    assert game.wins(end) == (0.5,) * 6


@pytest.mark.parametrize(
    ("order", "first"), [("seats", [0, 0]), ("rotating", [0, 1]), ("random", None)]
)
def test_the_order_of_talk(order, first):
    game = make(players=8, talk="acts", order=order)
    state, begins = game.dealt(ROLES + ("villager",) * 2), []
    for _ in range(2):
        found = game.outcomes(state, {0: 5, 1: 5, 2: 5, 3: 0})
        assert len({s.queue for _, s in found}) == (len(state.alive) if order == "random" else 1)
        state = found[0][1]
        begins.append(state.queue[0])
        assert sorted(state.queue) == list(state.alive)
        while state.phase == "talk":
            state = after(game, state, {state.queue[0]: SILENT})
        state = after(game, state, dict.fromkeys(state.alive, max(state.alive)))
    if first is not None:
        assert begins == first


def test_what_counts_as_said_of_the_day():
    game = make(talk="acts")
    state = at_vote(game)
    for act in (("accuse", 4), ("result", 4, "mafia"), ("defend", 4), SILENT):
        state = after(game, state, {state.queue[0]: act})
    assert state.against == (4, 4, -1, -1, -1, -1)
    assert state.claims == ((1, 4, "mafia"),)
    state = after(game, state, {4: ("result", 0, "not")})
    assert state.phase == "vote"
    assert state.claims == ((1, 4, "mafia"), (4, 0, "not"))


def test_own_rules_forbid():
    game = make()
    night, vote = game.dealt(ROLES), at_vote(game)
    cases = [
        (night, 0, "kill", 1, "rule"),
        (night, 2, "protect", 2, "rule"),
        (vote, 4, "vote", 4, "rule"),
        (vote, 4, "vote", 5, "target"),
        (vote, 4, "vote", 6, "target"),
        (vote, 4, "vote", -1, "target"),
    ]
    for state, seat, kind, action, error in cases:
        assert game.fault(game.view(state, seat), Ask(seat, kind), action).error == error
    assert game.read(game.view(vote, 4), Ask(4, "vote"), ["3"]).error == "format"
    assert game.read(game.view(vote, 4), Ask(4, "vote"), [3, 2]).error == "format"
    talking = make(talk="acts")
    view = talking.view(at_vote(talking), 0)
    assert talking.read(view, Ask(0, "act"), ["accuse 5"]).error == "target"
    assert talking.read(view, Ask(0, "act"), ["blame 4"]).error == "format"
    free = make(talk="free", message_limit=5)
    assert free.fault(free.view(at_vote(free), 0), Ask(0, "talk"), "123456").error == "rule"


def test_textarena_drops_the_kill_once_doctor_and_detective_are_dead():
    roles = ("mafia", "doctor", "detective", "villager", "villager", "villager", "mafia")
    for rules, alive in (("textarena-0.7.4", (0, 3, 4, 5, 6)), ("own", (0, 3, 4, 6))):
        game = make(players=7, rules=rules)
        state = after(game, game.dealt(roles), {0: 1, 6: 1, 1: 3, 2: 3})
        state = after(game, state, dict.fromkeys(state.alive, 2))
        assert game.due(state) == (Ask(0, "kill"), Ask(6, "kill"))
        state = after(game, state, {0: 5, 6: 5})
        assert state.alive == alive


def test_textarena_hides_votes_and_names_and_clips():
    game = make(rules="textarena-0.7.4", talk="free", message_limit=30, talk_rounds=1)
    text = "x" * 40 + " I accuse [Player 4], Player 3"
    state = after(game, at_vote(game), {0: text})
    assert state.log[-1] == Event("talk", 0, " I accuse , Player 3")
    assert state.against[0] == 3
    for seat in state.queue:
        state = after(game, state, {seat: ""})
    votes = {0: 2, 1: 2, 2: 0, 3: 2, 4: 2}
    end = after(game, state, votes)
    seen = [e for e in game.view(end, 3).events if e.kind == "vote"]
    assert {e.seat: e.data for e in seen} == {0: None, 1: None, 2: None, 3: 2, 4: None}
    assert game.view(end, 3).votes == ((3, 2),)


def test_who_breaks_the_rules():
    game = make(talk="acts")
    state = at_vote(game)
    lost = game.struck(state, Ask(0, "act"), "forfeit")
    assert game.ending(lost) == "mafia_forfeits"
    assert game.rewards(lost) == (-1, -1, 1, 1, 1, 1)
    assert game.rewards(game.struck(state, Ask(2, "act"), "forfeit")) == (1, 1, -1, -1, -1, -1)
    out = game.struck(state, Ask(0, "act"), "eliminate")
    assert (out.alive, out.queue, out.phase) == ((1, 2, 3, 4), (1, 2, 3, 4), "talk")
    assert game.ending(game.struck(state, Ask(4, "act"), "eliminate")) == "mafia"
    night = game.struck(game.dealt(ROLES), Ask(2, "protect"), "eliminate")
    assert [ask.seat for ask in game.due(night)] == [0, 1, 3]
    killed = after(game, night, {0: 2, 1: 2, 3: 0})  # dead already
    assert killed.alive == (0, 1, 3, 4, 5)


@settings(max_examples=40, deadline=None)
@given(
    players=st.integers(4, 15),
    talk=st.sampled_from(("none", "acts", "free")),
    rules=st.sampled_from(("own", "textarena-0.7.4")),
    name=st.sampled_from(sorted(POLICIES)),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_script_plays_every_role(players, talk, rules, name, seed):
    game = make(players=players, talk=talk, rules=rules, talk_rounds=1)
    states = play(game, [POLICIES[name](pick="random")] * players, np.random.default_rng(seed))
    assert states[-1].ending in ("village", "mafia")
    decisions = sum(len(game.due(state)) for state in states)
    assert decisions <= game.length
    # The side that lost is what the roles alive say, whatever the game thought.
    mafia = sum(states[-1].roles[seat] == "mafia" for seat in states[-1].alive)
    assert (mafia == 0) == (states[-1].ending == "village")


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(sorted(POLICIES)), seed=st.integers(0, 2**32 - 1))
def test_scripts_read_only_what_they_say(name, seed):
    game = make(players=7, talk="acts")
    script = POLICIES[name](pick="next")
    game.reads = script.reads
    names = ("follower", "bandwagon", "reactive", "believer", "liar", "protector")
    table = [POLICIES["random"](), *(POLICIES[name](accuses=True) for name in names)]
    for state in play(game, table, np.random.default_rng(seed)):
        if state.ending:
            break
        bare, _ = game.essence(state, 0)
        for ask in game.due(state):
            if ask.seat:
                choices = [script.choices(game.view(s, ask.seat), ask, None) for s in (state, bare)]
                assert choices[0] == choices[1]
                assert sum(p for p, _ in choices[0]) == pytest.approx(1)


def test_scripts_by_hand():
    game = make(players=6, talk="acts")
    state = at_vote(game, night={0: 5, 1: 5, 2: 4, 3: 4})
    believer, liar, reactive = (POLICIES[n]() for n in ("believer", "liar", "reactive"))
    bandwagon, protector = POLICIES["bandwagon"](), POLICIES["protector"]()
    knows = state._replace(findings=((1, True),))

    def says(script, seat, state):
        return script.choices(game.view(state, seat), Ask(seat, "act"), None)

    def votes(script, seat, state):
        return script.choices(game.view(state, seat), Ask(seat, "vote"), None)

    assert says(believer, 3, knows) == ((1.0, ("result", 1, "mafia")),)
    assert says(believer, 3, state) == ((1.0, SILENT),)
    assert says(liar, 0, state) == ((1.0, ("result", 2, "mafia")),)
    claimed = state._replace(claims=((3, 1, "mafia"),), against=(-1, -1, -1, 1, -1, -1))
    assert votes(believer, 4, claimed) == ((1.0, 1),)
    assert votes(believer, 0, claimed) == ((1.0, 2),)  # not a fellow
    assert votes(bandwagon, 4, claimed) == ((1.0, 1),)
    assert votes(reactive, 0, claimed) == ((1.0, 3),)  # who spoke against a fellow
    assert says(reactive, 1, claimed) == ((1.0, ("accuse", 3)),)
    assert says(protector, 4, claimed) == ((1.0, ("defend", 3)),)
    lie = state._replace(claims=((0, 4, "mafia"),))
    assert votes(believer, 3, lie) == ((1.0, 0),)  # the detective knows better
    grudge = POLICIES["grudge"]()
    voted = state._replace(votes=((0, 4), (2, 4), (3, 1)))
    assert votes(grudge, 4, voted) == ((1.0, 0),)
    assert votes(grudge, 0, voted) == ((1.0, 3),)
    noisy = POLICIES["follower"](noise=0.4)
    assert {s: p for p, s in votes(noisy, 4, state)} == pytest.approx(
        {0: 0.7, 1: 0.1, 2: 0.1, 3: 0.1}
    )


@given(st.integers(2, 6), st.data())
def test_acts_are_read_as_they_are_written(players, data):
    act = data.draw(st.sampled_from(acts(range(players))))
    assert parse(label(act)) == act
    assert heard(say(act), tuple(range(players))) == act


def test_probes_and_truths():
    game = make(probes=list(PROBES))
    start = game.dealt(ROLES)
    vote = at_vote(game)
    end = after(game, vote, {0: 2, 1: 2, 2: 0, 3: 2, 4: 2})
    trail = [Stage(start, {}), Stage(vote, {})]

    def names(state, seat, kind):
        return [p.name for p in game.probes(state, Ask(seat, kind), None, {})]

    assert names(start, 2, "protect") == []
    assert names(vote, 2, "vote") == ["mafia", "detective"]
    assert names(vote, 0, "vote") == ["doctor", "detective"]
    (dies,) = game.probes(start, Ask(2, "protect"), 4, {})
    (out,) = game.probes(vote, Ask(2, "vote"), 0, {})
    assert (dies, out) == (Probe("dies", given=4), Probe("voted_out", given=0))
    assert game.truth(dies, 2, trail, 0, end) == 5
    assert game.truth(out, 2, trail, 1, end) == 2
    assert game.truth(Probe("mafia"), 2, trail, 1, end) == (0, 1)
    assert game.truth(Probe("detective"), 2, trail, 1, end) == 3
    struck = game.struck(vote, Ask(0, "vote"), "forfeit")
    assert game.truth(out, 2, trail, 1, struck) is None
    assert game.hit(Probe("mafia"), (1, 4), (0, 1)) == 0.5
    view = game.view(vote, 2)
    assert game.read(view, Probe("mafia"), [4, 1]) == (1, 4)
    assert game.read(view, Probe("mafia"), [2, 1]).error == "target"
    assert game.read(view, Probe("mafia"), [1, 1]).error == "target"
    assert game.read(view, Probe("mafia"), [1]).error == "format"
    assert game.read(game.view(start, 2), dies, [-1]) == -1
