"""What a design looks like to readers: rows of a table, sentences, and partner files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tomeval.core.files import write_text
from tomeval.domains.matrix.blind_spots import blind_sentences
from tomeval.domains.matrix.games import Labels, MatrixGame
from tomeval.domains.matrix.partners import Partner
from tomeval.extensions.design.search import Design


def machine_words(partner: Partner, labels: Labels) -> str:
    """Return a deterministic machine in a line: its moves, and in brackets what follows.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> machine_words(get_partner("grim_trigger", game), game.label_set())
    '1 Cooperate (1 2), 2 Defect (2 2)'
    """
    moves = partner.emissions.argmax(axis=1).tolist()
    return ", ".join(
        f"{state + 1} {labels.partner[b]} "
        f"({' '.join(str(int(after) + 1) for after in partner.next_state[state, :, b])})"
        for state, b in enumerate(moves)
    )


def design_rows(design: Design) -> list[dict[str, Any]]:
    """Return the best of a design as rows of a table; infinite scores as text."""
    labels = design.game.label_set()
    rows = []
    ranked = [(str(position), one) for position, one in enumerate(design.best, start=1)]
    for rank, one in (*ranked, *(("–", one) for one in design.beside)):
        members = one.partners.partners
        words = " + ".join(machine_words(partner, labels) for partner in members)
        row: dict[str, Any] = {
            "rank": rank,
            "machine": words if rank != "–" else one.partners.name,
            "states": sum(len(partner.states) for partner in members),
        }
        if design.between:
            row["score"] = "∞" if math.isinf(one.score) else one.score
            row |= {"expected_difference": one.difference}
            row |= {"episodes_each": one.episodes, "calls": one.calls}
        else:
            row |= {"relevance": one.relevance, "unavoidable_regret": one.unavoidable}
        rows.append(row)
    return rows


def design_lines(design: Design) -> list[str]:
    """Return what readers of the table must know, a line each."""
    game = design.game
    lines = [
        f"searched: {design.searched}; {game.name}, T = {design.horizon}",
        "machine: what it plays in each state, the first one at the start, and in brackets the "
        f"states that follow the subject's {', '.join(game.label_set().own)}",
    ]
    if design.between:
        lines.append(
            f"score: the expected difference of {' − '.join(design.between)} in ΔFunctional/T over "
            "its standard error, per √(model call): with N calls the difference is score × √N "
            "standard errors; episodes_each, calls: those with which a paired t test finds the "
            "difference in 80 of 100 runs (5 %; below some 10 episodes a guide only)"
        )
        if not design.best[0].score:
            lines.append("none of them separates the subjects in ΔFunctional/T")
    else:
        lines.append(
            "unavoidable_regret: the least expected ΔFunctional/T of a player who knows the pair "
            "and has to find out which partner it plays with; of equally relevant pairs those with "
            "the least come first"
        )
    said = blind_sentences([(game, design.best[0].partners, design.horizon)])
    return [*lines, *(f"the first one: {sentence}" for sentence in said)]


def write_partners(design: Design, path: Path, command: str) -> list[Path]:
    """Write the best machine as a partner file, or each of the best pair as one of its own.

    `path` ends in ``.toml``; of a pair, ``_1`` and ``_2`` stand before the ending. `command` is
    what made it, kept as the partner's source.
    """
    partners = design.best[0].partners.partners
    several, paths = len(partners) > 1, []
    for number, partner in enumerate(partners, start=1):
        file = path.with_name(f"{path.stem}_{number}{path.suffix}") if several else path
        part = f", {number} of a set of {len(partners)}" if several else ""
        title = f"Designed for {design.game.name}{part}: {_purpose(design)}"
        write_text(file, _partner_text(partner, design.game, title, command))
        paths.append(file)
    return paths


def _purpose(design: Design) -> str:
    """Return in a few words what the best was chosen for."""
    if design.between:
        first, second = design.between
        what = f"separates {first} from {second} in ΔFunctional/T"
    else:
        what = f"relevance {design.best[0].relevance:.4g}"
    return f"{what} over {design.horizon} steps"


def _partner_text(partner: Partner, game: MatrixGame, title: str, source: str) -> str:
    """Return a deterministic partner as the text of a partner file, which reads back the same.

    TOML has the escapes of JSON that are made here.
    """
    moves = partner.emissions.argmax(axis=1).tolist()
    lines = [
        f"title = {json.dumps(title, ensure_ascii=False)}",
        f"source = {json.dumps(source, ensure_ascii=False)}",
        f"actions = [{game.n}, {game.m}]",
        f"start = {json.dumps(partner.states[partner.start], ensure_ascii=False)}",
    ]
    for state, (name, b) in enumerate(zip(partner.states, moves, strict=True)):
        after = (partner.states[int(s)] for s in partner.next_state[state, :, b])
        lines += [
            "",
            f"[states.{name}]",
            f"play = {b}",
            f"next = {json.dumps(list(after), ensure_ascii=False)}",
        ]
    return "\n".join(lines) + "\n"
