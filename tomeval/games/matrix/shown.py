"""What is shown of matrix games: lists, what a model would read, what was played, facts, notes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

from tomeval.core.outcomes import NOT_ASKED, VALID, VOID
from tomeval.core.parts import parts
from tomeval.core.resources import read_toml
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.measures import HINDSIGHT, ONE_STEP
from tomeval.games.matrix.partner_files import partner_file, partner_names
from tomeval.games.matrix.partner_specs import SETS, get_partner
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.games.matrix.rules import ACT, BELIEF, DRAW, LINE, NONE, PARTNER, PREDICT
from tomeval.games.matrix.storing import steps_of
from tomeval.games.matrix.subjects import all_subjects
from tomeval.report.facts import counted
from tomeval.runs.columns import as_text, unique
from tomeval.runs.domain import Facts, Line
from tomeval.runs.experiment import make_experiment
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.strategies.recording import Overheard, record

Rows = list[dict[str, Any]]


def games() -> Rows:
    """Return the built-in games."""
    return [
        {
            "game": game.name,
            "title": game.title,
            "actions": f"{game.n} x {game.m}",
            "wording": game.wording,
            "labels": ", ".join(game.labels),
            "payoffs (own, partner)": "  ".join(
                " ".join(f"{own:g},{partner:g}" for own, partner in row)
                for row in game.payoffs.tolist()
            ),
            "source": game.source,
        }
        for game in GAMES.values()
    ]


def partners() -> Rows:
    """Return the shipped partners and partner sets."""
    rows: Rows = [
        {
            "partner": name,
            "parameters": "",
            "fits": "any game",
            "title": "A set: every always(k), each equally likely",
            "source": "Riemer et al. 2025, arXiv 2412.19726",
        }
        for name in SETS
    ]
    for name in partner_names():
        data = read_toml(partner_file(name))
        defaults = data.get("parameters", {})
        actions = data.get("actions")
        copies = data.get("rule", {}).get("response") == "copy"
        fits = "any game with n = m" if copies else "any game"
        rows.append(
            {
                "partner": name,
                "parameters": ", ".join(f"{key}={value}" for key, value in defaults.items()),
                "fits": " x ".join(map(str, actions)) if actions else fits,
                "title": data["title"],
                "source": data["source"],
            }
        )
    for source, library in parts("partners").items():
        row = {"partner": f"{source}:NAME", "parameters": "", **library._asdict()}
        rows.append({name: value for name, value in row.items() if name != "build"})
    return rows


def subjects() -> Rows:
    """Return the kinds of subject with their options."""
    rows = []
    for kind, subject in all_subjects().items():
        options = subject.options().items()
        about = inspect.getdoc(subject) or ""
        rows.append(
            {
                "subject": kind,
                "options": ", ".join(f"{name}={default}" for name, default in options),
                "about": " ".join(about.split("\n\n")[0].split()),
            }
        )
    return rows


LISTS: dict[str, Callable[[], Rows]] = {
    "games": games,
    "partners": partners,
    "subjects": subjects,
}
"""What ``tomeval list`` can list of this domain."""


def asked(setup: Setup, note: str = "", length: int = 0) -> list[Overheard]:
    """Return what a subject that is a model is asked in its first episode; `note` as for `record`.

    A `length` takes the place of the episode's own. In place of a player in the partner's seat one
    plays that takes its actions in turn.
    """
    from tomeval.play.engines import run_loop

    if not isinstance(setup.partners, PartnerSet):
        cycler = get_partner("cycler", setup.game)
        setup = replace(setup, partners=PartnerSet("in turn", (cycler,)))
    return record(partial(play_episode_async, setup, 0, length=length), run_loop, note)


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> MatrixCell:
    """Return the cell that ``tomeval prompt`` shows where no experiment is named.

    `settings` may hold ``game``, ``labels``, ``partners``, ``horizon`` or ``continuation``, and
    options of `tomeval.games.matrix.subjects.LLMSubject`; ``form`` "react" asks the conditional
    probe, "draw" the literal question again.
    """
    data: dict[str, Any] = dict(settings)
    names = ("labels", "partners", "horizon", "continuation")
    keys = {name: data.pop(name) for name in names if data.get(name)}
    data.pop("labels", None)
    form = data.pop("form", "")
    if form == "react":
        data["conditional"] = True
    if form == DRAW:
        data.setdefault("draws", 2)
    game = data.pop("game", None) or "RPS"
    keys.setdefault("partners", "tit_for_tat")
    # A prompt is shown and none is asked, so it needs no model; its text does not depend on one.
    subject = {"kind": "llm", "strategy": strategy, "model": "pocket", **data}
    data = {"domain": "matrix", "games": [game], "subjects": [subject], **keys}
    [cell] = make_experiment(data, where="prompt").cells
    assert isinstance(cell, MatrixCell)
    return cell


def episode_lines(cell: MatrixRunCell, episode: int) -> Iterator[Line]:
    """Yield what was chosen, predicted and earned in every step."""
    labels, record = cell.labels, cell.store.record(cell.number, episode)
    against = cell.partner_names[record.own["partner"]]
    yield Line(0, f"{cell.name}; episode {episode} against {against}: ")
    yield Line(0, f"{record.status}, {counted(record.steps, 'step')}")
    if said := cell.said(record.own["partner"]):
        yield Line(0, f"told of the other player: {'; '.join(said.values())}")
    other = {
        (step, question): (outcome, value["action"])
        for step, seat, question, outcome, _, value, _ in record.answers
        if seat == PARTNER and question in (ACT, PREDICT)
    }
    for step, row in enumerate(steps_of(record), 1):
        theirs, reward = row["partner_action"], row["own_reward"]
        if told := (row["act_details"] or {}).get(BELIEF):
            verdict = "rightly" if told["right"] else "wrongly"
            move = labels.partner[told["action"]]
            yield Line(step, f"told {verdict} that the partner would choose {move}")
        unasked = (NOT_ASKED if theirs is None else VALID, None)  # a table never is
        moved, _ = other.get((step, ACT), unasked)
        guess = other.get((step, PREDICT))
        yield Line(
            step,
            f"chose {_of_row(row, labels.own, 'own_action', 'act')}, "
            f"predicted {_of_row(row, labels.partner, 'predicted_action', 'predict')}; "
            f"partner chose {_label(labels.partner, theirs, moved)}"
            + (f", predicted {_label(labels.own, guess[1], guess[0])}" if guess else "")
            + (f"; reward {reward:g}" if reward is not None else ""),
        )


def _of_row(row: Mapping[str, Any], labels: tuple[str, ...], column: str, form: str) -> str:
    """Name what a step's row has, and the line of what was written that it follows."""
    if line := (row[f"{form}_details"] or {}).get(LINE):
        return f"{labels[row[column]]} (written: {line})"
    return _label(labels, row[column], row[f"{form}_outcome"])


