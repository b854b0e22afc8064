"""What is shown of matrix games: what can be listed, what a model would read, what was played."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tomeval.core.outcomes import NOT_ASKED, VALID
from tomeval.core.parts import parts
from tomeval.core.resources import read_toml
from tomeval.games.matrix.bounds import blind_sentences, bounds, opened
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES, MatrixGame
from tomeval.games.matrix.optima import relevance
from tomeval.games.matrix.partner_files import partner_file, partner_names
from tomeval.games.matrix.partner_specs import SETS, get_partner
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.play import Setup, play_episode_async
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.rules import ACT, DRAW, PARTNER, PREDICT, SEAT
from tomeval.games.matrix.storing import BELIEFS, draws_of
from tomeval.games.matrix.subjects import all_subjects
from tomeval.play.engines import run_loop
from tomeval.report.facts import counted
from tomeval.runs.domain import Line
from tomeval.runs.experiment import make_experiment
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


def labels() -> Rows:
    """Return every label set of every built-in game."""
    return [
        {"game": game.name, "labels": name, "names": ", ".join(label_set.own)}
        for game in GAMES.values()
        for name, label_set in game.labels.items()
    ]


def bounds_rows(
    game: str, partner_set: str, horizon: int, reference: str
) -> tuple[Rows, list[str]]:
    """Return the bounds of a cell, per partner and for the whole set, and lines on what it tells.

    The first line is its relevance; the others say what its measures cannot tell.
    """
    found, partners = opened(game, partner_set)
    rows = _of_set(found, partners, horizon, reference)
    what = "relevance (regret per step of the best response to the wrong partner)"
    said = f"{relevance(found, partners, horizon):.6g}"
    if len(partners.partners) == 1:
        said += " (only one partner, nothing to tell apart)"
    return rows, [f"{what}: {said}", *blind_sentences([(found, partners, horizon)])]


def _of_set(game: MatrixGame, partners: PartnerSet, horizon: int, reference: str) -> Rows:
    """Return the bounds of each partner of a set, and last, if there are several, their mean."""
    rows = bounds(game, partners, horizon, reference)
    if len(rows) > 1:
        means = {key: sum(row["weight"] * row[key] for row in rows) for key in list(rows[0])[2:]}
        rows.append({"partner": f"{partners.name} (mean)", "weight": 1.0, **means})
    return rows


def experiment_bounds(cells: Sequence[MatrixCell]) -> Rows:
    """Return what is attainable in each task of an experiment, one row for a set of partners.

    Tasks with a player in the partner's seat have no row: it has no table.
    """
    by_task: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in cells:
        setup, partners = cell.setup, cell.setup.partners
        task = (setup.game.name, partners.name, setup.horizon, cell.reference)
        if task not in by_task and isinstance(partners, PartnerSet):
            names = ("game", "partners", "horizon", "reference")
            row = _of_set(setup.game, partners, setup.horizon, cell.reference)[-1]
            told = {key: value for key, value in row.items() if key not in ("partner", "weight")}
            by_task[task] = dict(zip(names, task, strict=True)) | told
    return list(by_task.values())


LISTS: dict[str, Callable[[], Rows]] = {
    "games": games,
    "partners": partners,
    "subjects": subjects,
    "labels": labels,
}
"""What ``tomeval list`` can list of this domain."""


def episodes(cell: MatrixCell, seat: str, note: str = "") -> list[list[Overheard]]:
    """Return what a seat is asked in an episode, see `Domain.episodes`."""
    return [asked(cell.setup if seat == SEAT else cell.setup.other, note)]


def asked(setup: Setup, note: str = "") -> list[Overheard]:
    """Return what a subject that is a model is asked in its first episode; `note` as for `record`.

    In place of a player in the partner's seat one plays that takes its actions in turn.
    """
    if not isinstance(setup.partners, PartnerSet):
        cycler = get_partner("cycler", setup.game)
        setup = replace(setup, partners=PartnerSet("in turn", (cycler,)))
    return record(partial(play_episode_async, setup, 0), run_loop, note)


def example_cell(strategy: str, seat: str, settings: Mapping[str, Any]) -> MatrixCell:
    """Return the cell that ``tomeval prompt`` shows where no experiment is named.

    `settings` may hold ``game``, ``labels``, ``partners``, ``horizon`` and options of
    `tomeval.games.matrix.subjects.LLMSubject`; ``form`` "react" asks the conditional probe,
    "draw" the literal question again.
    """
    data: dict[str, Any] = dict(settings)
    keys = {key: data.pop(key) for key in ("labels", "partners", "horizon") if data.get(key)}
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


_SHOWN = (
    *("step", "own_action", "partner_action", "predicted_action", "own_reward", "act_outcome"),
    *("predict_outcome", BELIEFS[0], BELIEFS[2]),
)


def episode_lines(run: Run, cell: MatrixRunCell, episode: int) -> Iterator[Line]:
    """Yield what was chosen, predicted and earned in every step."""
    store, labels = run.store, cell.labels
    record = store.record(cell.number, episode)
    against = cell.partner_names[record.own["partner"]]
    yield Line(0, f"{cell.name}; episode {episode} against {against}: ")
    yield Line(0, f"{record.status}, {counted(record.steps, 'step')}")
    other = {
        (step, question): (outcome, value["action"])
        for step, seat, question, outcome, _, value, _ in record.answers
        if seat == PARTNER and question in (ACT, PREDICT)
    }
    draws: dict[int, list[int | None]] = {}
    for step, _, _, outcome, _, value, _ in draws_of(record):
        draws.setdefault(step, []).append(value if outcome == VALID else None)
    for step, own, theirs, predicted, reward, act, predict, told, right in store.read(
        "steps", _SHOWN, cell.number, episode
    ):
        if told is not None:
            verdict = "rightly" if right else "wrongly"
            yield Line(step, f"told {verdict} that the partner would choose {labels.partner[told]}")
        unasked = (NOT_ASKED if theirs is None else VALID, None)  # a table never is
        moved, _ = other.get((step, ACT), unasked)
        guess = other.get((step, PREDICT))
        yield Line(
            step,
            f"chose {_label(labels.own, own, act)}, "
            f"predicted {_label(labels.partner, predicted, predict)}; "
            f"partner chose {_label(labels.partner, theirs, moved)}"
            + (f", predicted {_label(labels.own, guess[1], guess[0])}" if guess else "")
            + (f"; reward {reward:g}" if reward is not None else ""),
        )
        if step in draws:
            yield Line(step, _drawn(labels.partner, draws[step]))


def _drawn(labels: tuple[str, ...], found: list[int | None]) -> str:
    """Describe how often each action was predicted when the question was asked again."""
    counts = [f"{label} {found.count(action)}" for action, label in enumerate(labels)]
    unread = f", unreadable {found.count(None)}" if None in found else ""
    return f"asked {len(found)} times more, predicted {', '.join(counts)}{unread}"


def _label(labels: tuple[str, ...], action: int | None, outcome: str) -> str:
    """Name an action, or explain why it is missing or what it stands for."""
    why = outcome.replace("_", " ")
    if action is None:
        return f"nothing ({why})"
    return labels[action] if outcome == VALID else f"{labels[action]} (drawn, {why})"
