"""Small games of Codenames: made-up words, vectors and banks."""

import numpy as np

from tomeval.games.codenames.rules import Codenames
from tomeval.games.codenames.state import CodenamesRules
from tomeval.lexicon.embeddings import Embedding

WORDS = ("alpha", "bravo", "cider", "delta", "ember", "fjord", "gable", "hinge")
CLUES = ("north", "ocean", "piano", "quilt", "raven", "storm")


def small_game(folder, counts, seed=0, clues=6, levels=None, **rules):
    """Return a game on made-up words, and the paths of two embeddings of theirs.

    With `levels`, components are whole numbers below it, so that there are ties.
    """
    size = max(4, sum(counts))
    (folder / "words.txt").write_text("\n".join(WORDS[:size]))
    (folder / "bank.txt").write_text("\n".join(CLUES[:clues]))
    rng = np.random.default_rng(seed)
    paths = []
    for name in ("one", "two"):
        vectors = rng.normal(size=(size + clues, 3))
        if levels:
            vectors = rng.integers(levels, size=vectors.shape) + 1.0
        path = folder / f"{name}{seed}.txt"
        words = WORDS[:size] + CLUES[:clues]
        kept = Embedding.of(name, words, vectors).vectors.astype(np.float16)
        rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, kept, strict=True)]
        path.write_text("\n".join(rows))
        paths.append(str(path))
    red, blue, neutral, assassin = counts
    made = Codenames(
        CodenamesRules(
            red=red,
            blue=blue,
            neutral=neutral,
            assassin=assassin,
            words=str(folder / "words.txt"),
            bank=str(folder / "bank.txt"),
            **rules,
        )
    )
    return made, paths


def every_action(view, ask):
    """Return all clues of the bank with all numbers, or all guesses and a pass."""
    game = view.game
    if ask.kind == "guess":
        return [*view.covered, None]
    clues = [game.bank.clues[place] for place in game.legal_clues(view.words)]
    return [(clue, n) for clue in clues for n in range(1, game.parameters.number + 1)]
