"""Machines and games that the tests of the three-player prisoner's dilemma share."""

from games.arena.brute_force import BruteForce
from hypothesis import strategies as st

from tomeval.games.ipd3 import KIND
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


NAMES = ("s", "t", "u")
PROBABILITIES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
ACTS = st.one_of(
    st.sampled_from(["none", "promise", "threaten"]),
    st.just({"promise": 0.5, "none": 0.5}),
    st.just({"promise": 0.25, "threaten": 0.75}),
)


@st.composite
def machines(draw, talk, size=3):
    """Draw a machine with up to `size` states, for both opponents at once or for each."""
    each = draw(st.booleans())
    names = NAMES[: draw(st.integers(1, size))]
    state = st.sampled_from(names)
    letters = st.text(st.sampled_from("CD????"), min_size=6, max_size=6)
    speech = st.tuples(
        st.sampled_from(["me", "first", "second"]),
        st.text(st.sampled_from("npt???"), min_size=2, max_size=2),
        state,
    )
    states = {}
    for name in names:
        row = {"moves": draw(st.lists(st.tuples(letters, state), max_size=4))}
        two = [draw(PROBABILITIES), draw(PROBABILITIES)]
        row["cooperates"] = two[0] if each else two
        if talk:
            said = [draw(ACTS), draw(ACTS)]
            row["says"] = said[0] if each else said
            row["hears"] = draw(st.lists(speech, max_size=3))
        states[name] = row
    return policy("machine", first=names[0], states=states, each=each)
