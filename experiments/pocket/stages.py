"""The stages of training: what each goes on from, how long, and on which transcripts."""

from __future__ import annotations

from dataclasses import dataclass

Bands = tuple[tuple[int, int, float], ...]
"""Rounds of a transcript: from, up to (excluded), and how often."""

EASY, EASY_SHARE = ((3, 13, 1.0),), 0.2  # the first fifth of the steps from scratch
SHORT = ((1, 6, 0.15), (6, 20, 0.4), (20, 50, 0.3), (50, 100, 0.15))
# What was learnt on short transcripts has to hold at T = 100.
LONG = ((1, 6, 0.1), (6, 20, 0.2), (20, 50, 0.3), (50, 100, 0.4))

BRIEF = ((1, 6, 0.4), (6, 20, 0.5), (20, 50, 0.1))


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes
    ----------
    start : str or None
        The stage whose model it goes on from; None starts from scratch.
    steps : int
        Batches.
    own_play : str
        See `plays.draw_play`.
    rounds : Bands
    scored : int
        In how many rounds of a play a strategy with scored labels asks its questions; others ask
        in two.
    question_tokens : int
        Of questions on one transcript.
    """

    start: str | None
    steps: int
    own_play: str
    rounds: Bands
    scored: int
    question_tokens: int


STAGES = {
    "first": Stage(None, 5600, "varied", SHORT, 2, 500),
    # Own moves and the partner's are told apart also where neither ever changes.
    "second": Stage("first", 3600, "settled", LONG, 2, 500),
    # The same at the end of long transcripts, and in answers as much as inside the transcript.
    "main": Stage("second", 3000, "constant", LONG, 8, 900),
    # Meant as a positive control; what came of it does not ship, docs/pocket.md says why.
    "rational": Stage("main", 2400, "best", BRIEF, 8, 900),
}
