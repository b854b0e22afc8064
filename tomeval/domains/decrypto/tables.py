"""The tables of a Decrypto run: which numbers stand in a row, and what people read above them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED, VOID
from tomeval.domains.decrypto.game import OUTCOMES
from tomeval.domains.decrypto.measures import (
    BELIEF_MEASURES,
    CHANCE,
    Played,
    belief_shares,
    knowingly_bad,
    mean_of_games,
    outcome_shares,
    perspective,
    regrets,
    replay_shares,
    share_of,
    turn_shares,
    turns_per_game,
)
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS
from tomeval.report.tables import HEADINGS
from tomeval.statistics.shares import Share

Row = dict[str, Any]


def readable(rows: Sequence[Row]) -> list[Row]:
    """Return rows without the columns that have no number in any row, for people to read."""

    def empty(value: Any) -> bool:
        return isinstance(value, float) and math.isnan(value)

    bare = {name for name in rows[0] if all(empty(row[name]) for row in rows)} if rows else set()
    gone = {n for n in bare if not n.endswith(("_ci95", "_ci95_low", "_ci95_high"))}
    gone |= {f"{name}{end}" for name in gone for end in ("_ci95", "_ci95_low", "_ci95_high")}
    return [{name: value for name, value in row.items() if name not in gone} for row in rows]


def _rate(counts: dict[str, int], bad: str, asked: str) -> float:
    return counts.get(bad, 0) / counts[asked] if counts.get(asked) else float("nan")


def share_columns(name: str, share: Share) -> Row:
    """Return a share as columns in percent: value, half-width, ends."""
    low, high = 100 * share.low, 100 * share.high
    return {
        f"{name}_percent": 100 * share.share,
        f"{name}_percent_ci95": (high - low) / 2,
        f"{name}_percent_ci95_low": low,
        f"{name}_percent_ci95_high": high,
    }


def _mean_columns(name: str, found: tuple[float, float]) -> Row:
    return {name: found[0], f"{name}_ci95": found[1]}


def _outcome_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    shares, turns = outcome_shares(played), turn_shares(played)
    row: Row = {
        "games": played.games,
        "void": counts.get(VOID, 0),
        "failed": counts.get(FAILED, 0),
        "invalid_rate": _rate(counts, "invalid", "asked"),
    }
    for name in OUTCOMES:
        row |= share_columns(name, shares[name])
    row |= _mean_columns("turns_per_game", turns_per_game(played))
    row |= share_columns("miscommunication_per_turn", turns["miscommunication"])
    row |= share_columns("interception_per_turn", turns["interception"])
    return [row]


_NOTHING = Share(float("nan"), float("nan"), float("nan"), 0, 0)


def _perspective_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    found = perspective(played)
    row: Row = {"games": played.games, "turns": len(played.turn)}
    row["probe_invalid_rate"] = _rate(counts, "probes_invalid", "probes_asked")
    for question in ENCODER_QUESTIONS:
        for name in ("tom", "predicted", "actual"):
            share = found.get(f"{name}_{question}", _NOTHING)
            row |= share_columns(f"{name}_{question}", share)
    return [row]


def _belief_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    found = belief_shares(played)
    row: Row = {"games": played.games}
    row["probe_invalid_rate"] = _rate(counts, "probes_invalid", "probes_asked")
    row |= share_columns("keywords_right", found["keywords"])
    row["turns_a_wrong"] = found["weak_rc"].items
    for name in BELIEF_MEASURES:
        row |= share_columns(name, found[name])
    return [row]


def _functional_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    found, row = regrets(played), {"games": played.games, "turns": len(played.turn)}
    for name, values in found.items():
        among = np.isfinite(values)
        row |= _mean_columns(f"{name}_per_turn", mean_of_games(played, values, among))
    row |= share_columns("knowingly_bad", knowingly_bad(played))
    return [row]


def _replay_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    if not played.replayed:
        raise TomevalError("this run replays no record: there is nothing to compare with")
    row: Row = {"games": played.games, "turns": len(played.turn)}
    row["invalid_rate"] = _rate(counts, "invalid", "asked")
    for name, share in replay_shares(played).items():
        row |= share_columns(name, share)
    return [row]


def _turn_rows(played: Played, counts: dict[str, int]) -> list[Row]:
    rows = []
    for number in sorted(set(played.turn.tolist())):
        at = played.turn == number
        found = perspective(played, at)
        row: Row = {"turn": number, "games": int(at.sum())}
        row["chance_percent"] = 100 * CHANCE if number == 1 else float("nan")
        for question in ("eve", "eve_reminded"):
            share = found.get(f"predicted_{question}", _NOTHING)
            row |= share_columns(f"predicted_{question}", share)
        for name, hits in (
            ("interception", played.intercepted),
            ("miscommunication", played.miscommunicated),
        ):
            row |= share_columns(name, share_of(played, hits, at))
        rows.append(row)
    return rows


TABLES = {
    "outcomes": _outcome_rows,
    "perspective": _perspective_rows,
    "beliefs": _belief_rows,
    "functional": _functional_rows,
    "turns": _turn_rows,
    "replay": _replay_rows,
}
"""How games ended; Alice's predictions; Eve's beliefs; ΔFunctional and ΔToM; by turn; replays."""

HEADINGS.update(
    {
        "miscommunication_percent": "miscomm. %",
        "interception_percent": "interc. %",
        "both_percent": "both %",
        "survived_percent": "survived %",
        "turns_per_game": "turns",
        "miscommunication_per_turn_percent": "miscomm./turn %",
        "interception_per_turn_percent": "interc./turn %",
        "probe_invalid_rate": "probes invalid",
        "chance_percent": "chance %",
        "tom_eve_percent": "ToM % (Eve)",
        "predicted_eve_percent": "says Eve right %",
        "actual_eve_percent": "Eve right %",
        "tom_eve_reminded_percent": "ToM % (Eve, reminded)",
        "predicted_eve_reminded_percent": "says Eve right % (reminded)",
        "actual_eve_reminded_percent": "Eve right % (reminded)",
        "tom_bob_percent": "ToM % (Bob)",
        "predicted_bob_percent": "says Bob right %",
        "actual_bob_percent": "Bob right %",
        "keywords_right_percent": "A right %",
        "turns_a_wrong": "turns, A wrong",
        "weak_rc_percent": "weak RC %",
        "strong_rc_percent": "strong RC %",
        "weak_fb_percent": "weak FB %",
        "strong_fb_percent": "strong FB %",
        "consistent_percent": "B = C %",
        "value_per_turn": "value/turn",
        "delta_functional_per_turn": "ΔFunctional/T",
        "delta_tom_per_turn": "ΔToM/T",
        "response_per_turn": "response",
        "knowingly_bad_percent": "bad, sent anyway %",
        "decoded_percent": "Bob right %",
        "decoded_record_percent": "Bob right %, record",
        "bob_agrees_percent": "Bob as recorded %",
        "intercepted_percent": "Eve right %",
        "intercepted_record_percent": "Eve right %, record",
        "eve_agrees_percent": "Eve as recorded %",
    }
)
