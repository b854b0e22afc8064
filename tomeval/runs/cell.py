"""One cell of a run as analysis reads it: its episodes, measures and estimates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.core.once import Holding
from tomeval.core.outcomes import COMPLETE
from tomeval.runs.analyses import known_measures
from tomeval.runs.columns import PROMPTED, as_text
from tomeval.runs.measures import (
    FloatArray,
    Measure,
    Totals,
    checked,
    is_score,
)
from tomeval.runs.store import Store
from tomeval.statistics import AUTO, Estimate, estimate
from tomeval.statistics.bounded import FEWEST, UNBOUNDED, cut, ends_if_alike
from tomeval.statistics.estimates import SEQUENCE, clustered_sums, kind_of
from tomeval.strategies.compose import recorded_strategy
from tomeval.strategies.parts import KINDS

if TYPE_CHECKING:
    from tomeval.runs.domain import Domain, Line, Worded

IntArray = NDArray[np.int64]

Ends = tuple[float, ...]
"""Mean, half-width, lower and upper end of an interval, as `Estimate` has them."""


JUDGED = ("correct", "regret", "best_action", "tom_regret")
"""What a step of every domain can be worth, see `RunCell.judged`."""


class RunCell(ABC):
    """One cell of a run; every domain has a subclass.

    Attributes
    ----------
    store : Store
        Where its episodes are.
    title : str
        What tells it from cells of the same task.
    holding : Holding
        Bounds what the cells of a run hold in memory of their episodes.
    sequential : bool
        Whether it is of a run that is `Run.sequential`.
    recorded : bool
        Whether it was played elsewhere: numbers of episodes are their order in a record, which does
        not say how often anything was asked. Else those of one seed and number met the same chance.
    """

    recorded = False

    def __init__(self, store: Store, number: int, definition: dict[str, Any]) -> None:
        self.store = store
        self.domain: Domain = store.domain
        self.number = number
        self.definition = definition
        self.columns: dict[str, str | int] = self.domain.columns(definition)
        self.title = self.player
        self.holding = Holding()
        self.sequential = False
        self._totals: dict[tuple[str, str], Totals] = {}
        self._estimates: dict[tuple[str, str], dict[str, Ends]] = {}

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The measures by name; a run gives its cells those that it has data for."""
        return known_measures(self.domain)

    # What a domain's own cell answers

    @property
    @abstractmethod
    def played(self) -> Any:
        """The complete episodes, as the domain's measures read them."""

    @abstractmethod
    def judged(self) -> Mapping[str, Sequence[Any]]:
        """Return what each step of the complete episodes is worth, in the order of the step table.

        Any of `JUDGED`, each of shape (N,): the share of the step's predictions that were right, 0
        to 1; the regret of the move in the unit of the domain's payoffs; the best move; the regret
        that a player who follows the predictions would have. NaN or None: not known. Means over an
        episode's steps are the domain's measures.
        """

    @abstractmethod
    def step_rows(self) -> Iterator[dict[str, Any]]:
        """Yield everything known of every step of all episodes, by column, for exports."""

    @abstractmethod
    def lines(self, episode: int) -> Iterator[Line]:
        """Yield an episode for readers, without the model calls."""

    @property
    def player(self) -> str:
        """Who is measured, in a few words."""
        return str(self.columns[self.domain.by[0]])

    @property
    def is_baseline(self) -> bool:
        """Whether figures draw it as the line that others are compared with."""
        return False

    @property
    def which(self) -> IntArray:
        """What each complete episode drew, such as its partner, shape (E,)."""
        return np.zeros(len(self.episodes), dtype=np.int64)

    @property
    def clusters(self) -> NDArray[Any]:
        """The sampling unit of each complete episode, (E,): those of one label share their chance.

        Default: every episode is its own. Cells whose episodes are paired (`Domain.shares_draws`)
        label equal chance equally.
        """
        return self.episodes

    @property
    def people(self) -> NDArray[np.str_] | None:
        """Who played each complete episode, (E,), if the record names the people."""
        return None

    @property
    def each_once(self) -> bool:
        """Whether nothing is drawn, so that means over its episodes have no sampling error."""
        return False

    def wanted(self, planned: int) -> int:
        """Return how many of the planned episodes are to be played."""
        return planned

    @property
    def attainable(self) -> Mapping[str, float]:
        """The best that measures can be expected to be here; empty if it is trivial.

        The names end in ``_attainable`` and become columns of the table.
        """
        return {}

    def limits(self, name: str, reference: str | None = None) -> tuple[float, float]:
        """Return the lowest and highest possible expected value of a measure.

        All intervals of the measure end there. Default: its `Measure.limits`.
        """
        return self.measures[name].limits if name in self.measures else UNBOUNDED

    @property
    def payoffs(self) -> tuple[float, float] | None:
        """The least and the largest payoff, for measures in payoff units; None without payoffs."""
        return None

    @property
    @abstractmethod
    def models(self) -> dict[str, str]:
        """Names of the playing language models by seat."""

    @property
    def own_model(self) -> str:
        """Name of the language model that is measured; empty if none is."""
        return str(self.columns.get("model", ""))

    @property
    def strategies(self) -> Mapping[str, Any]:
        """The strategies of the language models that are measured, as recorded, by seat."""
        strategy = self.columns.get("strategy")
        return {"": strategy} if strategy else {}

    @cached_property
    def prompted(self) -> dict[str, str]:
        """How the models are asked, by the names of `PROMPTED`; empty without one.

        Of several seats what is so for all, or what each has, such as ``Bob LM, Eve QA``. The parts
        of a strategy that is not known here, such as a plug-in's, are empty.
        """
        said: dict[str, dict[str, str]] = {name: {} for name in PROMPTED}
        for seat, spec in self.strategies.items():
            known = recorded_strategy(spec)
            said["strategy"][seat] = as_text(spec) if known is None else known.name
            for name in KINDS:
                said[name][seat] = "" if known is None else getattr(known, name)
        return {
            name: ", ".join(f"{seat} {value}" for seat, value in values.items())
            if len(set(values.values())) > 1
            else next(iter(values.values()), "")
            for name, values in said.items()
        }

    def shown_episode(self, episode: int, own: Sequence[Any]) -> dict[str, Any]:
        """Return the domain's columns of an episode as exports show them."""
        return dict(zip(self.domain.schema.episodes, own, strict=True))

    # How comparisons take it

    def level(self, by: str) -> str:
        """Return its level where levels differ in a column: who has none is one of its own."""
        return str(self.columns.get(by) or self.player)

    def task_without(self, by: str) -> dict[str, Any]:
        """Return what compared cells must agree in if levels differ in `by`."""
        return {name: value for name, value in self.task.items() if name != by}

    def fixed(self, by: str) -> str:
        """Return what paired cells must share besides the task; empty: it pairs with any."""
        return ""

    @property
    def worded(self) -> Worded | None:
        """How the measured player is asked; None: in no words, or it is not known how."""
        return None

    @property
    def content(self) -> dict[tuple[str, ...], str]:
        """Content that one name must always mean, by (kind, ..., name)."""
        return {}

    # What follows from these

    @property
    def seed(self) -> int:
        """The cell's seed."""
        return int(self.definition["seed"])

    @property
    def reference(self) -> str:
        """What regret is measured from by default."""
        return str(self.definition.get("reference", self.domain.experiment.REFERENCES[0]))

    @property
    def draws(self) -> tuple[Any, ...]:
        """What cells share whose episodes of one seed and number met the same chance."""
        facts = self.facts
        return tuple(facts[name] for name in self.domain.shares_draws)

    @property
    def facts(self) -> dict[str, Any]:
        """The columns, how models are asked, and what else was set: seed, reference, on_invalid."""
        more = {"seed": self.seed, "on_invalid": self.definition["on_invalid"]}
        return {**self.prompted, **self.columns, **more, "reference": self.reference}

    @property
    def task(self) -> dict[str, Any]:
        """What compared cells must agree in."""
        facts = self.facts
        return {name: facts[name] for name in self.domain.task}

    @property
    def shown_task(self) -> dict[str, Any]:
        """The columns of the task without who is measured, for figures, pages and exports."""
        task = self.task_without(self.domain.by[0])
        return {name: value for name, value in task.items() if name in self.columns}

    @property
    def name(self) -> str:
        """A short text that names the cell."""
        words = [self.player, *(self.columns.get(n) for n in self.domain.task)]
        return ", ".join(str(word) for word in words if isinstance(word, str) and word)

    @cached_property
    def episodes(self) -> IntArray:
        """The numbers of the complete episodes, shape (E,)."""
        return np.array(self.store.episodes(self.number, COMPLETE), dtype=np.int64)

    @property
    def steps(self) -> int:
        """The number of steps of the complete episodes."""
        lengths = self.store.lengths(self.number)
        return sum(length for status, length in lengths if status == COMPLETE)

    @cached_property
    def units(self) -> int:
        """The number of sampling units among the complete episodes, see `clusters`."""
        clusters = self.clusters
        return len(self.episodes if clusters is self.episodes else np.unique(clusters))

    def interval_kind(self, interval: str) -> str:
        """Return the kind of interval of means over all complete episodes; empty without one.

        A measure that some episodes lack has the kind of the number of those that have it.
        """
        method = self.method(interval)
        return "" if self.units < FEWEST or self.each_once else kind_of(method, self.units)

    def method(self, interval: str) -> str:
        """Return how its intervals are made where `interval` is asked for."""
        return SEQUENCE if interval == AUTO and self.sequential else interval

    def part_limits(self, name: str, reference: str | None = None) -> tuple[float, float]:
        """Return between what `Totals.parts` lie: beyond the limits where episodes differ in size.

        They are as much wider as the largest episode is, as in
        `tomeval.statistics.sequences.ratio_sequence`.
        """
        limits, of = self.limits(name, reference), self.totals(name, reference)
        if of.percent or of.bottom is None or not (there := np.isfinite(of.top)).any():
            return limits
        sizes = of.bottom[there]
        ratio, widest = float(of.top[there].sum() / sizes.sum()), float(sizes.max() / sizes.mean())
        return ratio + widest * (limits[0] - ratio), ratio + widest * (limits[1] - ratio)

    def totals(self, name: str, reference: str | None = None) -> Totals:
        """Return a measure by complete episode; NaN if the run has no data for it."""
        key = (name, reference or self.reference)
        if key not in self._totals:
            count = len(self.episodes)
            if name in self.measures:
                totals = self.measures[name].of(self.played, key[1])
                self._totals[key] = checked(name, totals, count)
            else:
                self._totals[key] = Totals(np.full(count, np.nan))
        return self._totals[key]

    def metrics(self, reference: str | None = None) -> dict[str, FloatArray]:
        """Return every measure by complete episode, shape (E,), in its unit."""
        return {name: self.totals(name, reference).values for name in self.measures}

    def estimate(
        self,
        names: Sequence[str],
        interval: str = AUTO,
        reference: str | None = None,
    ) -> Estimate:
        """Return measures over the complete episodes with 95 % intervals, in the order of `names`.

        Numbers of tables, figures and reports are made here only. Each measure is estimated once,
        and none that is not asked for.
        """
        key = (interval, reference or self.reference)
        known = self._estimates.setdefault(key, {})
        if missing := [name for name in dict.fromkeys(names) if name not in known]:
            known |= self._estimated(missing, interval, reference)
        table = np.array([known[name] for name in names], dtype=np.float64).reshape(-1, 4)
        return Estimate(*(column.copy() for column in table.T))

    def _estimated(
        self, names: Iterable[str], interval: str, reference: str | None
    ) -> dict[str, Ends]:
        """Estimate measures; those that every episode has as one sample."""
        result: dict[str, Ends] = {}
        parts: dict[str, FloatArray] = {}
        samples: dict[bytes, list[str]] = {}
        for name in names:
            of = self.totals(name, reference)
            if of.share and of.bottom is not None:
                result[name] = self._share(of, interval)
            else:  # measures of the same episodes are estimated together
                parts[name] = of.parts
                mask = b"" if of.bottom is None else np.isfinite(parts[name]).tobytes()
                samples.setdefault(mask, []).append(name)
        for mask, together in samples.items():
            among = np.frombuffer(mask, dtype=np.bool_) if mask else None
            # Sums of one column are rounded in another way than those of several.
            columns = together * 2 if among is None and len(together) == 1 else together
            table = np.stack([parts[name] for name in columns], axis=1)
            limits = bounds = [self.limits(name, reference) for name in columns]
            if self.method(interval) == SEQUENCE:
                bounds = [self.part_limits(name, reference) for name in columns]
            estimated = self.mean(table, interval, among, bounds)
            if bounds != limits:
                within = cut(
                    estimated.low, estimated.high, estimated.mean, *zip(*limits, strict=True)
                )
                estimated = Estimate.of(estimated.mean, *within)
            ends = zip(*(part.tolist() for part in estimated), strict=True)
            result |= zip(columns, ends, strict=True)
        for name in filter(is_score, list(result)):
            result[name] = self._alike(name, parts[name], result[name], interval, reference)
        return result

    def _share(self, of: Totals, interval: str) -> Ends:
        """Estimate a share of items, in percent; episodes that are no sample give no interval."""
        assert of.bottom is not None, "a share of items"
        always = self.method(interval) == SEQUENCE
        share = clustered_sums(of.top, of.bottom, self.clusters, sequence=always)
        if self.each_once:
            return 100 * share.share, math.nan, math.nan, math.nan
        low, high = 100 * share.low, 100 * share.high
        return 100 * share.share, (high - low) / 2, low, high

    def _alike(
        self, name: str, parts: FloatArray, ends: Ends, interval: str, reference: str | None
    ) -> Ends:
        """Return a score's estimate; of episodes that are all alike with `ends_if_alike`."""
        values = parts[np.isfinite(parts)]
        if math.isnan(ends[1]) or self.method(interval) == SEQUENCE or np.ptp(values):
            return ends
        low, high = ends_if_alike(ends[0], self.units, *self.limits(name, reference))
        return ends[0], (high - low) / 2, low, high

    def mean(
        self,
        values: FloatArray,
        interval: str = AUTO,
        among: NDArray[np.bool_] | None = None,
        bounds: ArrayLike = UNBOUNDED,
    ) -> Estimate:
        """Estimate means of `values`, shape (E,) or (E, M), over the complete episodes.

        `among`, boolean of shape (E,), restricts them to some episodes; `bounds`, shape (2,) or
        (M, 2), are those of the means; `interval` is as for `Run.rows`. If
        `each_once`, there is no interval: the episodes are no sample.
        """
        clusters = self.clusters
        if among is not None:
            clusters = clusters[among]
            values = np.asfortranarray(values[among])  # as if each column stood alone
        if self.each_once:
            return Estimate.of(estimate(values).mean)
        return estimate(
            values,
            self.method(interval),
            clusters=None if self.units == len(self.episodes) else clusters,
            bounds=bounds,
        )
