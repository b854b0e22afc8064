"""What a report says of a matrix-game run: subjects, games with payoffs, partners."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tomeval.games.matrix.bounds import blind_sentences
from tomeval.games.matrix.measures import ONE_STEP, PLANNED
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.rules import NONE
from tomeval.games.matrix.storing import cells_told, cells_with_beliefs
from tomeval.games.matrix.subject_specs import LLM
from tomeval.runs.columns import as_text, unique
from tomeval.runs.domain import Facts, Rows
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run

_OWN_TABLE = ("model", "strategy")  # options that have columns of their own


def run_facts(run: Run) -> list[Facts]:
    """Return subjects, games and partners."""
    cells = matrix_cells(run)
    return [
        Facts("Subjects", [("Subjects with their options as recorded", _subjects(cells))]),
        Facts("Games", _games(cells)),
        Facts("Partners", [("Partners with their share of each set", _partners(cells))]),
    ]


def tom_notes(run: Run, names: Collection[str]) -> list[str]:
    """Describe against which partners the one-step rules of ΔToM are blind, and `planned`.

    `names` are the measures that are shown.
    """
    partners = (partner for cell in matrix_cells(run) for partner in cell.partners)
    reacting = [partner.name for partner in partners if partner.reacts]
    notes = []
    if reacting and set(names) & set(ONE_STEP):
        notes.append(
            "ΔToM/T (best response) and ΔToM/T (misprediction) look one step ahead. They ignore "
            "how a move changes the later moves of a partner that reacts, so they are not regret "
            f"over T steps against: {first_names(reacting)}. ΔToM/T (planned) is."
        )
    if PLANNED in names:
        notes.append(
            "ΔToM/T (planned) is shown where the predictions of every episode imply a partner: "
            "they must not contradict each other or omit what planning needs, and the partner must "
            "react to the last joint move only."
        )
    return notes


_TOLD = {
    "stated": "Given a prediction of the partner's action before they act, right as often as their "
    "name says: {titles}. Their literal question does not show it.",
    "true": "Told the partner's true action before they act: {titles}. Their literal question does "
    "not show it, so their predictions measure literal theory of mind as usual.",
    "by rule": "Shown more than the observation, such as the partner's next action: {titles}. They "
    "also predict with it, so their predictions do not measure literal theory of mind.",
}


def notes(run: Run) -> list[str]:
    """Describe subjects that were told the partner's move, and what measures cannot show.

    A language model is told before it acts; its literal question is asked without that.
    """
    told, planted = cells_told(run.store), cells_with_beliefs(run.store)
    titles: dict[str, dict[str, None]] = {how: {} for how in _TOLD}
    for cell in matrix_cells(run):
        if cell.number in told:
            by_model = "stated" if cell.number in planted else "true"
            how = by_model if cell.definition["kind"] == LLM else "by rule"
            titles[how][cell.title] = None
    said = [_TOLD[how].format(titles="; ".join(names)) for how, names in titles.items() if names]
    tasks = {
        (cell.game.name, cell.definition["partners"]["name"], cell.definition["horizon"]): cell
        for cell in matrix_cells(run)
        if cell.partners and cell.as_planned
    }
    blind = blind_sentences(
        (cell.game, PartnerSet(name, tuple(cell.partners)), horizon)
        for (_, name, horizon), cell in tasks.items()
    )
    return said + [f"{text[0].upper()}{text[1:]}." for text in blind]


def table_notes(run: Run) -> list[str]:
    """Explain measures of recorded games, of players in the partner's seat and of people."""
    cells = matrix_cells(run)
    recorded = [cell for cell in cells if cell.recorded]
    notes = {
        "The imported file has no `seed` column, so episodes cannot be paired by chance: "
        "comparisons treat players as independent groups, except for a participant who is in "
        "both.": any(cell.chances is None for cell in recorded),
        "Where the partner is unknown, ΔFunctional and foresight cannot be computed. Regret in "
        "hindsight holds the partner's moves fixed as recorded, and is not ΔFunctional.": any(
            not cell.partners for cell in recorded
        ),
        "Matches differ in length: T is the longest of a game and partner; every measure is "
        "per step, and regret is measured from the best response over the match's own length.": any(
            len(set(cell.played.lengths.tolist())) > 1 for cell in recorded
        ),
        "Some steps have no prediction: measures of predictions use the other steps, so "
        "belief, response and foresight do not add up to ΔFunctional.": any(
            cell.played.predicted is not None and (cell.played.predicted == NONE).any()
            for cell in recorded
        ),
        "A player in the partner's seat has no table, so ΔFunctional cannot be computed. Measures "
        "describe the subject's seat; rates of invalid answers count both.": any(
            cell.partner_player for cell in cells
        ),
        "Unlike a model, a person remembers the first answer of a round at the second "
        "question.": any(cell.by_people for cell in cells),
    }
    return [note for note, holds in notes.items() if holds]


def _subjects(cells: list[MatrixRunCell]) -> Rows:
    """Return one row per subject: kind, model, and the options."""
    rows = []
    for cell in cells:
        data, options = cell.definition, _options(cell.definition["options"])
        row = {name: data[name] for name in ("subject", "kind", "model", "strategy")}
        rows.append(row | {"options": options, "templates": (data["templates"] or "")[:12]})
    return unique(rows)


def _partners(cells: list[MatrixRunCell]) -> Rows:
    """Return one row per partner, with its title, source and fingerprint."""
    rows: Rows = []
    for cell in cells:
        data, who = cell.definition["partners"], cell.partner_player
        title = "no table is known" if who is None else "a player in the partner's seat"
        nobody = {"name": data["name"], "title": title, "source": _who(who), "sha256": ""}
        shares = [f"{100 * weight:.3g} %" for weight in data["weights"]] or [""]
        for table, share in zip(data["tables"] or [nobody], shares, strict=True):
            row = {"set": data["name"], "game": cell.game.name, "partner": table["name"]}
            row |= {"share": share, "title": table["title"], "source": table["source"]}
            rows.append(row | {"fingerprint": table["sha256"][:12]})
    return unique(rows)


def _options(given: Mapping[str, Any]) -> str:
    """Return options in words, but those that have columns of their own."""
    return ", ".join(f"{k} {as_text(v)}" for k, v in given.items() if k not in _OWN_TABLE)


def _who(player: Mapping[str, Any] | None) -> str:
    """Return who sits in the partner's seat, with all options; empty for a table."""
    if player is None:
        return ""
    said = [f"{k} {player[k]}" for k in ("kind", "model", "strategy") if player[k]]
    return ", ".join(filter(None, [*said, _options(player["options"])]))


def _games(cells: list[MatrixRunCell]) -> list[tuple[str, Rows]]:
    """Return every game under every label set: a matrix of (own, partner's) payoffs."""
    tables: list[tuple[str, Rows]] = []
    for cell in {(cell.game.name, cell.labels.name): cell for cell in cells}.values():
        game, labels = cell.game, cell.labels
        source = f" {game.source}." if game.source else ""
        caption = f"{game.name}: {game.title}, labels {labels.name}.{source}"
        rows = [
            {"": label}
            | {b: f"{x:g}, {y:g}" for b, (x, y) in zip(labels.partner, row, strict=True)}
            for label, row in zip(labels.own, game.payoffs, strict=True)
        ]
        tables.append((f"{caption} Payoffs: subject, partner.", rows))
    return tables
