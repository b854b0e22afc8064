"""Machines and games that the tests of the three-player prisoner's dilemma share."""

from games.arena.brute_force import BruteForce
from hypothesis import strategies as st

from tomeval.games.ipd3 import KIND
from tomeval.games.ipd3.machine import Machine, Row
from tomeval.games.ipd3.states import ACT_PAIRS, OPPONENTS, PAIRS, sentence_of


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


def machine(noise=0.0, **rows):
    """Return a machine with this table."""
    return type("Drawn", (Machine,), {"rows": rows})(noise=noise)


@st.composite
def machines(draw, talk):
    """Draw a machine with up to three states."""
    names = ("s", "t", "u")[: draw(st.integers(1, 3))]
    state = st.sampled_from(names)
    letters = st.text(st.sampled_from("CD????"), min_size=6, max_size=6)
    acts = st.text(st.sampled_from("npt???"), min_size=2, max_size=2)
    speech = st.tuples(st.sampled_from(["me", "first", "second"]), acts, state)
    rows = {
        name: Row(
            draw(st.sampled_from("CD")),
            draw(st.sampled_from("npt")) if talk else "n",
            tuple(draw(st.lists(speech, max_size=3))) if talk else (),
            tuple(draw(st.lists(st.tuples(letters, state), max_size=4))),
        )
        for name in names
    }
    return machine(draw(st.sampled_from([0.0, 0.25, 0.5])), **rows)
