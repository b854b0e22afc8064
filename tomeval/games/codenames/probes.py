"""Literal questions of Codenames: their true answers, and how right an answer is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tomeval.games.codenames.state import CodenamesView, State
from tomeval.games.game import Broken, Probe, Stage

Words = tuple[str, ...]


def probe_fault(view: CodenamesView, probe: Probe, words: Words) -> Broken | None:
    """Return how the words of an answer cannot be true; None if they can."""
    covered = view.covered
    for word in words:
        if word not in covered:
            return Broken("target", f"{word[:60]!r} is not a covered board word")
    if len(set(words)) < len(words):
        return Broken("rule", "a word is named twice")
    if probe.name == "assassin" and len(words) != 1:
        return Broken("format", "exactly one word is needed")
    if probe.name == "takes" and len(words) > probe.given[1] + 1:
        return Broken("rule", f"at most {probe.given[1] + 1} words can be taken")
    return None


def meant_words(mate: int, trail: Sequence[Stage[State]]) -> Words | None:
    """Return the words that the last clue of a spymaster named; None if it named none."""
    clue = next(stage.actions[mate] for stage in reversed(trail) if mate in stage.actions)
    return tuple(clue[2:]) if clue and len(clue) > 2 else None


def taken_words(mate: int, trail: Sequence[Stage[State]], end: State) -> Words | None:
    """Return the words that an operative uncovers first in what follows; the last may be wrong.

    None if the game ends before the first guess, or by a broken rule.
    """
    words: list[str] = []
    for stage in trail:
        if stage.actions.get(mate) is None:  # a pass, or the other team's turn
            return tuple(words)
        words.append(stage.actions[mate])
    return None if end.ending == "forfeit" or not trail else tuple(words)


def common_start(said: Words, truth: Words) -> float:
    """Return the length of the common start of two sequences over that of the longer one.

    Two empty sequences agree.

    Examples
    --------
    >>> common_start(("a", "b", "c"), ("a", "b")), common_start(("b", "a"), ("a", "b"))
    (0.6666666666666666, 0.0)
    """
    length = max(len(said), len(truth))
    same = 0
    while same < min(len(said), len(truth)) and said[same] == truth[same]:
        same += 1
    return same / length if length else 1.0


def overlap(said: Words, truth: Words) -> float:
    """Return how many words two sets share, over the size of the larger one.

    Two empty sets agree.

    Examples
    --------
    >>> overlap(("a", "b", "c"), ("b", "a")), overlap((), ())
    (0.6666666666666666, 1.0)
    """
    length = max(len(said), len(truth))
    return len(set(said) & set(truth)) / length if length else 1.0


def best_set(chances: Mapping[Words, float]) -> tuple[Words, float]:
    """Return the set that scores most by `overlap` in expectation, and its score.

    For each size every word adds to the score by itself, so the best set of a size is that of the
    words that add most.

    Examples
    --------
    >>> best_set({("a", "b"): 0.6, ("a",): 0.4})
    (('a', 'b'), 0.8)
    """
    best: tuple[Words, float] = ((), chances.get((), 0.0))
    for size in range(1, max(map(len, chances)) + 1):
        shares: dict[str, float] = {}
        for words, chance in chances.items():
            for word in words:
                shares[word] = shares.get(word, 0.0) + chance / max(size, len(words))
        words = tuple(sorted(shares, key=lambda word: -shares[word])[:size])
        score = sum(shares[word] for word in words)
        if score > best[1] + 1e-12:
            best = (words, score)
    return best
