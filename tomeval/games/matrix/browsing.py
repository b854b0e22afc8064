"""An episode as a reader wants it, in lines: of transcripts and of reports."""

from __future__ import annotations

from collections.abc import Iterator

from tomeval.core.outcomes import NOT_ASKED, VALID
from tomeval.games.matrix.games import Labels
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.steps import ACT, BELIEF, PREDICT
from tomeval.games.matrix.storing import (
    STATED,
    draws_of_episode,
    other_answers,
)
from tomeval.report.facts import counted
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run

_SHOWN = (
    *("step", "own_action", "partner_action", "predicted_action", "own_reward", "act_outcome"),
    *("predict_outcome", STATED, f"act_details/{BELIEF}/right"),
)


def episode_lines(run: Run, cell: MatrixRunCell, episode: int) -> Iterator[Line]:
    """Yield what was chosen, predicted and earned in every step."""
    store = run.store
    where = (cell.number, episode)
    [(partner, status, length)] = store.read("episodes", ("partner", "status", "steps"), *where)
    yield Line(0, f"{cell.name}; episode {episode} against {cell.partner_names[partner]}: ")
    yield Line(0, f"{status}, {counted(length, 'step')}")
    labels = cell.labels
    other = other_answers(store, cell.number, episode) if cell.partner_player else {}
    draws = draws_of_episode(store, cell.number, episode)
    for step, own, theirs, predicted, reward, act, predict, told, right in store.read(
        "steps", _SHOWN, *where
    ):
        if told is not None:
            verdict = "rightly" if right else "wrongly"
            yield Line(step, f"told {verdict} that the partner would choose {labels.partner[told]}")
        moved = _outcome(other.get((step, ACT)), theirs)
        yield Line(
            step,
            f"chose {_label(labels.own, own, act)}, "
            f"predicted {_label(labels.partner, predicted, predict)}; "
            f"partner chose {_label(labels.partner, theirs, moved)}"
            + _predicted(labels, other.get((step, PREDICT)))
            + (f"; reward {reward:g}" if reward is not None else ""),
        )
        if step in draws:
            yield Line(step, _drawn(labels.partner, draws[step]))


def _drawn(labels: tuple[str, ...], found: list[int | None]) -> str:
    """Say how often each action was predicted when the question was asked again."""
    counts = [f"{label} {found.count(action)}" for action, label in enumerate(labels)]
    unread = f", unreadable {found.count(None)}" if None in found else ""
    return f"asked {len(found)} times more, predicted {', '.join(counts)}{unread}"


def _outcome(answer: tuple[str, int | None] | None, action: int | None) -> str:
    """Return what became of the partner's question for a move; a table is never asked."""
    if answer is not None:
        return answer[0]
    return NOT_ASKED if action is None else VALID


def _predicted(labels: Labels, answer: tuple[str, int | None] | None) -> str:
    """Say what a player in the partner's seat predicted; empty if it was not asked."""
    if answer is None:
        return ""
    outcome, action = answer
    return f", predicted {_label(labels.own, action, outcome)}"


def _label(labels: tuple[str, ...], action: int | None, outcome: str) -> str:
    """Name an action, or say why there is none or what it stands for."""
    why = outcome.replace("_", " ")
    if action is None:
        return f"nothing ({why})"
    return labels[action] if outcome == VALID else f"{labels[action]} (drawn, {why})"
