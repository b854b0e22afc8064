"""The stages of training: what each goes on from, how long, and on which transcripts."""

from __future__ import annotations

from dataclasses import dataclass

Bands = tuple[tuple[int, int, float], ...]
"""Rounds of a transcript: from, up to (excluded), and how often."""

EASY, EASY_SHARE = ((3, 13, 1.0),), 0.2  # the first fifth of the steps from scratch
SHORT = ((1, 6, 0.15), (6, 20, 0.4), (20, 50, 0.3), (50, 100, 0.15))
# What was learnt on short transcripts has to hold at T = 100.
LONG = ((1, 6, 0.1), (6, 20, 0.2), (20, 50, 0.3), (50, 100, 0.4))

# Most of a best response is decided in the first rounds.
EARLY = ((1, 6, 0.2), (6, 20, 0.4), (20, 50, 0.25), (50, 100, 0.15))


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes
    ----------
    start : str or None
        The stage whose model it goes on from; None starts from scratch. ``shipped:NAME`` is the
        model of the package, with a tokenizer made anew from today's prompts.
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
    lookups : float
        Part of the batches that hold nothing but `documents.draw_lookups`.
    lookup_answers : tuple of str
        Answer parts of those; see there.
    batch_tokens : int
        Tokens of a batch, at least.
    peak_rate : float
        Of the learning rate.
    """

    start: str | None
    steps: int
    own_play: str
    rounds: Bands
    scored: int
    question_tokens: int
    lookups: float = 0.0
    # Many small steps: copying labels is learned by steps rather than by tokens.
    batch_tokens: int = 2048
    peak_rate: float = 1e-3
    lookup_answers: tuple[str, ...] = ()


STAGES = {
    "first": Stage(None, 5600, "varied", SHORT, 2, 500, peak_rate=2e-3),
    # Own moves and the partner's are told apart also where neither ever changes.
    "second": Stage("first", 3600, "settled", LONG, 2, 500),
    # The same at the end of long transcripts, and in answers as much as inside the transcript.
    "main": Stage("second", 3000, "constant", LONG, 8, 900),
    # To look the best response up: nothing to copy, many labels in a batch, no other question.
    "lookups": Stage("main", 1800, "best", ((2, 12, 1.0),), 1, 500, 1.0, 6000, 1.5e-3),
    "mixed": Stage("lookups", 2000, "best", EARLY, 8, 900, 0.4, 6000, 1e-3),
    # What scored answers look up by now, written ones do, too.
    "rational": Stage(
        "mixed", 1300, "best", EARLY, 8, 900, 0.5, 6000, 1e-3, ("lm", "qa", "qa", "cot")
    ),
    # After a change of the prompts' wording: what was learnt is kept, how it is asked for is new.
    "main-reworded": Stage("shipped:main", 1200, "constant", LONG, 8, 900, peak_rate=1e-3),
    "main-settled": Stage("main-reworded", 1500, "constant", LONG, 8, 900, peak_rate=7e-4),
    "main-kept": Stage("main-settled", 1200, "constant", LONG, 8, 900, peak_rate=1e-3),
    "rational-reworded": Stage(
        "shipped:rational", 700, "best", EARLY, 8, 900, 0.5, 6000, 1e-3, ("lm", "qa", "qa", "cot")
    ),
}
