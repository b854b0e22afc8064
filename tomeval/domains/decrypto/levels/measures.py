"""The level of every seat as a measure with a value for each game, so that games can be compared.

Only runs whose experiment names an embedding as ``levels`` have it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tomeval.domains.decrypto.embedding_players import Floats
from tomeval.domains.decrypto.levels.choices import Choices, choices_of_cell
from tomeval.domains.decrypto.levels.rsa import LEVELS, softmax
from tomeval.domains.decrypto.played import Played
from tomeval.domains.decrypto.results import DecryptoRunCell
from tomeval.domains.decrypto.seats import NAMES
from tomeval.lexicon.embeddings import shipped_embedding
from tomeval.runs.measures import Measure, Totals, registry


def game_levels(cell: DecryptoRunCell, role: str) -> Totals:
    """Return the sum over a game's turns of the seat's expected level, and their number.

    A turn's expected level is that of the posterior over levels 0, 1 and 2 from equal odds; turns
    without a choice that can be judged do not count. The rationality is the one that makes the
    choices of all games of the cell most likely, with equal odds for the levels of every turn.
    """
    choices = choices_of_cell(cell, role, shipped_embedding(cell.definition["levels"]))
    place = {label: index for index, label in enumerate(cell.played.clusters.tolist())}
    top, bottom = np.zeros(len(place)), np.zeros(len(place))
    for deal, level in turn_levels(choices):
        top[place[deal]] += level
        bottom[place[deal]] += 1
    return Totals(top, bottom)


def turn_levels(choices: Choices) -> list[tuple[str, float]]:
    """Return the deal and the expected level of every turn with a choice that can be judged."""
    logs: dict[int, Floats] = {}
    deals = dict(zip(choices.turns, choices.deals, strict=True))
    for turn, found in zip(choices.turns, choices.logs, strict=True):
        logs[turn] = logs[turn] + found if turn in logs else found
    if not logs:
        return []
    turns = np.stack(list(logs.values()))  # (T, 3, alphas)
    likely = np.logaddexp.reduce(turns, axis=1).sum(axis=0)
    posterior = [softmax(found[:, int(likely.argmax())]) for found in turns]
    return [(deals[turn], float(at @ LEVELS)) for turn, at in zip(logs, posterior, strict=True)]


def _of(role: str, played: Played, reference: str) -> Totals:
    if played.levels is None:
        missing = np.zeros(played.games)
        return Totals(missing, missing)
    return played.levels(role)


LEVEL_MEASURES = registry(
    *(
        Measure(
            f"{NAMES[role].lower()}_level",
            f"{NAMES[role]}'s level",
            f"{does}: the level of recursion that speaks from {NAMES[role]}'s {what}, 0 to 2, as "
            "the mean over turns of the posterior mean from equal odds; it stays near 1 where they "
            "say little. Nobody plays better for a higher one as such.",
            "levels",
            0,
            "this project, docs/measures.md, after Frank and Goodman 2012",
            partial(_of, role),
            bounds=(0.0, 2.0),
        )
        for role, what, does in (
            ("encoder", "hints", "Closest words (0), words that Bob can tell (1), also ones that "
             "Eve cannot (2)"),
            ("decoder", "guesses", "Takes hints literally (0), or as chosen by Alice of level 1 "
             "or 2"),
            ("interceptor", "guesses", "Takes hints literally (0), or as chosen by Alice of level "
             "1 or 2"),
        )
    )
)  # fmt: skip
