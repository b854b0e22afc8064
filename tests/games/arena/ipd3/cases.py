"""Machines and games that the tests of the three-player prisoner's dilemma share."""

from games.arena.brute_force import BruteForce
from hypothesis import strategies as st

from tomeval.games.ipd3 import KIND
from tomeval.games.ipd3.policies import Machine, Row
from tomeval.games.ipd3.states import ACT_PAIRS, ACTS, MOVES, OPPONENTS, PAIRS, sentence_of


def game_of(**rules):
    return KIND.make(KIND.rules(**rules))


def policy(name, **options):
    return KIND.policies[name](**options)


def legal(view, ask):
    """Every action that can make a difference: what a message says beyond its acts cannot."""
    if ask.kind == "talk":
        return [sentence_of(acts, OPPONENTS[ask.seat]) for acts in ACT_PAIRS]
    return list(PAIRS)


def brute(game, seat, policies):
    return BruteForce(game, seat, policies, legal)


@st.composite
def machines(draw, talk):
    """Draw a machine with up to three states, which may err, and talks only where there is talk."""
    names = ("s", "t", "u")[: draw(st.integers(1, 3))]
    state, letters = st.sampled_from(names), st.text(st.sampled_from("CD?"), min_size=3, max_size=3)
    act = st.sampled_from(ACTS if talk else ACTS[:1])
    states = {
        name: Row(
            draw(st.sampled_from(MOVES)),
            draw(act),
            draw(st.dictionaries(letters, state, max_size=3)),
            draw(st.sampled_from(("", *names))) if talk else "",
        )
        for name in names
    }
    made = type("Drawn", (Machine,), {"states": states})
    return made(noise=draw(st.sampled_from([0.0, 0.25, 0.5])))
