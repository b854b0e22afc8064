"""Regret against the named policies, by hand: plain Python on the CSV, nothing of the package."""

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

CSV = Path(__file__).parents[1] / "tomeval" / "extensions" / "known"

PAYOFFS = {
    "IPD": {(0, 0): 8, (0, 1): 0, (1, 0): 10, (1, 1): 5},
    "IBS": {(0, 0): 10, (0, 1): 0, (1, 0): 0, (1, 1): 7},
    "IBS (column)": {(0, 0): 7, (0, 1): 0, (1, 0): 0, (1, 1): 10},
}


def second(policy: str, step: int, last: tuple[int, ...]) -> float:
    """Return the chance that a policy plays F (action 1), given the subject's last three moves."""
    if policy.startswith("always"):
        return float(policy == "always(1)")
    if policy.startswith("alternator"):
        return float((step % 2 == 0) == (policy == "alternator"))
    if policy == "defect_once":
        return float(step == 1)
    if policy == "tit_for_two_tats":
        return float(last[-2:] == (1, 1))
    if policy == "hard_tit_for_tat(1)":
        return float(step == 1 or 1 in last)
    if step == 1:
        return float(policy in ("suspicious_tit_for_tat", "reverse_tit_for_tat"))
    if policy == "reverse_tit_for_tat":
        return float(last[-1] == 0)
    chance = float(policy.removeprefix("naive_prober(").rstrip(")")) if "prober" in policy else 0.0
    return 1.0 if last[-1] else chance


def best(policy: str, game: str, horizon: int) -> float:
    """Return the most that any player can expect over a match."""
    pay = PAYOFFS[game]

    @cache
    def rest(step: int, last: tuple[int, ...]) -> float:
        if step > horizon:
            return 0.0
        chance = second(policy, step, last)
        return max(
            chance * pay[own, 1] + (1 - chance) * pay[own, 0] + rest(step + 1, (*last, own)[-3:])
            for own in (0, 1)
        )

    return rest(1, ())


def matches(name: str) -> dict[tuple[str, ...], list[list[tuple[int, int]]]]:
    """Return the moves of every match, by who played what against whom."""
    found: dict[tuple[str, ...], dict[str, list[tuple[int, int]]]] = defaultdict(dict)
    with (CSV / f"{name}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            game = row["game"] + (" (column)" if row.get("seat") == "column" else "")
            key = row["subject"], game, row["partner"], row.get("condition", "")
            moves = found[key].setdefault(row["episode"], [])
            assert int(row["step"]) == len(moves) + 1
            moves.append((int(row["own_action"]), int(row["partner_action"])))
    return {key: list(by_match.values()) for key, by_match in found.items()}


def possible(policy: str, moves: list[tuple[int, int]]) -> bool:
    """Tell whether a policy can have played its moves from its start."""
    for place, (_, theirs) in enumerate(moves):
        last = tuple(own for own, _ in moves[max(0, place - 3) : place])
        chance = second(policy, place + 1, last)
        if (chance if theirs else 1 - chance) == 0:
            return False
    return True


def regrets() -> dict[tuple[str, str, str], float]:
    """Return regret per step by subject, game and policy: the mean over its possible matches."""
    result = {}
    logs = [matches(f"known_{name}").items() for name in ("models", "reactive", "columns")]
    for (subject, game, policy, _), played in (item for log in logs for item in log):
        kept = [moves for moves in played if possible(policy, moves)]
        if kept:
            lost = [
                best(policy, game, len(m)) / len(m)
                - sum(PAYOFFS[game][pair] for pair in m) / len(m)
                for m in kept
            ]
            result[subject, game, policy] = sum(lost) / len(lost)
    return result


def people() -> dict[tuple[str, str], float]:
    """Return the mean points per step of people by game and whom they met."""
    result = {}
    for (_, game, _, against), played in matches("known_people").items():
        points = [sum(PAYOFFS[game][pair] for pair in match) / len(match) for match in played]
        result[game, against] = sum(points) / len(points)
    return result


def points(condition: str) -> dict[str, dict[str, float]]:
    """Return the points per step of each person by game, of those who met one of the two."""
    result: dict[str, dict[str, float]] = defaultdict(dict)
    with (CSV / "known_people.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["condition"] == condition:
                pair = int(row["own_action"]), int(row["partner_action"])
                mine = result[row["participant"]]
                mine[row["game"]] = mine.get(row["game"], 0.0) + PAYOFFS[row["game"]][pair] / 10
    return result


def gained(games: tuple[str, ...], level: str, baseline: str) -> tuple[float, float]:
    """Return the mean difference over games and its standard error, a person being one unit."""
    difference = variance = 0.0
    for sign, condition in ((1, level), (-1, baseline)):
        people = points(condition)
        part: dict[str, float] = defaultdict(float)
        for game in games:
            mine = {person: p[game] for person, p in people.items() if game in p}
            mean = sum(mine.values()) / len(mine)
            difference += sign * mean / len(games)
            for person, value in mine.items():
                part[person] += (value - mean) / len(mine) / len(games)
        variance += len(part) / (len(part) - 1) * sum(x * x for x in part.values())
    return difference, variance**0.5