def _label(labels: tuple[str, ...], action: int | None, outcome: str) -> str:
    """Name an action, or explain why it is missing or what it stands for."""
    why = outcome.replace("_", " ")
    if action is None:
        return f"nothing ({why})"
    return labels[action] if outcome == VALID else f"{labels[action]} (drawn, {why})"


_OWN_TABLE = ("model", "strategy")  # options that have columns of their own


def run_facts(run: Run) -> list[Facts]:
    """Return subjects, games and partners."""
    cells = matrix_cells(run)
    return [
        Facts("Subjects", [("Subjects with their options as recorded", _subjects(cells))]),
        Facts("Games", _games(cells)),
        Facts("Partners", [("Partners with their share of each set", _partners(cells))]),
    ]


def table_notes(run: Run, names: Collection[str]) -> list[str]:
    """Explain one-step rules, recorded games, and players in the partner's seat.

    `names` are the measures that are shown.
    """
    cells = matrix_cells(run)
    reacting = [one.name for cell in cells for one in cell.partners if one.reacts]
    recorded = [cell for cell in cells if cell.recorded]
    drawn = [cell for cell in cells if "continuation" in cell.definition]
    notes = {
        "ΔToM/T (best response) and ΔToM/T (misprediction) look one step ahead. They ignore "
        "how a move changes the later moves of a partner that reacts, so they are not regret over "
        f"T steps against: {first_names(reacting)}. ΔToM/T (planned) is.": bool(
            reacting and set(names) & set(ONE_STEP)
        ),
        "Matches played elsewhere are not paired by chance: comparisons treat players as "
        "independent groups, except for a participant who is in both.": bool(recorded),
        "Where the partner is unknown, ΔFunctional and foresight cannot be computed. Regret in "
        "hindsight holds the partner's moves fixed as recorded, and is not ΔFunctional.": any(
            not cell.partners for cell in recorded
        ),
        "Matches differ in length: T is the longest of a game and partner; every measure is "
        "per step, and regret is measured from the best response over the match's own length.": any(
            len(set(cell.played.lengths.tolist())) > 1 for cell in recorded
        ),
        "c: after every step the game goes on with that probability. Every step counts the same, "
        "and regret is measured from the best response to the whole game.": bool(drawn),
        "Long games are void more often, so complete ones are shorter than drawn, and their regret "
        "is not that of all games; on_invalid = random plays all to the end.": any(
            status == VOID for cell in drawn for status, _ in cell.store.lengths(cell.number)
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
    }
    told = [note for note, holds in notes.items() if holds]
    return told + (_hindsight(cells) if HINDSIGHT in names else [])


def _hindsight(cells: Sequence[MatrixRunCell]) -> list[str]:
    """Say why regret in hindsight and ΔFunctional differ in sign or order, where they do."""
    found = []
    for cell in cells:
        if cell.recorded and len(cell.episodes) and any(one.reacts for one in cell.partners):
            means = cell.estimate([HINDSIGHT, "delta_functional_per_step"]).mean
            found.append((cell, *means.round(9).tolist()))
    pairs = [
        (one, other)
        for one, other in permutations(found, 2)
        if one[0].task == other[0].task and one[1] < other[1] and one[2] > other[2]
    ]
    alone = [(one,) for one in found if one[1] <= 0 < one[2] or one[2] <= 0 < one[1]]
    for shown in [*pairs, *alone][:1]:
        names, back, lost = (
            " and ".join(text)
            for text in zip(*((c.title, f"{x:.3f}", f"{y:.3f}") for c, x, y in shown), strict=True)
        )
        return [
            "Regret in hindsight holds the partner's moves fixed, and ΔFunctional/T counts how it "
            "would have answered others: against a partner that reacts they can differ in sign and "
            f"order, as here for {names}, {back} in hindsight and {lost}."
        ]
    return []


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
