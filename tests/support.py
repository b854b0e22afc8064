"""Games, partners and small tools that several test modules share."""

from __future__ import annotations

import io
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import GAMES, Labels, MatrixGame
from tomeval.games.matrix.partner_files import partner_names
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.storing import SCHEMA
from tomeval.models.scripted import SCRIPTS, Script
from tomeval.runs.lines import encode, read_lines
from tomeval.runs.record import Record
from tomeval.runs.store import Store
from tomeval.runs.writing import WritableStore
from tomeval.strategies.recording import times_asked

ROOT = Path(__file__).parent.parent


def questions(domain, cell, seat="subject", form="act", number=1, note=""):
    """Return what is asked up to the given time that a question is asked in a made-up episode."""
    return times_asked(cell.questions(seat, note), form)[number - 1]


SHIPPED = partner_names()
# A spec per shipped partner; `mixture` has no default that plays.
SPECS = {name: name for name in SHIPPED} | {"mixture": "mixture(0.25, 0.75)"}


def shipped(game: MatrixGame) -> list[Partner]:
    """Return every shipped partner that fits a game."""
    found = (outcome(partial(get_partner, spec, game))[0] for spec in SPECS.values())
    return [partner for partner in found if partner is not None]


# An experiment of 80 episodes that plays in a moment, for tests of folders.
SMALL = {
    "name": "small",
    "games": ["IPD"],
    "partners": ["tit_for_tat"],
    "subjects": ["rmax", "random"],
    "horizon": 10,
    "episodes": 40,
    "seed": 3,
}


@contextmanager
def scripts(**named: Script) -> Iterator[None]:
    """Register scripts by name; afterwards the registry is what it was before."""
    with mock.patch.dict(SCRIPTS, named):
        yield


def make_game(own, partner=None, name="made") -> MatrixGame:
    """Build a game from the subject's payoffs (and the partner's; default: zero-sum)."""
    own = np.asarray(own, dtype=float)
    partner = -own if partner is None else np.asarray(partner, dtype=float)
    labels = Labels(
        "plain",
        tuple(f"own{i}" for i in range(own.shape[0])),
        tuple(f"their{i}" for i in range(own.shape[1])),
    )
    return MatrixGame(name, np.stack([own, partner], axis=2), {"plain": labels})


# Sides of different size, ties among best responses, and a column where everything is best.
TWO_BY_THREE = make_game([[3, 1, 2], [0, 4, 2]], [[1, 2, 0], [5, 0, 1]], "two_by_three")
THREE_BY_TWO = make_game([[1, 0], [1, 3], [-2, 2]], [[2, 1], [0, 0], [1, 4]], "three_by_two")
FOUR = make_game(
    [[4, 0, 1, 2], [1, 3, 0.5, 2], [0, 1, 2.25, -1], [2, 2, 2, 2]],
    [[1, 2, 3, 0], [0, 0, 1, 2], [2, 5, 0, 1], [1, 1, 1, 1]],
    "four",
)
ODD_GAMES = (TWO_BY_THREE, THREE_BY_TWO, FOUR)
ALL_GAMES = (*GAMES.values(), *ODD_GAMES)


def random_partner(game: MatrixGame, rng: np.random.Generator, size: int, kind: str) -> Partner:
    """Return a random table of at most `size` states: ``deterministic``, ``stochastic``, mixed."""
    from tomeval.games.matrix.partners import reachable

    emissions = np.zeros((size, game.m))
    for s in range(size):
        if kind == "deterministic" or (kind == "mixed" and rng.random() < 0.5):
            emissions[s, rng.integers(game.m)] = 1.0
        else:
            weights = rng.integers(0, 4, game.m) + np.eye(game.m)[rng.integers(game.m)]
            emissions[s] = weights / weights.sum()
    next_state = rng.integers(0, size, (size, game.n, game.m))
    keep = np.flatnonzero(reachable(emissions, next_state, 0))
    number = np.zeros(size, dtype=np.int64)
    number[keep] = np.arange(len(keep))
    return Partner(f"{kind}{size}", emissions[keep], number[next_state[keep]])


