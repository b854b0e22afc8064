"""Show what a model would read: one question of a made-up episode, in any domain."""

from __future__ import annotations

from pathlib import Path

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.runs.domain import Cell
from tomeval.strategies.asking import flatten
from tomeval.strategies.recording import times_asked
from tomeval.strategies.templates import using


def preview(
    cell: Cell,
    seat: str = "",
    form: str = "",
    step: int | None = None,
) -> str:
    """Return the prompt of one question as text, after those of earlier calls in its step.

    What a model would have written (summaries, lessons, plans, answers) is a stand-in text.

    Parameters
    ----------
    seat : str
        A seat of a language model; empty: the first one.
    form : str
        A question of the seat, such as ``act``; empty: its first move.
    step : int, optional
        The how manieth time it is asked, from 1: in matrix games the round. Default: the fifth, or
        the last if there are fewer.
    """
    seat = model_seat(cell, seat)
    episodes = cell.questions(seat, "")
    answered = [one for episode in episodes for one in episode if not one.is_text]
    forms = dict.fromkeys(one.form for one in answered)
    form = form or next((one.form for one in answered if one.is_move), "")
    if form not in forms:
        raise unknown("form", form, forms)
    times = times_asked(episodes, form)
    number = min(5, len(times)) if step is None else step
    if not 1 <= number <= len(times):
        raise TomevalError(f"--round must be from 1 to {len(times)}, is {number}")
    shown = times[number - 1]
    parts = []
    for index, question in enumerate(shown, 1):
        prompt, text = question.prompt, flatten(question.prompt)
        if prompt.instead:
            text += (
                "\n[or, if it cannot begin like this, the last message ends "
                f"with]\n{prompt.instead}"
            )
        head = f"--- call {index} of {len(shown)}, {question.purpose}: the model {question}; "
        parts.append(f"{head}{len(text)} characters\n{text}")
    return "\n\n".join(parts)


def copy_templates(domain: str, cell: Cell, seat: str, folder: Path) -> list[Path]:
    """Copy the templates that a language model's player uses into ``folder/DOMAIN``.

    Those of every question that its seat can be asked; `seat` as for `preview`. Nothing is
    overwritten.

    Raises
    ------
    TomevalError
        One of the files is there already; nothing is written then.
    """
    seat = model_seat(cell, seat)
    with using() as used:
        cell.questions(seat, "")
    files = {folder / domain / f"{name}.j2": used[name].path(name) for name in sorted(used)}
    if there := [path for path in files if path.exists()]:
        raise TomevalError(f"{there[0]}: already exists; name another folder")
    for path, source in files.items():
        write_text(path, read_text(source))
    return list(files)


def model_seat(cell: Cell, seat: str) -> str:
    """Return the seat of a language model: the first one, if `seat` is empty."""
    if not cell.models:
        raise TomevalError("no language model plays in this cell: there is no prompt")
    seat = seat or next(iter(cell.models))
    if seat not in cell.models:
        raise unknown("seat of a language model", seat, cell.models)
    return seat
