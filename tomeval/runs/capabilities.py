"""What a domain can do, as five objects: play, read, show, compare, describe.

Each holds data and functions, every one with a default where there can be one: a domain gives those
in which it differs. Functions are called with positions only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from tomeval.models.base import Model
    from tomeval.models.scripted import Script
    from tomeval.runs.cell import RunCell
    from tomeval.runs.columns import Table
    from tomeval.runs.measures import Measure
    from tomeval.runs.record import Record, Schema
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store
    from tomeval.strategies.recording import Overheard

Rows = list[dict[str, Any]]


class Line(NamedTuple):
    """One line of an episode for readers.

    `step` is 0 before the first and -1 after the last. A `heading` stands above its step and those
    that follow, such as ``Day 2``.
    """

    step: int
    text: str
    heading: bool = False


def later(where: str) -> Callable[..., Any]:
    """Return a function that loads another one, ``module:function``, when it is called."""

    def call(*given: Any, **named: Any) -> Any:
        return resolve_name(where)(*given, **named)

    return call


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


def _none(*given: Any) -> None:
    return None


def _nothing(*given: Any) -> list[Any]:
    return []


def _empty(*given: Any) -> dict[Any, Any]:
    return {}


@dataclass(eq=False)
class Play:
    """How cells are played.

    Attributes
    ----------
    episode : coroutine function of cell, episode, models, on_step
        Plays one episode; `models` by seat; calls `on_step` after every step.
    together : function of cell
        How many episodes `many` takes at a time; 0: it cannot play the cell.
    many : function of cell, first, count
        Plays consecutive episodes at once.
    """

    episode: Callable[
        [Any, int, Mapping[str, Model], Callable[[], None]], Coroutine[Any, Any, Record]
    ]
    together: Callable[[Any], int] = lambda cell: 0
    many: Callable[[Any, int, int], list[Record]] | None = None


def parameters(definition: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the words and whole numbers of a definition that have no column of their own."""
    shown = {n: v for n, v in definition.items() if n not in ("seed", "on_invalid", "steps")}
    return {name: value for name, value in shown.items() if type(value) in (str, int)}


def _run_cell(store: Store, number: int, definition: dict[str, Any]) -> RunCell:
    from tomeval.runs.cell import RunCell

    return RunCell(store, number, definition)


def _step_records(store: Store, cells: Sequence[int]) -> Iterator[dict[str, Any]]:
    typed = store.domain.read.schema.steps
    for number, definition in store.cells():
        about = {**store.domain.read.columns(definition), "cell": number}
        for record in store.records(number) if number in cells else ():
            columns = zip(*(record.column(name) for name in typed), strict=True)
            for step, values in enumerate(columns, 1):
                own = {"episode": record.episode, "step": step, **record.own}
                yield (
                    about | own | dict(zip(typed, values, strict=True)) | {"status": record.status}
                )


@dataclass(eq=False)
class Read:
    """How runs are stored and read back.

    Attributes
    ----------
    schema : Schema
    columns : function of a definition
        What tells a cell from others in tables; default: its parameters.
    cell : function of store, number, definition
        A cell of a run, which reads its episodes when they are first used.
    step_records : function of store, cells
        Yields everything known of every step of some cells, by column, for exports. Default: the
        columns of the cell, of the step and of the episode.
    measured : function of run
        The domain's own measures that a run has data for; None: all.
    references : tuple of str
        What regret can be measured from, the default first.
    """

    schema: Schema
    columns: Callable[[Mapping[str, Any]], dict[str, str | int]] = parameters
    cell: Callable[[Store, int, dict[str, Any]], RunCell] = _run_cell
    step_records: Callable[[Store, Sequence[int]], Iterator[dict[str, Any]]] = _step_records
    measured: Callable[[Run], Mapping[str, Measure]] | None = None
    references: tuple[str, ...] = ("",)