def edit(folder: Path, change: Callable[[dict], dict | None], name="episodes.jsonl") -> None:
    """Change the lines of a run's episodes, with checksums of what they then hold.

    `change` is given what a line holds, and returns what it is to hold; None: it goes.
    """
    path = folder / name
    head, *lines = read_lines(folder / "episodes.jsonl")
    seed = zlib.crc32(head.body)
    data = encode(json.loads(head.body)) if name == "episodes.jsonl" else b""
    lines = lines if name == "episodes.jsonl" else read_lines(path, seed)
    for line in lines:
        held = json.loads(line.body)
        changed = change(held) if "cell" in held else held  # else a note
        data += b"" if changed is None else encode(changed, seed)
    path.write_bytes(data)


def break_off_writes(monkeypatch) -> None:
    """Have every third write of a store be broken off, as by Ctrl-C."""
    add, count = WritableStore.add, itertools.count(1)

    def sometimes(self, *given):
        if next(count) % 3 == 0:
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(WritableStore, "add", sometimes)


def with_step(line: dict, step: int, **values) -> dict:
    """Return the line of an episode with other values in the columns of a step."""
    for name, value in values.items():
        column = line.get(name)
        column = list(column) if isinstance(column, list) else [column] * line["steps"]
        column[step - 1] = value
        line[name] = column
    return line


def setup_of(kind, options, game, partners, horizon=16, seed=0, **more) -> Setup:
    """Return the task of a subject in one cell; `partners` may be the spec of a set."""
    if isinstance(partners, str):
        partners = get_partner_set(partners, game)
    task = {"game": game, "labels": game.label_set(), "partners": partners, "horizon": horizon}
    return Setup(kind, options, **task, seed=seed, **more)


def episodes_of(
    game, own, theirs, predicted=None, *, partners=(), which=None, lengths=None, **more
) -> Played:
    """Return complete episodes of these moves, paid as the game says.

    One per row of `own`; else, step after step, those of `lengths`, by default a single one.
    """
    own, theirs = np.asarray(own), np.asarray(theirs)
    if lengths is None:
        lengths = np.full(*own.shape) if own.ndim == 2 else [own.size]
    which = np.zeros(len(lengths), dtype=np.int64) if which is None else np.asarray(which)
    said = None if predicted is None else np.asarray(predicted).ravel()
    moves = own.ravel(), theirs.ravel()
    return Played(game, partners, which, np.asarray(lengths), *moves, said, game.own[moves], **more)


def single_action(game: MatrixGame) -> PartnerSet:
    """Return the set of all always(k)."""
    return get_partner_set("single_action", game)


def play_against(partner: Partner, own_actions, rng=None) -> list[int]:
    """Return what a partner plays against a fixed list of own actions."""
    state, played = partner.start, []
    for a in own_actions:
        row = partner.emissions[state]
        b = int(row.argmax()) if rng is None else int(rng.choice(len(row), p=row))
        played.append(b)
        state = int(partner.next_state[state, a, b])
    return played


def brute_force_values(game: MatrixGame, partner: Partner, horizon: int) -> tuple[float, float]:
    """Return the worst and the best expected total over ALL history-dependent policies.

    Walks the tree of histories: no partner state is shared between histories, so it knows nothing
    of dynamic programming over states.
    """

    def walk(state: int, left: int, sign: float) -> float:
        if left == 0:
            return 0.0
        totals = []
        for a in range(game.n):
            total = 0.0
            for b in range(game.m):
                p = partner.emissions[state, b]
                if p > 0:
                    after = int(partner.next_state[state, a, b])
                    total += p * (sign * game.own[a, b] + walk(after, left - 1, sign))
            totals.append(total)
        return max(totals)

    return -walk(partner.start, horizon, -1.0), walk(partner.start, horizon, 1.0)


def best_sequence(game: MatrixGame, partner: Partner, horizon: int) -> float:
    """Return the best total over all fixed action sequences against a deterministic partner."""
    best = -np.inf
    for sequence in itertools.product(range(game.n), repeat=horizon):
        theirs = play_against(partner, sequence)
        best = max(best, sum(game.own[a, b] for a, b in zip(sequence, theirs, strict=True)))
    return float(best)


