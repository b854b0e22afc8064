"""Build the logs that ship as `known_models`, `known_columns` and the other runs `known_...`.

    python experiments/build_known_models.py matches.csv people.csv

The two files hold the published games of Akata et al. (2025), a row per round, made from the
repository eliaka/repeatedgames at 224a605a. What is written has the columns of docs/recorded.md.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tomeval.games.matrix.foreign import POLICIES

MODELS = {
    "act_gpt4": "GPT-4",
    "act_gpt4_predictfirst": "GPT-4, predicts first",
    "act_gpt35": "text-davinci-003",
    "act_gpt3": "text-davinci-002",
    "act_claude": "Claude 2",
    "act_llama2": "Llama 2 70B",
}
GAMES = {"PD": "IPD", "BoS": "IBS"}
PEOPLE_AGAINST = {"Base": "against GPT-4", "Prompted": "against GPT-4, predicts first"}
FOLDER = Path(__file__).parents[1] / "tomeval" / "extensions" / "known"

Row = dict[str, str]


def rows_of(path: str) -> list[Row]:
    """Read a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def seats(match: list[Row]) -> Iterator[tuple[str, str, str, list[tuple[str, str]]]]:
    """Yield a match as each model in it saw it: seat, model, other, own and other's answers."""
    one, two = match[0]["player1"], match[0]["player2"]
    moves = [(row["answer1"], row["answer2"]) for row in match]
    if one in MODELS:
        yield "row", one, two, moves
    if two in MODELS:
        yield "column", two, one, [(theirs, own) for own, theirs in moves]


def of_models(rows: list[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield the steps of models, and the log that each belongs into.

    The prisoner's dilemma is the same from both seats, and deterministic players play one match
    twice: of equal ones the first is kept.
    """
    known = set()
    for number, group in groupby(rows, key=lambda row: row["match"]):
        match = list(group)
        for seat, model, other, moves in seats(match):
            policy = POLICIES.get(other.removeprefix("act_"))
            game = match[0]["game"]
            if game == "IPD":
                if policy is None and seat == "column":
                    continue  # the other order of the two players is a match of its own
                if (game, model, other, str(moves)) in known:
                    continue
                known.add((game, model, other, str(moves)))
                seat = "row"
            if policy is None:
                log, against = "known_pairs", ["unknown", f"against {MODELS[other]}"]
            else:
                log = "known_columns" if seat == "column" else "known_models"
                log, against = log if len(moves) == 10 else "known_reactive", [policy]
            for step, pair in enumerate(moves, 1):
                played = [str("JF".index(answer)) for answer in pair]
                yield log, [MODELS[model], game, seat, *against, number, str(step), *played]


def consistent(match: list[Row]) -> bool:
    """Tell whether the columns of a person's game agree with each other.

    `coordination` is 1 in the dilemma where both defected, and in the battle of the sexes
    where both did the same.
    """
    for row in match:
        action, score, together = (int(row[name]) for name in ("action", "score", "coordination"))
        if row["game"] == "PD":
            fits = score in ((10, 5), (8, 0))[action] and together == (score == 5)
        else:
            fits = score in ((10, 0), (7, 0))[action] and together == (score > 0)
        if not fits:
            return False
    return True


def of_people(rows: list[Row]) -> Iterator[list[str]]:
    """Yield the steps of people; the other's move follows from action and score."""
    for (person, name), group in groupby(rows, key=lambda row: (row["person"], row["game"])):
        match = list(group)
        if not consistent(match):
            continue
        for row in match:
            action, score = int(row["action"]), int(row["score"])
            if name == "PD":  # 1 cooperates there, which is action 0 of the game
                own, theirs = 1 - action, int(score in (0, 5))
            else:
                own, theirs = action, action if score else 1 - action
            against = PEOPLE_AGAINST[row["opponent"]]
            moves = [str(own), str(theirs)]
            yield ["People", GAMES[name], "unknown", against, person, person, row["round"], *moves]


def write(name: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    """Write a log."""
    with open(FOLDER / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(columns)
        out.writerows(rows)


def main(matches: str, people: str) -> None:
    """Write the logs."""
    moves = ["step", "own_action", "partner_action"]
    logs: dict[str, list[list[str]]] = {}
    for log, step in of_models(rows_of(matches)):
        logs.setdefault(log, []).append(step)
    for log, steps in logs.items():
        condition = ["condition"] if log == "known_pairs" else []
        write(log, ["subject", "game", "seat", "partner", *condition, "episode", *moves], steps)
    persons = ["subject", "game", "partner", "condition", "participant", "episode", *moves]
    write("known_people", persons, of_people(rows_of(people)))


if __name__ == "__main__":
    main(*sys.argv[1:])