def _steps_as_lines(run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
    """Yield a line for every step: the domain's columns of the store."""
    yield Line(0, f"{cell.name}; episode {episode}")
    names = list(run.domain.read.schema.steps)
    for step, row in enumerate(run.store.read("steps", names, cell.number, episode), 1):
        said = zip(names, row, strict=True)
        yield Line(step, ", ".join(f"{name} {value}" for name, value in said if value is not None))


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


@dataclass(eq=False)
class Show:
    """How runs are shown.

    Attributes
    ----------
    headline : tuple of str
        The measures that figures, reports and comparisons show first: functional, then literal;
        default: the first of all.
    lines : function of run, cell, episode
        Yields an episode for readers, without the model calls; default: a line per step.
    tables : mapping of str to Table
        Tables besides that of cells by name, in the order in which a report shows them.
    first_table : str
        Which of `tables` is of cells and has their notes too; it is printed if only ``--by`` is
        given. Default: the first of `tables`, without such notes.
    figures : mapping
        Figures besides those of every domain by name: ``module:function``.
    first_figures : tuple of str
        The few that ``tomeval plot`` draws unless others are named, in order: names of figures, or
        of single files of theirs; those that the run's data does not support are left out.
    heeds : mapping of str to sequence of str
        What those of them heed that heed anything: ``by``, if they can lay the values of a column
        of `Compare.by` over each other, and ``window``, if they are curves (`Options.window`).
    rates : function of run
        Which rates besides those of all answers tables print, in order: by name, see
        `tomeval.runs.columns`, what tells of a seat and a question whether they count.
    own_seat : str
        The seat that is measured, whose answers rates are of; empty: all.
    facts : function of run
        What is known of players and tasks beyond the cells' columns.
    notes : function of run
        Sentences that readers of a report must know besides those of `table_notes`.
    table_notes : function of run, names
        Sentences that stand below a table of cells that shows these measures, and in a report.
    beside : function of run, path, model, interval, reference
        A run's rows beside published results, and notes, for ``table --against``; None: there are
        none.
    published : function of run, rows
        A run's rows named and ordered as in published tables, the measures of these, and notes, for
        ``table --published``; None without published tables.
    verdict : Verdict, optional
        What the first screen of a run says; None: it shows the headline alone.
    """

    headline: tuple[str, ...] = ()
    lines: Callable[[Run, Any, int], Iterator[Line]] = _steps_as_lines
    tables: Mapping[str, Table] = field(default_factory=dict)
    first_table: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    first_figures: tuple[str, ...] = ("forest",)
    heeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rates: Callable[[Run], Mapping[str, Callable[[str, str], bool]]] = _empty
    own_seat: str = ""
    facts: Callable[[Run], list[Facts]] = _nothing
    notes: Callable[[Run], list[str]] = _nothing
    table_notes: Callable[[Run, Collection[str]], list[str]] = _nothing
    beside: Callable[[Run, Path, str | None, str, str | None], tuple[Rows, list[str]]] | None = None
    published: Callable[[Run, Rows], tuple[Rows, list[str], list[str]]] | None = None
    verdict: Verdict | None = None


def _words(task: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in task.items() if value != "")


def _task_of(cell: RunCell, by: str) -> dict[str, Any]:
    return {name: value for name, value in cell.task.items() if name != by}


def _held(cell: RunCell, by: str) -> str:
    own = cell.domain.compare
    others = [n for n in own.by if n != by and n in cell.columns and n not in own.task]
    return ", ".join(str(cell.columns[name]) for name in others if cell.columns[name] != "")


@dataclass(eq=False)
class Compare:
    """How cells are compared.

    Attributes
    ----------
    by : tuple of str
        Columns that the levels of a comparison may differ in, the default first.
    task : tuple of str
        Columns in which compared cells must agree.
    panel : tuple of str
        Columns of `task` that tell the panels of a figure apart, the first one alone if that is
        enough; default: the first one of `task`.
    unit : str
        What the sampling unit of a paired comparison is: an episode, or the deal of several.
    shares_draws : tuple of str
        Columns of `task` in which cells must agree for episodes of one seed and number to have met
        the same chance, so that they are one sampling unit.
    named : tuple of str
        What tasks are named by, besides what differs between them; default: `panel`.
    words : function of a task
        A task, or some of its columns, in words; empty without columns.
    level : function of cell, by
        A cell's level in a comparison; default: its column.
    side : function of measure, by
        A measure with the better side that it has for the levels of a comparison.
    task_of : function of cell, by
        What compared cells must agree in if levels differ in `by`; default: the other columns.
    held : function of cell, by
        What cells must share besides the task to be paired; empty: pairs with any. Default: the
        other columns that comparisons may differ in.
    held_name : function of by
        What `held` is called in tables.
    worded : function of cell
        How the measured player is asked; None: in no words, or it is not known how.
    content : function of cell
        Content that one name must always mean, by (kind, ..., name).
    """

    by: tuple[str, ...]
    task: tuple[str, ...]
    panel: tuple[str, ...] = ()
    unit: str = "episode"
    shares_draws: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    words: Callable[[Mapping[str, Any]], str] = _words
    level: Callable[[RunCell, str], str] = lambda cell, by: str(cell.columns[by])
    side: Callable[[Measure, str], Measure] = lambda measure, by: measure
    task_of: Callable[[RunCell, str], dict[str, Any]] = _task_of
    held: Callable[[RunCell, str], str] = _held
    held_name: Callable[[str], str] = lambda by: "player"
    worded: Callable[[RunCell], Worded | None] = _none
    content: Callable[[RunCell], dict[tuple[str, ...], str]] = _empty


@dataclass(eq=False)
class Describe:
    """What is known before anything is played.

    Attributes
    ----------
    episodes : function of cell, seat, note
        What a language model in a seat is asked in made-up episodes that go to their ends: one, or
        several that differ in what they ask. `note` is what the model writes in every summary,
        lesson or plan, see `tomeval.strategies.recording.Recording`.
    example : function of strategy, seat, settings
        A cell that shows a strategy in a seat, for ``tomeval prompt``.
    bounds : function of cells
        What can be attained in an experiment's cells, for ``tomeval bounds``.
    cannot_tell : function of cells
        Sentences on what measures cannot tell in an experiment's cells, whoever plays.
    lists : mapping
        What ``tomeval list`` can list of it, by name: a function, or ``module:function``.
    scripts : mapping
        Models of known behaviour that experiments can name ``scripted:NAME``.
    """

    episodes: Callable[[Any, str, str], list[list[Overheard]]] = _nothing
    example: Callable[[str, str, Mapping[str, Any]], Any] | None = None
    bounds: Callable[[Sequence[Any]], Rows] | None = None
    cannot_tell: Callable[[Sequence[Any]], list[str]] = _nothing
    lists: Mapping[str, str | Callable[[], Rows]] = field(default_factory=dict)
    scripts: Mapping[str, Script] = field(default_factory=dict)
