"""Values of 23 settings, as solvers of their own said before they were one."""

import json
from pathlib import Path

import numpy as np
import pytest

from tomeval.games.codenames import KIND
from tomeval.games.codenames.policies import EmbeddingPlayer
from tomeval.games.codenames.values import CodenamesSolver

KNOWN = json.loads(Path(__file__).with_name("known_values.json").read_text(encoding="utf-8"))
SHIPPED = {"small": dict(KIND.presets["small"]), "full": {}}


def settings():
    """Return (board, embeddings of mate and foes, options, seat) by name."""
    found = {}
    for mate, foe in (("minilm", "minilm"), ("wordnet", "minilm"), ("minilm", "wordnet")):
        for board, seats in (("small", (0, 1, 2, 3)), ("full", (0, 1, 2))):
            for seat in seats:
                found[f"{board}, seat {seat}, {mate}, {foe}"] = board, (mate, foe), {}, seat
    extra = {"extra": True}
    found["small, seat 0, extra"] = "small", ("wordnet", "minilm"), extra, 0
    found["small, seat 1, extra"] = "small", ("minilm", "minilm"), extra, 1
    return found


def values_of(board, players, options, seat):
    """Return what every decision of one game is worth, and some actions; who plays is greedy."""
    game = KIND.make(KIND.rules(**SHIPPED[board]))
    mate, foe = (EmbeddingPlayer(name, **options) for name in players)
    own = EmbeddingPlayer("minilm")
    others = {o: mate if o // 2 == seat // 2 else foe for o in range(4) if o != seat}
    rng = np.random.default_rng(seat + 4 * sum(map(len, players)))
    state, found = game.deal(rng), []
    follower = CodenamesSolver(game, seat, others).follow(game.view(state, seat))
    while due := game.due(state):
        (ask,) = due
        view = game.view(state, ask.seat)
        action = (others | {seat: own})[ask.seat].act(view, ask, None, rng)
        if ask.seat == seat:
            drawn = game.random(view, ask, rng)
            values, tried = follower.values(view, ask), [action, drawn, None]
            probes = [*game.probes(state, ask, None, {}), *game.probes(state, ask, action, {})]
            found.append(
                values
                and {
                    "best": values.best,
                    "q": [values.of(one) for one in tried],
                    "regret": [values.regret(one) for one in tried],
                    "attainable": [(values.answer(probe) or (0, None))[1] for probe in probes],
                    "guess": [(values.answer(probe) or (None,))[0] for probe in probes],
                    "reply": [
                        values.reply({probe: own.predict(view, ask, probe, None)})
                        for probe in probes
                    ],
                }
            )
            action = drawn if len(found) % 3 == 0 else action
        state = game.after(state, {ask.seat: action}, rng)[1]
    return found


SLOW = [name for name in KNOWN if name.startswith("small, seat 1")]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in KNOWN],
)
def test_values_are_those_of_solvers_that_are_gone(name):
    found = json.loads(json.dumps(values_of(*settings()[name])))
    assert len(found) == len(KNOWN[name])
    assert [now is None for now in found] == [before is None for before in KNOWN[name]]
    for now, before in zip(filter(None, found), filter(None, KNOWN[name]), strict=True):
        assert (now["guess"], now["reply"]) == (before["guess"], before["reply"])
        for key in ("best", "q", "regret", "attainable"):
            assert flat(now[key]) == pytest.approx(flat(before[key]), abs=1e-12)


def flat(values):
    """Return numbers in lists as one list; None is no number."""
    if isinstance(values, list):
        return [number for one in values for number in flat(one)]
    return [float("inf") if values is None else values]
