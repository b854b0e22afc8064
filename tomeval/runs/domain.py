"""The contract of a domain, that is of a kind of game, and the registry of domains.

A *seat* is a place at a game's table; *episode* and *step* are its rows; a *cell* is one
combination of players and task. Runs, tables, figures, comparisons, reports and exports ask a
domain for nothing but what is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import HINT, NotInstalled, is_there, load_plugins, named, part, register
from tomeval.models import is_served, model_name
from tomeval.models.scripted import SOURCES, Script
from tomeval.runs.analyses import LOADED
from tomeval.runs.capabilities import Compare, Describe, Play, Read, Show
from tomeval.runs.measures import Measure, guarded

if TYPE_CHECKING:
    from tomeval.runs.experiment import Experiment

DOMAINS: dict[str, str] = {
    "matrix": "tomeval.games.matrix.domain:MATRIX",
    "decrypto": "tomeval.games.decrypto.domain:DECRYPTO",
    "arena": "tomeval.games.arena.domain:ARENA",
}
"""Where each domain is: ``module:object``, loaded when it is first named."""

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
        return model_name(self.model) if self.model else ""

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
    def definition(self) -> dict[str, Any]:
        """The cell as JSON-ready data with ``seed``, complete enough to be played again.

        Default: the fields of a dataclass.
        """
        cell: Any = self
        return asdict(cell)

    @property
    def key(self) -> tuple[str, ...]:
        """The words that tell this cell from the others of its experiment; default: all of it."""
        return tuple(map(str, self.definition.values()))

    @property
    def length(self) -> int:
        """The most steps an episode can have; default: ``steps`` of the definition."""
        return int(self.definition["steps"])

    @property
    def models(self) -> dict[str, str | dict[str, Any]]:
        """The specs of the language models, by seat."""
        return {seat: who.model for seat, who in self.seats.items() if who and who.model}

    @property
    def scores(self) -> bool:
        """Whether any model scores labels."""
        return False

    def wanted(self, planned: int) -> int:
        """Return how many episodes the cell has if the experiment has `planned` of each.

        A cell in which nothing is drawn has as many as it has partners, whatever is planned.
        """
        return planned


@dataclass(eq=False)
class Domain:
    """A kind of game: what it is, and what it can do. See the folders of `tomeval.games`.

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
    play, read, show, compare, describe
        See `tomeval.runs.capabilities`.
    """

    name: str
    title: str
    experiment: type[Experiment]
    measures: Mapping[str, Measure]
    play: Play
    read: Read
    compare: Compare
    show: Show = field(default_factory=Show)
    describe: Describe = field(default_factory=Describe)

    def __post_init__(self) -> None:
        self.show.headline = self.show.headline or tuple(self.measures)[:1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes load it by its name."""
        return get_domain, (self.name,)


def cell_names(domain: Domain, definitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a short text for each cell: the columns in which cells differ, or all of a single one.

    A value that stands in two columns is said once.
    """
    rows = [domain.read.columns(definition) for definition in definitions]
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
    if isinstance(name, str) and (brought := part("domains", name)):
        LOADED[name] = brought
        return LOADED[name]
    raise TomevalError(f"{unknown('domain', name, sorted({*DOMAINS, *LOADED}), where)}; {HINT}")


def register_domain(domain: Domain) -> Domain:
    """Add a domain of your own, and return it.

    One of the same name is replaced if it was registered before; the names of those that ship are
    taken.

    Raises
    ------
    TomevalError
        It is none, or its name is taken.
    """
    if not isinstance(domain, Domain):
        raise TomevalError(f"a domain is an object of the class Domain, not {domain!r:.60}")
    domain.measures = {
        name: one if hasattr(one.of, "__wrapped__") else replace(one, of=guarded(one.of, name))
        for name, one in domain.measures.items()
    }
    register("domains", domain.name, domain, domain.experiment)
    LOADED[domain.name] = domain
    return domain


def domain_names() -> list[str]:
    """Return the names of all domains, without those that ship but are not there."""
    load_plugins()
    here = (name for name, where in DOMAINS.items() if is_there(where.rpartition(".")[0]))
    return list(dict.fromkeys([*here, *named("domains")]))


def _scripts() -> Iterator[tuple[str, Script]]:
    """Yield the scripts that domains bring, those of loaded ones first: the others load for it."""
    for name in sorted(domain_names(), key=lambda name: name not in LOADED):
        yield from get_domain(name).describe.scripts.items()


SOURCES.append(_scripts)
