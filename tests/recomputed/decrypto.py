"""Decrypto: the table of a run from its turns. ``FOLDER`` holds ``steps.csv``, ``answers.csv`` and
the table as ``all.csv``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from recomputed.common import NAN, Row, episodes_of, mean, number, report, table_of

CHANCE = 1 / 24

BELIEFS = {
    "weak_rc": ("own", lambda told, a, b, c: b != told),
    "strong_rc": ("own", lambda told, a, b, c: b == a),
    "weak_fb": ("other", lambda told, a, b, c: c != told),
    "strong_fb": ("other", lambda told, a, b, c: c == a),
    "consistent": ("both", lambda told, a, b, c: b == c),
}
"""By measure which answers it needs, and when it is a hit."""


def words(text: str) -> tuple[str, ...] | None:
    return tuple(word.strip().casefold() for word in json.loads(text)) if text else None


def outcomes(games: list[list[Row]]) -> dict[str, float]:
    """Return how games ended, by their turns: two misses lose, and so do two interceptions."""
    ends = {"miscommunication": 0, "interception": 0, "both": 0, "survived": 0}
    missed, caught = [], []
    for turns in games:
        missed.append(sum(turn["bob"] != turn["code"] for turn in turns))
        caught.append(sum(turn["eve"] == turn["code"] for turn in turns))
        lost = missed[-1] >= 2, caught[-1] >= 2
        end = ("survived", "interception", "miscommunication", "both")[2 * lost[0] + lost[1]]
        assert turns[0]["outcome"] == end
        ends[end] += 1
    count = sum(map(len, games))
    return {
        "episodes": len(games),
        **{f"{name}_percent": 100 * number / len(games) for name, number in ends.items()},
        "turns_per_game": count / len(games),
        "miscommunication_per_turn_percent": 100 * sum(missed) / count,
        "interception_per_turn_percent": 100 * sum(caught) / count,
    }


def perspective(turns: list[Row]) -> dict[str, float]:
    """Return how Alice's predictions compare with guesses."""
    found = {}
    for whom, column in (("eve", "eve"), ("eve_reminded", "eve"), ("bob", "bob")):
        said = [(turn[f"predicted_{whom}"], turn[column], turn["code"]) for turn in turns]
        said = [one for one in said if one[0]]
        found[f"tom_{whom}_percent"] = 100 * mean(float(p == g) for p, g, _ in said)
        found[f"predicted_{whom}_percent"] = 100 * mean(float(p == c) for p, _, c in said)
        found[f"actual_{whom}_percent"] = 100 * mean(float(g == c) for _, g, c in said)
    return found


def beliefs(turns: list[Row]) -> dict[str, float]:
    """Return what Eve says of her own and of another's belief, where she was wrong."""
    told = [(words(turn["keywords"]), words(turn["believed_keywords"]), turn) for turn in turns]
    found = {"keywords_right_percent": 100 * mean(float(a == k) for k, a, _ in told if a)}
    for view in ("", "_in_view"):
        answers = [
            (k, a, words(turn[f"own_belief{view}"]), words(turn[f"other_belief{view}"]))
            for k, a, turn in told
            if a and a != k
        ]
        for name, (needs, hit) in BELIEFS.items():
            some = [
                one
                for one in answers
                if (one[2] or needs == "other") and (one[3] or needs == "own")
            ]
            found[f"{name}{view}_percent"] = 100 * mean(float(hit(*one)) for one in some)
    return found


def functional(games: list[list[Row]]) -> dict[str, float]:
    """Return values and regrets: the mean over games of the mean over turns."""
    rows: dict[str, list[float]] = {"value": [], "functional": [], "tom": [], "response": []}
    bad = []
    for turns in games:
        sums: dict[str, list[float]] = {name: [] for name in rows}
        for turn in turns:
            code, says = turn["code"], (turn["predicted_eve"], turn["predicted_bob"])
            value = float(turn["bob"] == code and turn["eve"] != code)
            lost, belief = number(turn["best"]) - value, NAN
            if says[0]:
                expects_bad = says[0] == code or says[1] not in ("", code)
                belief = 0.0 * lost if expects_bad else lost
                bad.append(float(expects_bad))
            of = {"value": value, "functional": lost, "tom": belief, "response": lost - belief}
            for name, one in of.items():
                sums[name].append(one)
        for name, found in sums.items():
            rows[name].append(mean(found))
    return {
        "value_per_turn": mean(rows["value"]),
        "delta_functional_per_turn": mean(rows["functional"]),
        "delta_tom_per_turn": mean(rows["tom"]),
        "response_per_turn": mean(rows["response"]),
        "knowingly_bad_percent": 100 * mean(bad),
    }


def scores(turns: list[Row]) -> dict[str, float]:
    """Return right guesses beyond chance, and what is kept of what random hints lose."""

    def right(said: str, truth: str, first: int = 1) -> float:
        some = [turn for turn in turns if turn[said] and int(turn["step"]) >= first]
        return 100 * mean((turn[said] == turn[truth]) - CHANCE for turn in some) / (1 - CHANCE)

    lost, ahead = [], []
    for turn in turns:
        best = number(turn["best"] or "1")
        span = best - number(turn["random"] if turn["best"] else str(CHANCE * (1 - CHANCE)))
        value = turn["bob"] == turn["code"] != turn["eve"]
        lost.append((best - value, span))
        if turn["predicted_eve"] and turn["predicted_bob"]:
            good = turn["predicted_bob"] == turn["code"] != turn["predicted_eve"]
            ahead.append((max(best - good, 0.0), span))
    plays, uses = ([sum(part) for part in zip(*pairs, strict=True)] for pairs in (lost, ahead))
    return {
        "knows_percent": right("predicted_eve", "eve", 2),
        "knows_bob_percent": right("predicted_bob", "bob"),
        "right_bob_percent": right("bob", "code"),
        "right_eve_percent": right("eve", "code", 2),
        "plays_percent": 100 * (1 - plays[0] / plays[1]) if plays[1] > 0 else NAN,
        "uses_percent": 100 * (1 - uses[0] / uses[1]) if uses and uses[1] > 0 else NAN,
    }


def main(folder: Path) -> None:
    shown, answers = table_of(folder / "all.csv"), table_of(folder / "answers.csv")
    mine = []
    for cell, games in episodes_of(table_of(folder / "steps.csv")).items():
        turns = [turn for game in games for turn in game]
        asked = [row for row in answers if row["cell"] == cell]
        mine.append(
            outcomes(games)
            | perspective(turns)
            | beliefs(turns)
            | functional(games)
            | scores(turns)
            | {
                "invalid_rate": mean(float(row["outcome"] != "valid") for row in asked),
                "reask_rate": mean(float(int(row["attempts"]) > 1) for row in asked),
            }
        )
    report(mine, shown)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
