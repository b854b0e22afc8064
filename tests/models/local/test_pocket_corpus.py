"""The corpus of the pocket model holds what it should, in the tokens that the model will read."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from documents import draw_documents  # noqa: E402
from encoding import encode  # noqa: E402
from plays import HELD_OUT_GAME, HELD_OUT_LABELS, draw_play  # noqa: E402

from tomeval.games.matrix.games import GAMES, NONSENSE  # noqa: E402
from tomeval.games.matrix.optima import best_response  # noqa: E402
from tomeval.models import open_model  # noqa: E402
from tomeval.models.base import Message, Prompt, ScoreRequest  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def pocket():
    return open_model({"name": "pocket", "prefix_reuse": False})


def plays(own_play: str, count: int = 150):
    rng = np.random.default_rng(3)
    return [draw_play(rng, 8, own_play) for _ in range(count)]


def test_what_is_held_out_never_appears() -> None:
    for play in plays("varied") + plays("constant") + plays("best"):
        assert play.game.name != HELD_OUT_GAME
        assert not np.array_equal(play.game.payoffs, GAMES[HELD_OUT_GAME].payoffs)
        assert play.labels.name != HELD_OUT_LABELS
        words = {name.casefold() for name in play.labels.own + play.labels.partner}
        assert not words & {name.casefold() for name in NONSENSE}


def test_own_play_of_the_main_variant_earns_no_more_than_chance() -> None:
    """Over uniformly drawn roles, play that ignores the payoffs earns their mean."""
    earned, expected = [], []
    for play in plays("varied", 600):
        if len(play.partner.emissions) == 1:  # partners that do not react
            worth = play.game.own @ play.partner.emissions[0]
            earned.append(np.mean([worth[joint.own] for joint in play.joints]) - worth.mean())
            expected.append(worth.std())
    error = np.std(earned) / np.sqrt(len(earned))
    assert abs(np.mean(earned)) < 4 * error
    assert np.mean(expected) > 10 * error  # a best responder would stand out


def test_the_rational_variant_is_taught_the_exact_best_response() -> None:
    for play in plays("best", 40):
        plan = best_response(play.game, play.partner, play.horizon)
        for step, (state, target) in enumerate(zip(play.states, play.targets, strict=True)):
            assert plan.optimal[step, state, target]


def test_a_branch_is_the_prompt_that_the_model_reads(pocket) -> None:
    """Root tokens and branch tokens in a row are the backend's tokens of the prompt."""
    rng = np.random.default_rng(0)
    checked = 0
    for _ in range(12):
        for document in draw_documents(rng, int(rng.integers(1, 9)), own_play="varied"):
            found = encode(document, pocket.tokenizer)
            length = len(found.ids)
            for branch, begin in zip(
                document.branches, sorted(set(found.begins) - {length}), strict=True
            ):
                inside = np.flatnonzero(found.begins == begin)
                sees = int(found.sees_root[begin])
                tokens = [*found.ids[:sees], *found.ids[inside]]
                assert found.positions[inside].tolist() == list(range(sees, len(tokens)))
                content = document.text[: branch.offset] + branch.question
                prompt = Prompt((Message("user", content),), branch.prefill)
                if branch.kind.endswith(" lm"):
                    label = branch.answer.strip()
                    query = pocket.codec.label_query(ScoreRequest(prompt, (label, "Zzz")))
                    assert tokens == [*query.prefix, *query.sequences[0]]
                else:
                    ids, _ = pocket.codec.encode(prompt)
                    assert tokens[: len(ids)] == ids
                checked += 1
    assert checked > 100
