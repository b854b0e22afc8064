"""What a kind of game says of its runs, and what it does where it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store

Rows = list[dict[str, Any]]


class Line(NamedTuple):
    """One line of an episode for readers.

    `step` is 0 before the first and -1 after the last. A `heading` stands above its step and those
    that follow, such as ``Day 2``.
    """

    step: int
    text: str
    heading: bool = False


class Facts(NamedTuple):
    """What a report says of players and tasks: tables under one title, as (caption, rows)."""

    title: str
    tables: list[tuple[str, Rows]]


class Worded(NamedTuple):
    """How the measured player of a cell is asked.

    `player` is who is asked, apart from wording and model, such as the strategy; `options` are what
    is wording only, by name: the set of templates, labels, the order of options; `usual` are their
    defaults.
    """

    player: str
    model: str
    options: Mapping[str, str]
    usual: Mapping[str, str]

    @property
    def words(self) -> str:
        """The options that are not as usual."""
        said = (f"{k} {v}" for k, v in self.options.items() if v != self.usual.get(k))
        return ", ".join(said) or "as usual"


class Verdict(NamedTuple):
    """Whether players use what they know, in words.

    Attributes
    ----------
    rows : function of run, interval, reference
        A row per cell for the first screen: columns, the functional measure with its interval, the
        literal one beside it, and ``answer``. Empty: the run does not tell.
    lines : function of run
        A line per player.
    rule : str
        How answers come about, in a sentence or two.
    short : mapping of str to str
        A word for every answer, in their order, for tables with a task per column.
    answer : function of cell, interval
        The answer of a cell.
    spare : tuple of str
        Columns that a narrow terminal leaves out, the first one first.
    """

    rows: Callable[[Run, str, str | None], Rows]
    lines: Callable[[Run], list[str]]
    rule: str
    short: Mapping[str, str]
    answer: Callable[[Any, str], str]
    spare: tuple[str, ...] = ()


def later(where: str) -> Callable[..., Any]:
    """Return a function that loads another one, ``module:function``, when it is called."""
    return lambda *given, **named: resolve_name(where)(*given, **named)


def none(*given: Any) -> None:
    """Return None."""


def no_rows(*given: Any) -> list[Any]:
    """Return nothing."""
    return []


def nothing(*given: Any) -> dict[Any, Any]:
    """Return nothing by name."""
    return {}


def parameters(definition: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the words and whole numbers of a definition that have no column of their own."""
    shown = {n: v for n, v in definition.items() if n not in ("seed", "on_invalid", "steps")}
    return {name: value for name, value in shown.items() if type(value) in (str, int)}


def usual_cell(store: Store, number: int, definition: dict[str, Any]) -> RunCell:
    """Return a cell whose measures read the columns of its steps."""
    from tomeval.runs.cell import RunCell

    return RunCell(store, number, definition)


def steps_of(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the columns of the cell, of the step and of the episode of every step."""
    typed = store.domain.schema.steps
    for number, definition in store.cells():
        about = {**store.domain.columns(definition), "cell": number}
        for record in store.records(number) if number in cells else ():
            columns = zip(*(record.column(name) for name in typed), strict=True)
            for step, values in enumerate(columns, 1):
                own = {"episode": record.episode, "step": step, **record.own}
                yield (
                    about | own | dict(zip(typed, values, strict=True)) | {"status": record.status}
                )


def steps_as_lines(run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
    """Yield a line for every step: its columns in the store."""
    yield Line(0, f"{cell.name}; episode {episode}")
    names = list(run.domain.schema.steps)
    for step, row in enumerate(run.store.read("steps", names, cell.number, episode), 1):
        said = zip(names, row, strict=True)
        yield Line(step, ", ".join(f"{name} {value}" for name, value in said if value is not None))


def words_of(task: Mapping[str, Any]) -> str:
    """Return the columns of a task in words."""
    return ", ".join(f"{name} {value}" for name, value in task.items() if value != "")


def level_of(cell: RunCell, by: str) -> str:
    """Return the column of a cell that comparisons differ in."""
    return str(cell.columns[by])


def task_but(cell: RunCell, by: str) -> dict[str, Any]:
    """Return the other columns of a cell's task."""
    return {name: value for name, value in cell.task.items() if name != by}


def others_held(cell: RunCell, by: str) -> str:
    """Return the other columns that comparisons may differ in."""
    own = cell.domain
    others = [n for n in own.by if n != by and n in cell.columns and n not in own.task]
    return ", ".join(str(cell.columns[name]) for name in others if cell.columns[name] != "")