ANYTHING = st.recursive(
    st.integers(-3, 3)
    | st.floats()
    | st.booleans()
    | st.text(max_size=4)
    | st.sampled_from(["$p", "$q", "uniform", "all", "copy", "IPD", 10**400, -(2**63) - 1]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["own", "x", ""]), inner, max_size=2)
    ),
    max_leaves=8,
)


def places(value, path: tuple = ()):
    """Yield the way to every value of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))


@st.composite
def changed_documents(draw, document):
    """Draw a document of which one value, wherever it stands, is anything."""
    changed = deepcopy(document)
    *way, last = draw(st.sampled_from(list(places(document))))
    inside = changed
    for key in way:
        inside = inside[key]
    inside[last] = draw(ANYTHING | st.dates())
    return changed


def outcome(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return (what a call gives, "") or (None, its message) where it raises a `TomevalError`."""
    try:
        return call(), ""
    except TomevalError as error:
        return None, str(error)


def column(record: Record, name: str) -> np.ndarray:
    """Return a column of an episode of a matrix game."""
    return np.array(record.column(name))


def step_rows(records: Sequence[Record]) -> list[tuple]:
    """Return the steps of played episodes: episode, step, and the domain's columns."""
    return [
        (record.episode, *row)
        for record in records
        for row in record.rows("steps", ("step", *SCHEMA.steps), SCHEMA.asked)
    ]


def dump(folder: Path) -> dict[str, list[tuple]]:
    """Return all that the files of a run hold as rows, whichever wrote it and in whatever order.

    Episodes begin with cell, episode, status and steps; steps with cell, episode and step; answers,
    calls and kept replies (``answered``) with cell and episode.
    """
    store, tables = Store(folder), {name: [] for name in ("episodes", "steps", "answers", "calls")}
    try:
        for cell in store.played_cells():
            for record in store.records(cell):
                place, schema = (cell, record.episode), store.domain.schema
                columns = ("step", *schema.steps)
                # Tokens that a model had read before depend on what it was asked before.
                spent = [(seat, *said[:4], *said[5:]) for seat, said in record.spent.items()]
                own = (record.status, record.steps, *record.own.values())
                tables["episodes"].append((*place, *own, tuple(sorted(spent))))
                rows = record.rows("steps", columns, schema.asked)
                tables["steps"] += [(*place, *row) for row in rows]
                tables["answers"] += [(*place, *row) for row in record.answers]
                calls = enumerate(store.calls(*place))
                tables["calls"] += [
                    (*place, number, *where, json.dumps(call)) for number, (*where, call) in calls
                ]
        kept = sorted((key, sorted(mine.items())) for key, mine in store.replies.items())
        tables["answered"] = [(*key, *which, text) for key, mine in kept for which, text in mine]
        tables["cells"] = store.cells()
        tables["meta"] = [store.revisions(), store.stops(), store.until()]
        return tables
    finally:
        store.close()


def stored(run, table: str, *names: str, episode: int | None = None) -> list[tuple]:
    """Return columns of a table of all cells of a run, see `tomeval.runs.store.Store.read`."""
    store = getattr(run, "store", run)
    cells = store.played_cells()
    return [row for cell in cells for row in store.read(table, names, cell, episode)]


def calls_in(run) -> list[tuple]:
    """Return cell, episode, step, seat, form and record of all model calls of a run."""
    store = getattr(run, "store", run)
    places = [(c, e) for c in store.played_cells() for e in store.episodes(c)]
    return [(*place, *call) for place in places for call in store.calls(*place)]


def replies_in(run) -> list[tuple]:
    """Return cell, episode and kept reply of all unfinished episodes of a run."""
    kept = getattr(run, "store", run).replies
    return [(*key, text) for key, mine in kept.items() for text in mine.values()]


class Typing(io.StringIO):
    """An input stream that knows what was on the screen when each line was read."""

    def __init__(self, lines, screen) -> None:
        super().__init__("".join(f"{line}\n" for line in lines))
        self.screen, self.seen = screen, []

    def readline(self, *args):
        self.seen.append(self.screen.getvalue())
        return super().readline(*args)
