"""What the driver and its replicas say to each other; all of it can be pickled.

A replica is asked again and again by `contract.Replica.send`, with orders, and answers with what it
has to say since. The next question tells it that the answer before is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tomeval.core.unpacking import USUAL
from tomeval.runs.counts import Asked
from tomeval.runs.jobs import Job
from tomeval.runs.rows import Rows

Kept = Mapping[str, Mapping[str, str]]
"""Replies that an episode was given already: by seat, then by hash of the request."""


@dataclass(frozen=True)
class Setting:
    """What a replica is given once, when it starts.

    Attributes
    ----------
    domain : str
    cells : bytes
        All cells of the experiment, by number, pickled: a replica loads what is in `plugins` first,
        to which their classes may belong.
    base : str
        The folder that relative paths of models start from; it must be there on every machine.
    plugins, hosts : tuple of str
        The files and modules of ``--plugin``; hosts of `tomeval.models.trust.trusting`.
    code : bool
        Whether models' own code was confirmed.
    megabytes : int
        The memory that a file may take unpacked.
    prefix_reuse : bool
    concurrency : int
        Episodes of language models at a time, on each replica.
    """

    domain: str
    cells: bytes
    base: str = ""
    plugins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    code: bool = False
    megabytes: int = USUAL
    prefix_reuse: bool = True
    concurrency: int = 32


# Orders


@dataclass(frozen=True)
class Lease:
    """Episodes that one replica is to play.

    Attributes
    ----------
    number : int
        Of the lease; a lease that is given again gets a new one.
    models : tuple of str
        The models of its cells, by `tomeval.runs.engine.spec_key`, sorted; empty: `stretches`.
    jobs : tuple of (cell, episode)
        In the order of play.
    kept : mapping
        By job, what is kept of the replies to an earlier try.
    stretches : tuple of (cell, first episode, count)
        Instead of `jobs`, of cells without a model: what one call of the domain plays.
    """

    number: int
    models: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    kept: Mapping[Job, Kept] = field(default_factory=dict)
    stretches: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Withdraw:
    """Episodes of these cells that have not begun are not to be played: `Left` says which."""

    cells: tuple[int, ...]


Order = Lease | Withdraw


# What a replica says


@dataclass(frozen=True)
class Ready:
    """It has started; the first thing that it says.

    `versions` has the libraries that decide numbers, with ``python``.
    """

    host: str
    device: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Opened:
    """It has opened models, and nothing was asked of them yet.

    By `spec_key`: their revisions, empty if unknown, and what they call themselves.
    """

    revisions: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Begun:
    """An episode begins, or a stretch, named by its first one."""

    job: Job


@dataclass(frozen=True)
class Replied:
    """A reply came, before it is used: it is kept, packed, until its episode is over."""

    job: Job
    seat: str
    request: str
    reply: bytes


@dataclass(frozen=True)
class Played:
    """Episodes of one cell are over: one, or with `steps` 0 all of a stretch.

    Attributes
    ----------
    cell : int
    block : Rows
        Packed here, so that the driver has only to write them.
    steps : int
        How many of its steps `Counts` told of.
    unusable : str
        What was wrong with a reply that came and could not be used; else empty.
    """

    cell: int
    block: Rows
    steps: int = 0
    unusable: str = ""


@dataclass(frozen=True)
class TooLong:
    """An episode is broken off: a prompt is beyond the model's context, as `why` says."""

    job: Job
    steps: int
    why: str


@dataclass(frozen=True)
class Left:
    """Episodes that were withdrawn before they began."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Counts:
    """What happened since it was last said, in sums.

    Attributes
    ----------
    steps : mapping of job to int
        Steps that episodes of language models got through.
    asked : mapping of str to Asked
        By model's `spec_key`.
    again : int
        Questions that were asked once more.
    memory : int
        Bytes that it uses now, on its device if that has memory of its own.
    """

    steps: Mapping[Job, int] = field(default_factory=dict)
    asked: Mapping[str, Asked] = field(default_factory=dict)
    again: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Over:
    """Every job of a lease has ended in one way or another."""

    lease: int


@dataclass(frozen=True)
class Broken:
    """An error of the program or of the input, which is to stop the run.

    `told` is the one line of a `TomevalError`; else empty, and `trace` is the traceback.
    """

    told: str
    trace: str = ""


Message = Ready | Opened | Begun | Replied | Played | TooLong | Left | Counts | Over | Broken
