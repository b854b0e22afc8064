"""The contract of a domain, that is of a kind of game, and the registry of domains.

A *seat* is a place at a game's table; *episode* and *step* are its rows; a *cell* is one
combination of players and task. Runs, tables, figures, comparisons, reports and exports ask a
domain for nothing but what is here.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extensions import bring, loaded, named, part, receive
from tomeval.core.plugins import HINT, load_plugins
from tomeval.models import is_served
from tomeval.models.naming import shown_name
from tomeval.models.scripted import SOURCES, Script
from tomeval.runs.measures import Measure
from tomeval.runs.outside import LOADED, adopt

if TYPE_CHECKING:
    from tomeval.models.base import Model, Prompt
    from tomeval.runs.cell import RunCell
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.results import Run
    from tomeval.runs.store import Store
    from tomeval.runs.tables import Table

DOMAINS: dict[str, str] = {
    "matrix": "tomeval.domains.matrix.domain:MATRIX",
    "decrypto": "tomeval.domains.decrypto.domain:DECRYPTO",
    "arena": "tomeval.domains.arena.domain:ARENA",
}
"""Where each domain is: ``module:object``, loaded when it is first named."""

Row = tuple[Any, ...]
Rows = list[dict[str, Any]]


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
        return shown_name(self.model) if self.model else ""

    @property
    def served(self) -> bool:
        """Whether its model is served, so that caps count its calls."""
        return bool(self.model) and is_served(self.model)


class Cell(ABC):
    """One combination of players and task, as an experiment describes it."""

    @property
    @abstractmethod
    def seats(self) -> Mapping[str, Player | None]:
        """The player in each seat; None for a seat that answers from a record."""

    @property
    @abstractmethod
    def key(self) -> tuple[str, ...]:
        """The words that tell this cell from the others of its experiment."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The most steps an episode can have."""

    @property
    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data with ``seed``, complete enough to be played again."""

    @property
    def models(self) -> dict[str, str | dict[str, Any]]:
        """The specs of the language models, by seat."""
        return {seat: who.model for seat, who in self.seats.items() if who and who.model}

    @property
    def scores(self) -> bool:
        """Whether any model scores labels."""
        return False

    def wanted(self, planned: int) -> int:
        """Return how many episodes the cell has if the experiment has `planned` of each."""
        return planned

    def originals(self, count: int) -> Sequence[int]:
        """Return which of the first `count` episodes are not certain copies of earlier ones.

        The others are not played, see `tomeval.runs.copies`. Default: all.
        """
        return range(count)


@dataclass(frozen=True)
class Schema:
    """A domain's own columns of the store, as mappings of name to SQL type.

    Attributes
    ----------
    cells : mapping
        Columns that the views read: keys of `Domain.columns` or of a definition.
    episodes, steps : mapping
        What a `Block` holds besides the shared columns, in this order. Lists of episodes show the
        first column of an episode, as `RunCell.shown_episode` gives it.
    views : str
        SQL of two views: ``step_records``, everything known of every step, and ``asked``, every
        question with ``cell, episode, step, seat, question, outcome, attempts``.
    shown : mapping
        SQL types of columns that only exports have, or have with another type. All others are text.
    """

    cells: Mapping[str, str]
    episodes: Mapping[str, str]
    steps: Mapping[str, str]
    views: str
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Block:
    """Finished episodes of one cell, as rows of the store.

    Attributes
    ----------
    episodes : list of (episode, status, steps, *domain's)
    steps : iterable of (episode, step, *domain's)
    answers : list of (episode, step, seat, question, outcome, attempts, value, raw)
        What was asked and is not in the step's own columns; `value` is JSON or None.
    calls : list of (episode, step, seat, form, record)
        Every model call; `record` is a JSON-ready dict.
    """

    episodes: list[Row]
    steps: Iterable[Row]
    answers: list[Row] = field(default_factory=list)
    calls: list[tuple[int, int, str, str, dict[str, Any]]] = field(default_factory=list)


class Line(NamedTuple):
    """One line of an episode for readers.

    `step` is 0 before the first and -1 after the last. A `heading` stands above its step and those
    that follow, such as ``Day 2``.
    """

    step: int
    text: str
    heading: bool = False


@dataclass(frozen=True)
class Doing:
    """What one model call does: score labels, or write a text.

    Attributes
    ----------
    labels : tuple of str
        The labels that it scores; empty: it writes.
    kind : str
        Kind of text: ``qa``, ``cot``, or any other word for notes.
    most : int
        Longest text, in tokens.
    attempts : int
        How often it is asked at most, until it can be read.
    notes : bool
        Whether the text holds a note besides its answer.
    aside : bool
        Whether it is asked aside, so that it is asked although another call reads the same.
    """

    labels: tuple[str, ...] = ()
    kind: str = ""
    most: int = 0
    attempts: int = 1
    notes: bool = False
    aside: bool = False

    def __str__(self) -> str:
        if self.labels:
            return f"scores {', '.join(self.labels)}"
        return f"writes up to {self.most} tokens"


class Facts(NamedTuple):
    """What a report says of players and tasks: tables under one title, as (caption, rows)."""

    title: str
    tables: list[tuple[str, Rows]]


class Rated(NamedTuple):
    """A table of ``tomeval ratings``: its name in `Domain.rated`, and sentences that go with it."""

    name: str
    rows: Rows
    notes: list[str]


class Browser(Protocol):
    """How a report shows a domain's episodes if lines of text would be too long or too plain."""

    script: str
    """JavaScript that sets ``transcript.view``, see the report's ``assets/transcript.js``."""

    def packed(self, cell: RunCell) -> Iterator[dict[str, Any]]:
        """Yield a cell's episodes in order, JSON-ready, as the script reads them."""

    def summary(self, cell: RunCell) -> dict[str, Any]:
        """Return what else the script needs to know of a cell, JSON-ready."""


class Score(NamedTuple):
    """A score from 0 to 1 for performance profiles and interquartile means.

    `words` says what it is, `axis` is its short name, `of` returns it per complete episode, shape
    (E,), and `defined` tells whether a cell has it.
    """

    words: str
    axis: str
    of: Callable[[RunCell], Any]
    defined: Callable[[RunCell], bool] = lambda cell: True


class Parts(NamedTuple):
    """How a measure splits exactly into others: names of measures; `part` has them by word."""

    whole: str
    part: Mapping[str, str]


class Worded(NamedTuple):
    """How the questions to the measured player of a cell are worded.

    Attributes
    ----------
    player : str
        Who is asked, apart from wording and model, such as the strategy.
    model : str
    options : mapping of str to str
        What is wording only, by name: the set of templates, labels, the order of options.
    """

    player: str
    model: str
    options: Mapping[str, str]


class Domain(ABC):
    """A kind of game. One object per folder of `tomeval.domains`.

    Attributes
    ----------
    name : str
        Its name in experiment files, in ``prompts/NAME/`` and in the store.
    title : str
        What it is, in a few words.
    experiment : type of Experiment
        The keys of its experiment files.
    schema : Schema
    measures : mapping of str to Measure
        In the order of tables.
    headline : tuple of str
        The measures that figures, reports and comparisons show first: functional, then literal.
    by : tuple of str
        Columns that the levels of a comparison may differ in, the default first.
    task : tuple of str
        Columns in which compared cells must agree.
    panel : tuple of str
        Columns of `task` that tell the panels of a figure apart, the first one alone if that is
        enough; default: the first one of `task`.
    unit : str
        What the sampling unit of a paired comparison is: an episode, or the deal of several.
    paired : str
        What paired episodes share besides the seed, as words of a sentence.
    baseline : str
        The name of cells with `RunCell.is_baseline` in figures.
    shares_draws : tuple of str
        Columns of `task` in which cells must agree for episodes of one seed and number to have met
        the same chance, so that they are one sampling unit.
    drawn : str
        What an episode draws (`RunCell.which`), as a word of a sentence.
    references : tuple of str
        What regret can be measured from, the default first.
    data : mapping
        Kinds of data that only some runs have, by name: each tells whether a store has it.
        Extensions name what their measures need (`tomeval.core.shipped.Shipped`).
    tables : mapping of str to Table
        Tables besides that of cells by name, in the order in which a report shows them.
    rated : mapping
        The tables of ``tomeval ratings`` by name, with their captions; empty: it has none.
    first_table : str
        Which of `tables` is of cells and has their notes too; it is printed if only ``--by`` is
        given. Default: the first of `tables`, without such notes.
    own_seat : str
        The seat of the view ``asked`` that is measured, whose answers `tomeval.runs.rates` are of;
        empty: all seats are.
    aside : tuple of str
        Measures that tables for reading leave out where they add nothing: where all rows that have
        them agree, or each has the value of an earlier measure. That is said above the table.
    figures : mapping
        Figures besides those of every domain by name: ``module:function``.
    first_figures : tuple of str
        The few that ``tomeval plot`` draws unless others are named, in order: names of figures, or
        of single files of theirs; those that the run's data does not support are left out.
    figures_by : tuple of str
        Those of them that can lay the values of a column of `by` over each other.
    lists : mapping
        What ``tomeval list`` can list of it, by name.
    scripts : mapping
        Models of known behaviour that experiments can name ``scripted:NAME``.
    scores : mapping of str to Score
    parts : Parts or None
        The decomposition of its functional measure.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    experiment: ClassVar[type[Experiment]]
    schema: ClassVar[Schema]
    measures: Mapping[str, Measure]  # with those from outside, see `register_measure`
    headline: ClassVar[tuple[str, ...]]
    by: ClassVar[tuple[str, ...]]
    task: ClassVar[tuple[str, ...]]
    panel: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "episode"
    paired: ClassVar[str] = "task"
    baseline: ClassVar[str] = "baseline"
    shares_draws: ClassVar[tuple[str, ...]] = ()
    drawn: ClassVar[str] = "partner"
    references: ClassVar[tuple[str, ...]] = ("",)
    data: ClassVar[Mapping[str, Callable[[Store], bool]]] = {}
    tables: ClassVar[Mapping[str, Table]] = {}
    rated: ClassVar[Mapping[str, str]] = {}
    first_table: ClassVar[str] = ""
    own_seat: ClassVar[str] = ""
    aside: ClassVar[tuple[str, ...]] = ()
    figures: ClassVar[Mapping[str, str]] = {}
    first_figures: ClassVar[tuple[str, ...]] = ("forest",)
    figures_by: ClassVar[tuple[str, ...]] = ()
    lists: ClassVar[Mapping[str, Callable[[], Rows]]] = {}
    scripts: ClassVar[Mapping[str, Script]] = {}
    scores: ClassVar[Mapping[str, Score]] = {}
    parts: ClassVar[Parts | None] = None

    # To play

    @abstractmethod
    async def play(
        self, cell: Any, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
    ) -> Block:
        """Play one episode; `models` by seat; `on_step` is called after every step."""

    def together(self, cell: Any) -> int:
        """Return how many episodes `play_many` takes at a time; 0: it cannot play the cell."""
        return 0

    def play_many(self, cell: Any, first: int, count: int) -> Block:
        """Play consecutive episodes at once; only if `together` is not 0."""
        raise TomevalError(f"{self.name}: this cell is played one episode at a time")

    # To read back

    @abstractmethod
    def columns(self, definition: Mapping[str, Any]) -> dict[str, str | int]:
        """Return what tells a cell from others in tables, given its definition."""

    @abstractmethod
    def read(self, store: Store, number: int, definition: dict[str, Any]) -> RunCell:
        """Return a cell of a run, which reads its episodes when they are first used."""

    @abstractmethod
    def lines(self, run: Run, cell: RunCell, episode: int) -> Iterator[Line]:
        """Yield an episode for readers, without the model calls."""

    def measured(self, run: Run) -> Mapping[str, Measure]:
        """Return its own measures that a run has data for; default: all."""
        return self.measures

    # To report

    def figures_for(self, run: Run) -> list[str]:
        """Return which of `figures` a run can have data for; default: all."""
        return list(self.figures)

    def rates(self, run: Run) -> Mapping[str, str]:
        """Return which rates besides those of all answers tables print, in order.

        By name, see `tomeval.runs.rates`; values are SQL that says over which questions: a
        condition on the view ``asked``.
        """
        return {}

    def facts(self, run: Run) -> list[Facts]:
        """Return what is known of players and tasks beyond the cells' columns."""
        return []

    def notes(self, run: Run) -> list[str]:
        """Return sentences that readers must know before any number."""
        return []

    def table_notes(self, run: Run) -> list[str]:
        """Return those of `notes` that stand below the table of cells too."""
        return []

    def notes_of_measures(self, run: Run, names: Collection[str]) -> list[str]:
        """Return sentences that stand below every table of cells that shows one of `names`."""
        return []

    def ratings(
        self, run: Run, names: Sequence[str], interval: str, openskill: bool
    ) -> Iterator[Rated]:
        """Yield tables of `rated`, in the order of `names`.

        `interval` is one of `tomeval.statistics.ratings.INTERVALS`; `openskill` asks for columns of
        that package.
        """
        raise TomevalError(
            f"{run.folder} is of the domain {self.name!r}, which has no ratings: its games are not "
            "between players who take turns in all seats; compare levels with `tomeval compare`"
        )

    def browser(self, run: Run, reference: str | None) -> Browser | None:
        """Return how episodes are shown; default: as the text of `lines`."""
        return None

    def describe_keys(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the JSON schema of keys whose types say too little, by key.

        See `tomeval.runs.file_schema`: kinds of players with their options, for example.
        """
        return {}

    def other_file(self, data: Mapping[str, Any]) -> str:
        """Return what a TOML file of the domain is that is no experiment; empty: nothing known.

        It completes a message that begins with the file's name: what it is, and where it goes.
        """
        return ""

    # To show before it is played

    @abstractmethod
    def preview(
        self, cell: Any, seat: str, form: str, step: int, note: str = ""
    ) -> Sequence[tuple[Doing, Prompt]]:
        """Return for each model call of a question what it does, and its prompt.

        `form` is one of `forms`; past steps are made up. `note` is what the model wrote in every
        summary, lesson or plan, with the number of the step in place of ``{step}``; default: a
        short text that says what would stand there. The questions that an
        `tomeval.strategies.asking.Asker` is told to ask meanwhile are what the start-up test asks
        of served models.
        """

    def previews(
        self, cell: Any, seat: str, wanted: Mapping[str, Collection[int]], note: str = ""
    ) -> Mapping[tuple[str, int], Sequence[tuple[Doing, Prompt]]]:
        """Return the prompts of several steps of several questions, by question and step.

        As `preview` gives them; a domain can play once for all of them.
        """
        return {
            (form, step): self.preview(cell, seat, form, step, note)
            for form, steps in wanted.items()
            for step in steps
        }

    @abstractmethod
    def forms(self, cell: Any, seat: str) -> dict[str, range]:
        """Return the questions to a seat, with the steps that can ask them."""

    def asked_share(self, cell: Any, seat: str) -> Mapping[str, float]:
        """Return in which share of episodes a question is asked at all, where that is not all.

        Such as the questions of one role of several that a seat may have.
        """
        return {}

    def example(self, strategy: str, seat: str, settings: Mapping[str, Any]) -> Any:
        """Return a cell that shows a strategy in a seat, for ``tomeval prompt`` only."""
        raise TomevalError(f"domain {self.name!r} has no example of its own: give --experiment")

    def bounds(self, cells: Sequence[Any]) -> Rows:
        """Return what can be attained in an experiment's cells, for ``tomeval bounds``."""
        raise TomevalError(f"{self.name}: bounds are not computed from an experiment")

    def cannot_tell(self, cells: Sequence[Any]) -> list[str]:
        """Return sentences on what measures cannot tell in an experiment's cells, whoever plays."""
        return []

    # To compare

    def task_words(self, task: Mapping[str, Any]) -> str:
        """Return a task, or some of its columns, in words; empty without columns."""
        return ", ".join(f"{name} {value}" for name, value in task.items() if value != "")

    def level(self, cell: RunCell, by: str) -> str:
        """Return a cell's level in a comparison."""
        return str(cell.columns[by])

    def compared(self, measure: Measure, by: str) -> Measure:
        """Return a measure with the better side that it has for the levels of a comparison."""
        return measure

    def task_of(self, cell: RunCell, by: str) -> dict[str, Any]:
        """Return what compared cells must agree in if levels differ in `by`."""
        return {name: value for name, value in cell.task.items() if name != by}

    def held(self, cell: RunCell, by: str) -> str:
        """Return what cells must share besides the task to be paired; empty: pairs with any.

        Default: the other columns that comparisons may differ in.
        """
        others = [n for n in self.by if n != by and n in cell.columns and n not in self.task]
        return ", ".join(str(cell.columns[name]) for name in others if cell.columns[name] != "")

    def held_name(self, by: str) -> str:
        """Return what `held` is called in tables."""
        return "player"

    def worded(self, cell: RunCell) -> Worded | None:
        """Return how the measured player is asked; None: in no words, or it is not known how."""
        return None

    def content(self, cell: RunCell) -> dict[tuple[str, ...], str]:
        """Return content that one name must always mean, by (kind, ..., name)."""
        return {}


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


REQUIRED = ("name", "title", "experiment", "schema", "measures", "headline", "by", "task")


def check_domain(name: str, domain: object) -> Domain:
    """Return a domain, checked to keep the contract; errors name all that is missing."""
    if isinstance(domain, type):
        missing = sorted(getattr(domain, "__abstractmethods__", ()))
        what = f"lacks {', '.join(missing)}" if missing else "is a class, not an object"
        raise TomevalError(f"domain {name!r}: {what}")
    if not isinstance(domain, Domain):
        raise TomevalError(f"domain {name!r}: {type(domain).__name__} is not a Domain")
    if missing := [attribute for attribute in REQUIRED if not hasattr(domain, attribute)]:
        raise TomevalError(f"domain {name!r}: lacks {', '.join(missing)}")
    if strangers := [m for m in domain.headline if m not in domain.measures]:
        raise TomevalError(f"domain {name!r}: headline names no measure: {', '.join(strangers)}")
    return domain


_Kind = TypeVar("_Kind", bound="Domain | type[Domain]")


def get_domain(name: str, where: str = "") -> Domain:
    """Return a domain by name, loaded when it is first named, with all plugins.

    Raises
    ------
    TomevalError
        An unknown name, with the near match, or a domain that does not keep the contract.
    """
    load_plugins()
    if not isinstance(name, str) or name not in LOADED:
        if isinstance(name, str) and name not in DOMAINS and (brought := part("domains", name)):
            _take(name, brought)
            return LOADED[name]
        if not isinstance(name, str) or name not in DOMAINS:
            raise TomevalError(
                f"{unknown('domain', name, sorted({*DOMAINS, *LOADED}), where)}; {HINT}"
            )
        module, _, attribute = DOMAINS[name].partition(":")
        register_domain(check_domain(name, getattr(importlib.import_module(module), attribute)))
    return LOADED[name]


def register_domain(domain: _Kind) -> _Kind:
    """Add a domain of your own: an object, or a class that is made without arguments.

    It works as a decorator of the class. A domain of the same name is replaced if it was registered
    before; the names of those that ship are taken.
    """
    name = str(getattr(domain, "name", getattr(domain, "__name__", type(domain).__name__)))
    whole = isinstance(domain, type) and not getattr(domain, "__abstractmethods__", None)
    made = domain() if isinstance(domain, type) and whole else domain
    checked = check_domain(name, made)
    if checked.name in DOMAINS and type(checked).__module__ != _home(checked.name):
        raise TomevalError(f"domain {checked.name!r}: the name is taken by a domain that ships")
    if checked.name in DOMAINS:
        _take(checked.name, checked)
    else:
        bring("domains", checked.name, checked)
    return domain


def _take(name: str, domain: Domain) -> None:
    """Enter a domain: one that ships, or one that an extension brings."""
    LOADED[name] = check_domain(name, domain)
    for extension in loaded():
        if domain.name in extension.measures:
            adopt(domain, extension)


receive("domains", _take)


def _home(name: str) -> str:
    return DOMAINS[name].partition(":")[0]


def domain_names() -> list[str]:
    """Return the names of all domains."""
    load_plugins()
    return list(dict.fromkeys([*DOMAINS, *LOADED, *named("domains")]))


def _scripts() -> Iterator[tuple[str, Script]]:
    """Yield the scripts that domains bring, those of loaded ones first: the others load for it."""
    for name in sorted(domain_names(), key=lambda name: name not in LOADED):
        yield from get_domain(name).scripts.items()


SOURCES.append(_scripts)
