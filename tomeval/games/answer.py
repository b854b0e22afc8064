"""Does a player use what it knows? The answer in words, from the intervals of its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tomeval.core.numbers import MISSING
from tomeval.games.scores import ScoredCell
from tomeval.runs.columns import INVALID, SETTINGS, flat
from tomeval.runs.domain import Rows, Verdict
from tomeval.runs.measures import SCORES
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.runs.tallies import rates_of
from tomeval.statistics import AUTO
from tomeval.statistics.bounded import FEWEST

HALF = 50.0
"""The line of every word: half of what can be had beyond chance."""

USES = "knows and uses"
SHORT_SIGHTED = "knows and uses, does not look ahead"
CERTAIN = "knows and uses, replies to the likeliest as if certain"
HOARDS = "knows, does not use"
OTHERWISE = "knows and plays well, not by its prediction"
WELL = "knows and plays well (no use to see here)"
BADLY = "knows, plays badly (no use to see here)"
MYOPIC = "knows, does not look ahead"
UNSAID = "plays well without saying why"
MISLED = "acts on wrong beliefs"
IGNORANT = "does not know"
UNDECIDED = "undecided"
NOTHING, NO_STAKE, UNKNOWN = "– nothing to know", "– nothing at stake", "– partner unknown"
NO_VALUE = "– no exact value"
NO_EPISODE, UNREAD = "– no complete episode", "– no answer could be read"
PLAYS_WELL, PLAYS_BADLY = "plays well (no predictions)", "plays badly (no predictions)"

SENTENCES = {
    USES: "predicts its partner ({knows} of 100) and uses it ({uses})",
    SHORT_SIGHTED: "predicts its partner ({knows} of 100), uses it ({uses}), does not look ahead",
    CERTAIN: "predicts its partner ({knows} of 100) and uses it ({uses}), as if it were certain",
    HOARDS: "predicts its partner ({knows} of 100) and does not use it ({uses})",
    OTHERWISE: "predicts its partner ({knows} of 100) and plays well ({plays}), not by this",
    WELL: "predicts its partner ({knows} of 100) and plays well ({plays}; no use to see here)",
    BADLY: "predicts its partner ({knows} of 100) and plays badly ({plays}; no use to see here)",
    MYOPIC: "predicts its partner ({knows} of 100) and does not look ahead (plays {plays})",
    UNSAID: "plays well ({plays} of 100) without predicting its partner ({knows})",
    MISLED: "acts ({uses} of 100) on wrong predictions ({knows})",
    IGNORANT: "does not predict its partner ({knows} of 100)",
    PLAYS_WELL: "plays well ({plays} of 100; no predictions)",
    PLAYS_BADLY: "plays badly ({plays} of 100; no predictions)",
    UNDECIDED: "undecided (knows {knows}, uses {uses}, plays {plays})",
}
"""What is said of a player; other answers stand as they are."""

SHORT = {
    USES: "uses",
    SHORT_SIGHTED: "uses, no foresight",
    CERTAIN: "uses, as if certain",
    HOARDS: "unused",
    OTHERWISE: "well otherwise",
    WELL: "well",
    BADLY: "badly",
    MYOPIC: "no foresight",
    UNSAID: "unsaid",
    MISLED: "misled",
    IGNORANT: "no",
    PLAYS_WELL: "plays well",
    PLAYS_BADLY: "plays badly",
    UNDECIDED: "open",
    NOTHING: "–",
    NO_STAKE: "– stake",
    UNKNOWN: "– partner",
    NO_VALUE: "– value",
    NO_EPISODE: "– episodes",
    UNREAD: "– answers",
}
"""A word for each answer, for tables of many tasks."""

RULE = (
    "0 is chance and 100 the best attainable. The answer compares the 95 % intervals with 50: an "
    "interval that includes 50 leaves it undecided. Use shows only where a prediction can change "
    "the best move."
)

FROM_BELOW = ("uses", "plays")
"""The scores that are lower bounds where `Scores.floor` says why."""

_NAMES = ("knows", "uses", "plays", "replies", "plans")
_MOST_MORE = 1_000


class Ends(NamedTuple):
    """A score in percent with the ends of its interval."""

    score: float
    low: float
    high: float

    @property
    def side(self) -> str:
        """On which side of `HALF` the interval lies: above, below, open, or none without one."""
        if math.isnan(self.score):
            return "none"
        return "above" if self.low > HALF else "below" if self.high < HALF else "open"


def answer(cell: ScoredCell, interval: str = AUTO) -> str:
    """Return whether a cell's player uses what it knows: one of `SHORT`.

    An undecided answer is followed by what would decide it, as in "undecided: about 12 more
    episodes", from the present spread.

    Parameters
    ----------
    cell : ScoredCell
    interval : str
        As for `Run.rows`. Of cells whose episodes are no sample the scores decide alone.

    Examples
    --------
    >>> import tempfile, tomeval
    >>> player = {"kind": "simulated", "name": "knows, acts at random", "p": 1.0, "q": 0.0}
    >>> experiment = {"games": "RPS", "subjects": ["rmax", player]}
    >>> with tempfile.TemporaryDirectory() as folder, tomeval.run(experiment, folder) as run:
    ...     [answer(cell) for cell in run.cells]
    ['knows and uses', 'knows, does not use']
    """
    if not len(cell.episodes):
        return NO_EPISODE
    if rates_of(cell.store, [cell.number])[INVALID.name] == 1:
        return UNREAD  # chance played in the player's place
    scored = cell.estimate([cell.deciding.get(n, f"{n}_percent") for n in _NAMES], interval)
    exact, told = cell.each_once, cell.scores
    columns = (scored.mean, *((scored.mean,) * 2 if exact else (scored.low, scored.high)))
    ends = {
        name: Ends(*map(float, row))
        for name, row in zip(_NAMES, zip(*columns, strict=True), strict=True)
    }
    if told.floor:  # what lies below can lie above
        ends |= {n: ends[n]._replace(high=math.inf) for n in FROM_BELOW}
    said = told.lacks or words(ends, told.asked, cell.certain)
    if not exact and cell.units < FEWEST and not said.startswith("–"):
        unit = cell.domain.schema.unit
        return f"{UNDECIDED}: at least {FEWEST} {unit}s are needed"
    if said != UNDECIDED:
        return said
    return f"{said}: only lower bounds are known" if told.floor else _undecided(ends, cell)


def words(ends: Mapping[str, Ends], asked: bool = True, certain: bool = False) -> str:
    """Return the answer from the scores and their intervals.

    Parameters
    ----------
    ends : mapping of str to Ends
        ``knows``, ``uses``, ``plays``, ``replies`` and ``plans``.
    asked : bool
        Whether predictions were asked for.
    certain : bool
        Whether the best reply to what others do, if certain, is what *uses* is measured by alone.

    Examples
    --------
    >>> high, low, none = Ends(90, 80, 95), Ends(-3, -8, 2), Ends(*[float("nan")] * 3)
    >>> scored = {"knows": high, "uses": low, "plays": low, "replies": low, "plans": low}
    >>> words(scored), words(scored | {"uses": none}), words(scored | {"knows": low})
    ('knows, does not use', 'knows, plays badly (no use to see here)', 'does not know')
    """
    side = {name: of.side for name, of in ends.items()}
    if not asked:
        return {"above": PLAYS_WELL, "below": PLAYS_BADLY, "none": NO_STAKE}.get(
            side["plays"], UNDECIDED
        )
    if side["knows"] == "none":
        return NOTHING
    if side["plays"] == side["uses"] == "none":
        return NO_STAKE
    if side["knows"] == "open":
        return UNDECIDED
    return _who_knows(side, certain) if side["knows"] == "above" else _who_does_not(side)


def _who_knows(side: Mapping[str, str], certain: bool) -> str:
    """Return the answer for a player whose predictions are good."""
    if side["uses"] == "above":
        blind = side["replies"] == "above" and side["plans"] == side["plays"] == "below"
        if certain and side["plays"] == "below" and not blind:
            return CERTAIN
        return SHORT_SIGHTED if blind else USES
    if side["uses"] == "below":
        # The best response to a partner that draws need not reply to its likeliest move.
        return {"above": OTHERWISE, "open": UNDECIDED}.get(side["plays"], HOARDS)
    if side["uses"] == "open" or side["plays"] == "open":
        return UNDECIDED
    if side["plays"] == "above":
        return WELL
    return MYOPIC if side["replies"] == "above" else BADLY


def _who_does_not(side: Mapping[str, str]) -> str:
    """Return the answer for a player whose predictions are poor."""
    if side["plays"] == "above":
        return UNSAID
    if side["plays"] == "open" or side["uses"] == "open":
        return UNDECIDED
    return MISLED if side["uses"] == "above" else IGNORANT


def _undecided(ends: Mapping[str, Ends], cell: ScoredCell) -> str:
    """Return how many more episodes would move the intervals that decide away from `HALF`."""
    more, units, unit = 0.0, cell.units, cell.domain.schema.unit
    deciding: tuple[str, ...] = ("knows", "plays", "uses")
    if ends["knows"].score > HALF:
        both = ends["uses"].side == "below"
        deciding = ("knows", "plays" if both or ends["uses"].side == "none" else "uses")
    for name in deciding:
        score, low, high = ends[name]
        if ends[name].side != "open":
            continue
        distance, half = abs(score - HALF), score - low if score > HALF else high - score
        more = max(more, units * ((half / distance) ** 2 - 1) if distance else math.inf)
    if more > _MOST_MORE:
        return f"{UNDECIDED}: more than {_MOST_MORE:,} more {unit}s"
    count = max(1, math.ceil(more))
    return f"{UNDECIDED}: about {count} more {unit}{'s' if count > 1 else ''}"


def plain(text: str) -> str:
    """Return an answer without what would decide it: one of `SHORT`."""
    return text.partition(":")[0]


def verdict(published: Sequence[str], spare: Sequence[str] = (), rule: str = RULE) -> Verdict:
    """Return how a domain of scored cells tells whether players use what they know.

    Its first screen has the scores, the `published` measures, and the answer; `spare` are columns
    that a narrow terminal leaves out; `rule` is how the answer is found.
    """

    def rows(run: Run, interval: str = AUTO, reference: str | None = None) -> Rows:
        names = [name for name in (*SCORES, *published) if name in run.measures]
        if not run.scores:
            return []
        cells = scored_cells(run)
        vary = [key for key in SETTINGS if len({cell.definition[key] for cell in cells}) > 1]
        return [
            {
                **cell.columns,
                **{key: cell.definition[key] for key in vary},
                "episodes": len(cell.episodes),
                **flat(names, cell.estimate(names, interval, reference)),
                "answer": answer(cell, interval),
            }
            for cell in cells
        ]

    return Verdict(rows, lines, rule, SHORT, answer, tuple(spare))


def scored_cells(run: Run) -> list[ScoredCell]:
    """Return the cells of a run that have scores."""
    return [cell for cell in run.cells if isinstance(cell, ScoredCell)]


def score_notes(run: Run) -> list[str]:
    """Return what must be known of the scores of a run's cells."""
    names: dict[str, list[str]] = {}
    for cell in scored_cells(run):
        if len(cell.episodes) and (remark := cell.scores.remark):
            names.setdefault(remark, []).append(cell.name)
    return [f"{remark}: {first_names(cells)}." for remark, cells in names.items()]


