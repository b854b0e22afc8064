"""The contract of a domain, that is of a kind of game, and the three that there are.

A *seat* is a place at a game's table; *episode* and *step* are its rows; a *cell* is one
combination of players and task. Runs, tables, figures, comparisons, reports and exports ask a
domain for nothing but what is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.errors import unknown
from tomeval.core.parts import NotInstalled, is_there, load_plugins
from tomeval.models import model_name
from tomeval.runs.analyses import LOADED
from tomeval.runs.measures import Measure

if TYPE_CHECKING:
    from tomeval.models.base import Model
    from tomeval.runs.cell import RunCell
    from tomeval.runs.columns import Table
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.record import Record, Schema
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store
    from tomeval.strategies.recording import Overheard

DOMAINS: dict[str, str] = {
    "matrix": "tomeval.games.matrix.domain:MATRIX",
    "decrypto": "tomeval.games.decrypto.domain:DECRYPTO",
    "arena": "tomeval.games.arena.domain:ARENA",
}
"""Where each domain is: ``module:object``, loaded when it is first named."""

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


@dataclass(frozen=True)
class Player:
    """Who sits in a seat.

    Attributes
    ----------
    name : str
        As tables show it.
    kind : str
        In the domain's words, such as ``llm``, ``rmax`` or ``embedding``.
    options : dict
        As the experiment gives them, JSON-ready.
    model : str or dict
        The spec of its language model, see `tomeval.models.open_model`; empty without one.
    strategy : str
        Name of its prompting strategy; empty without one.
    """

    name: str
    kind: str
    options: dict[str, Any]
    model: str | dict[str, Any] = ""
    strategy: str = ""

    @property
    def model_name(self) -> str:
        """What tables call its model; empty without one."""
        return model_name(self.model) if self.model else ""


class Cell(ABC):
    """One combination of players and task, as an experiment describes it."""

    @property
    @abstractmethod
    def seats(self) -> Mapping[str, Player | None]:
        """The player in each seat; None for a seat that answers from a record."""

    @property
    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data with ``seed``, complete enough to be played again."""

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...]:
        """The words that tell this cell from the others of its experiment."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The most steps an episode can have."""

    @property
    def models(self) -> dict[str, str | dict[str, Any]]:
        """The specs of the language models, by seat."""
        return {seat: who.model for seat, who in self.seats.items() if who and who.model}

    @property
    @abstractmethod
    def scores(self) -> bool:
        """Whether any model scores labels."""

    def wanted(self, planned: int) -> int:
        """Return how many episodes the cell has if the experiment has `planned` of each.

        A cell in which nothing is drawn has as many as it has partners, whatever is planned.
        """
        return planned


