"""Shares of answers that tables print beside the measures: what is counted, and what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """A share of answers, from 0 to 1, which tables print in percent.

    Attributes
    ----------
    name : str
        Column of tables and exports.
    heading : str
        What tables print.
    meaning : str
        One or two sentences for readers who do not know it.
    """

    name: str
    heading: str
    meaning: str


INVALID = Rate(
    "invalid_rate",
    "invalid %",
    "Share of all answers, void episodes included, that could not be used: unreadable, illegal, "
    "cut off or refused; in the arena of the measured player's answers.",
)
REASK = Rate(
    "reask_rate",
    "re-asked %",
    "Share of all answers, void episodes included, for which the question was asked more than "
    "once, because a reply before the last one could not be used; in the arena of the measured "
    "player's answers.",
)
LENIENT = Rate(
    "lenient_rate",
    "lenient %",
    "Share of all answers, void episodes included, that were read although the reply did not end "
    "in the exact form asked for: with marks, a reason or text below it, or after another answer; "
    "in the arena of the measured player's answers.",
)
PROBE_INVALID = Rate(
    "probe_invalid_rate", "probe invalid %", "The same as invalid %, of answers to probes only."
)
REACTION_INVALID = Rate(
    "reaction_invalid_rate",
    "reactions invalid %",
    "The same as invalid %, of the conditional probe only: what the partner would do next.",
)

RATES = {rate.name: rate for rate in (INVALID, REASK, LENIENT, PROBE_INVALID, REACTION_INVALID)}
"""All rates, by name."""