def lines(run: Run) -> list[str]:
    """Return a sentence per player with complete episodes, who knows and does not use it first."""
    tasks: dict[str, dict[ScoredCell, str]] = {}
    for cell in scored_cells(run) if run.scores else ():
        if len(cell.episodes):
            tasks.setdefault(cell.title, {})[cell] = answer(cell)
    ordered = sorted(tasks, key=lambda name: HOARDS not in tasks[name].values())
    return [f"{name}: {_answered(tasks[name])}" for name in ordered]


def _answered(answers: Mapping[ScoredCell, str]) -> str:
    """Return what is said of a player: of each answer in which tasks, the commonest first."""
    cells, where = list(answers), dict[str, list[ScoredCell]]()
    for cell, text in answers.items():
        where.setdefault(text if len(cells) == 1 else plain(text), []).append(cell)
    tasks = [cell.shown_task for cell in cells]
    vary = [n for n in tasks[0] if len({task[n] for task in tasks}) > 1]
    said = []
    for text, some in sorted(where.items(), key=lambda item: -len(item[1])):
        names = [", ".join(str(cell.shown_task[name]) for name in vary) for cell in some]
        few = len(cells) <= 3 and vary
        place = " and ".join(names) if few else f"{len(some)} of {len(cells)} tasks"
        said.append(_sentence(text, some) + f" in {place}" * (len(where) > 1))
    return "; ".join(said)


def _sentence(text: str, cells: Sequence[ScoredCell]) -> str:
    """Return an answer as a sentence with the mean scores over the tasks in which there are any."""
    told = {}
    for score in SCORES:
        name, each = score.removesuffix("_percent"), [cell.estimate([score]).mean for cell in cells]
        values = [float(mean) for (mean,) in each if not math.isnan(mean)]
        least = name in FROM_BELOW and any(cell.scores.floor for cell in cells)
        mean = f"{round(sum(values) / len(values))}" if values else MISSING
        told[name] = f"at least {mean}" if least and values else mean
    more = text[len(plain(text)) :]
    more += " would tell" if " more " in more else ""
    return SENTENCES.get(plain(text), plain(text)).format(**told) + more