@dataclass(eq=False)
class Domain:
    """A kind of game: what it is, and what it says of its runs. See `tomeval.games`.

    Functions are called with positions only; where one has a default, a domain gives it if it
    differs.

    Attributes
    ----------
    name : str
        Its name in experiment files, in ``prompts/NAME/`` and in the store.
    title : str
        What it is, in a few words.
    experiment : type of Experiment
        The keys of its experiment files.
    measures : mapping of str to Measure
        In the order of tables.
    schema : Schema
        Its columns of records.
    play : coroutine function of cell, episode, models, on_step
        Plays one episode; `models` by seat; calls `on_step` after every step.
    by : tuple of str
        Columns that the levels of a comparison may differ in, the default first.
    task : tuple of str
        Columns in which compared cells must agree.
    together, play_many : function of cell; of cell, first, count
        How many consecutive episodes can be played at once (0: none), and what plays them.
    columns : function of a definition
        What tells a cell from others in tables.
    run_cell : function of store, number, definition
        A cell of a run, which reads its episodes when they are first used.
    headline : tuple of str
        The measures that are shown first: functional, then literal; default: the first of all.
    tables : mapping of str to Table
        Besides that of cells, in the order of a report. The first is printed if only ``--by`` is
        given.
    figures : mapping
        What draws its figures, ``module:function``, by name.
    facts : function of run
        What is known of players and tasks beyond the cells' columns.
    table_notes : function of run, names
        Sentences that stand below a table of cells that shows these measures, and in a report.
    published : str
        The module that knows published tables: ``beside``, given run, path, model, interval and
        reference, returns a run's rows beside theirs, and notes; with tables ``as_published``,
        given run and rows, these named and ordered as there, the measures, and notes. Empty: none.
    verdict : Verdict
        What the first screen of a run says.
    unit : str
        What the sampling unit of a paired comparison is: an episode, or the deal of several.
    shares_draws : tuple of str
        Columns of `task` in which cells must agree for episodes of one seed and number to have met
        the same chance, so that they are one sampling unit. Tasks are named by them, and by the
        first of `task`.
    task_words : function of a task
        A task, or some of its columns, in words; empty without columns.
    questions : function of cell, seat, note
        What a language model in a seat is asked in made-up episodes that go to their ends: one, or
        several that differ in what they ask. `note` is what the model writes in every summary,
        lesson or plan, see `tomeval.strategies.recording.Recording`.
    example : function of strategy, seat, settings
        A cell that shows a strategy in a seat, for ``tomeval prompt``.
    bounds : function of cells
        What can be attained in an experiment's cells.
    lists : mapping
        What ``tomeval list`` can list of it, by name: a function, or ``module:function``.
    """

    name: str
    title: str
    experiment: type[Experiment]
    measures: Mapping[str, Measure]
    schema: Schema
    play: Callable[[Any, int, Mapping[str, Model], Callable[[], None]], Coroutine[Any, Any, Record]]
    by: tuple[str, ...]
    task: tuple[str, ...]
    columns: Callable[[Mapping[str, Any]], dict[str, str | int]]
    run_cell: Callable[[Store, int, dict[str, Any]], RunCell]
    headline: tuple[str, ...]
    facts: Callable[[Run], list[Facts]]
    table_notes: Callable[[Run, Collection[str]], list[str]]
    verdict: Verdict
    shares_draws: tuple[str, ...]
    task_words: Callable[[Mapping[str, Any]], str]
    questions: Callable[[Any, str, str], list[list[Overheard]]]
    example: Callable[[str, str, Mapping[str, Any]], Any]
    lists: Mapping[str, str | Callable[[], Rows]]
    figures: Mapping[str, str]
    together: Callable[[Any], int] = lambda cell: 0
    play_many: Callable[[Any, int, int], list[Record]] | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    published: str = ""
    unit: str = "episode"
    bounds: Callable[[Sequence[Any]], Rows] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes load it by its name."""
        return get_domain, (self.name,)


def cell_names(domain: Domain, definitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a short text for each cell: the columns in which cells differ, or all of a single one.

    A value that stands in two columns is said once.
    """
    rows = [domain.columns(definition) for definition in definitions]
    differ = {name for row in rows for name in row if row[name] != rows[0].get(name)}
    shown = [
        {k: v for k, v in row.items() if v != "" and (k in differ or not differ)} for row in rows
    ]
    return [", ".join(dict.fromkeys(str(value) for value in row.values())) for row in shown]


def get_domain(name: str, where: str = "") -> Domain:
    """Return a domain by name, loaded when it is first named, with all plugins.

    Raises
    ------
    TomevalError
        An unknown name, with the near match.
    """
    load_plugins()
    if isinstance(name, str) and name in LOADED:
        return LOADED[name]
    if isinstance(name, str) and name in DOMAINS:
        try:
            LOADED[name] = resolve_name(DOMAINS[name])
            return LOADED[name]
        except ImportError as error:
            why = f"the domain {name!r} cannot be loaded: {error}; reinstall tomeval"
            raise NotInstalled(why) from error
    raise unknown("domain", name, DOMAINS, where)


def domain_names() -> list[str]:
    """Return the names of all domains, without those that ship but are not there."""
    load_plugins()
    return [name for name, where in DOMAINS.items() if is_there(where.rpartition(".")[0])]
