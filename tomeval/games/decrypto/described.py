"""What is said of players and rules, and what a language model in a seat would be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.printing import Console
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.decrypto.game import Turn
from tomeval.games.decrypto.llm import DecryptoOptions
from tomeval.games.decrypto.players import kinds
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.results import DecryptoRunCell
from tomeval.games.decrypto.seats import ROLES, Probes
from tomeval.games.game import COUNTED
from tomeval.games.people.session import Sitting
from tomeval.games.players import player_facts, table_at_terminal
from tomeval.lexicon.embeddings import SHIPPED
from tomeval.runs.columns import unique
from tomeval.runs.domain import Facts, Rows
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run


def run_facts(run: Run) -> list[Facts]:
    """Return players, and rules with what games are played with."""
    cells = [cell for cell in run.cells if isinstance(cell, DecryptoRunCell)]
    data = [cell.definition for cell in cells]
    rules = [{**d["rules"], "probes": _asked(d), "best_turn": d["best_turn"]} for d in data]
    return [
        player_facts(cell.definition["players"][role] for cell in cells for role in ROLES),
        Facts("Rules", [("Rules and probes", unique(rules))]),
    ]


def _asked(data: dict[str, Any]) -> str:
    return ", ".join(name for name, asked in data["probes"].items() if asked)


def listed_players() -> Rows:
    """Return the kinds of player with their options, for ``tomeval list players``."""
    options = ("model", *(field.name for field in fields(DecryptoOptions)))
    listed = [("llm", options, "a language model with a prompting strategy")]
    listed += [(name, tuple(kind.options), kind.about) for name, kind in kinds().items()]
    return [
        {"player": name, "options": ", ".join(options), "about": about}
        for name, options, about in listed
    ]


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> DecryptoCell:
    """Return the cell that ``tomeval prompt --domain decrypto`` shows: one model, two at random.

    `settings` may hold options of `DecryptoOptions`, and ``rules``.
    """
    if seat and seat not in ROLES:
        raise unknown("seat", seat, ROLES, "--seat")
    options, seat = dict(settings), seat or "encoder"
    options.pop("form", None)
    rules = {"rules": options.pop("rules")} if "rules" in options else {}
    model = {"model": "scripted:decrypto", "strategy": {seat: strategy}, **options}
    data = {
        "domain": "decrypto",
        "players": {"model": model, "other": {"kind": "random"}},
        "pairings": [{role: "model" if role == seat else "other" for role in ROLES}],
        "probes": dict.fromkeys(Probes.model_fields, True),
    }
    cell = make_experiment(data | rules, base=Path(), where="prompt").cells[0]
    assert isinstance(cell, DecryptoCell)
    return cell


HUMAN = "human"


def sit(
    seat: str,
    others: Sequence[str] = (),
    deal: int = 0,
    *,
    settings: Mapping[str, Any] | None = None,
    strategy: str = "QA",
) -> Sitting:
    """Return a game with a person in a seat.

    Parameters
    ----------
    seat : str
        The person's role.
    others : sequence of str
        Who else plays, embeddings, models or kinds: one for both seats, or one for each.
    deal : int
        Which game of the seed, from 0: it decides keywords and codes.
    settings : mapping, optional
        Further keys of `DecryptoExperiment`: seed, rules, word lists.
    strategy : str
        Of language models.
    """
    if seat not in ROLES:
        raise unknown("seat", seat, ROLES, "--seat")
    names = list(others) or ["minilm"]
    if len(names) not in (1, 2):
        raise TomevalError(f"--other: give one or two other players, not {len(names)}")
    names = names * (2 // len(names))
    tables = {
        name: {"embedding": name} if name in SHIPPED else table_at_terminal(name, strategy)
        for name in names
    }
    names.insert(ROLES.index(seat), HUMAN)
    tables[HUMAN] = {"kind": "random"}
    pairing = dict(zip(ROLES, names, strict=True))
    data = {"domain": "decrypto", "players": tables, "pairings": [pairing]}
    [cell] = make_experiment({**(settings or {}), **data}, base=Path(), where="play").cells
    assert isinstance(cell, DecryptoCell)
    return Sitting(cell, seat, deal)


def keep(sitting: Sitting, out: Path, console: Console) -> None:
    """Add the finished turns of a game to a file of recorded games, and tell the keywords."""
    played, cell = sitting.played, sitting.cell
    assert isinstance(cell, DecryptoCell)
    first = cell.first(played.deal)
    keywords, codes = first.deal.keywords, first.deal.codes
    console.say(f"The keywords were: {', '.join(keywords)}.")
    counted = [one.action for one in played.decisions if one.verdict in COUNTED]
    moves = zip(codes, counted[::3], counted[1::3], counted[2::3], strict=False)
    turns = tuple(Turn(*move) for move in moves)
    if not turns:
        console.say("No turn was finished; nothing is recorded.")
        return
    before = read_games(out) if out.exists() else []
    names = {existing.name for existing in before}
    record = RecordedGame(
        keywords=keywords,
        turns=turns,
        rules=first.rules,
        name=next(one for n in range(1, len(names) + 2) if (one := f"game {n}") not in names),
        players=dict(zip(ROLES, cell.names, strict=True)),  # type: ignore[arg-type]
        source=f"played at the terminal, seed {cell.seed}, game {played.deal}",
    )
    write_games(out, [*before, record])
    console.say(f"Recorded as {record.name!r} in {out}.")
