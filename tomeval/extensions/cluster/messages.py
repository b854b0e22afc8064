"""What the driver and its replicas say to each other, all of it pickled, and what carries it.

A replica is asked again and again by `Replica.send`, with orders, and answers with what it has to
say since. The next question tells it that the answer before is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tomeval.core.unpacking import USUAL
from tomeval.runs.jobs import Job
from tomeval.runs.live import Asked
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
    plugins, hosts, code
        The files and modules of ``--plugin``; what `tomeval.core.credentials.trusting` was told.
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
    """Episodes that one replica is to play, `jobs` in their order; models are by `spec_key`.

    Of cells without a model: stretches (cell, first episode, count), each one call of the domain.
    `kept` has by job what is kept of the replies to an earlier try.
    """

    models: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    kept: Mapping[Job, Kept] = field(default_factory=dict)
    stretches: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Withdraw:
    """Episodes of this cell that have not begun are not to be played: `Left` says which."""

    cell: int


Order = Lease | Withdraw


# What a replica says


@dataclass(frozen=True)
class Ready:
    """It has started, the first thing that it says; with the libraries that decide numbers."""

    host: str
    device: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Opened:
    """It has opened models: their revisions, empty if unknown, and what they call themselves."""

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

    `Counts` told of so many of its steps; `unusable` says what was wrong with a reply that came and
    could not be used.
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
    """What happened since it was last said, in sums."""

    steps: Mapping[Job, int] = field(default_factory=dict)
    asked: Mapping[str, Asked] = field(default_factory=dict)
    again: int = 0


@dataclass(frozen=True)
class Broken:
    """An error of the input, in the line `told`, or of the program, with its traceback."""

    told: str
    trace: str = ""


Message = Ready | Opened | Begun | Replied | Played | TooLong | Left | Counts | Broken


# What carries it


class Lost(Exception):
    """A replica is gone, with what it had not said yet; the text says why, as far as is known."""


class Replica(Protocol):
    """A worker somewhere. One question is under way at a time."""

    @property
    def note(self) -> str:
        """What keeps it from starting, such as that it waits for a place; empty: nothing known."""

    def send(self, orders: Sequence[Order]) -> None:
        """Give orders, and ask for news; what it said before is committed."""

    def answer(self) -> list[Message]:
        """Return what it says, once `Cluster.wait` has named it; raise `Lost` if it is gone."""

    def stop(self) -> None:
        """End it at once; what it has not said is lost."""


class Cluster(Protocol):
    """Starts replicas somewhere; it knows nothing of leases, episodes or models."""

    def check(self) -> None:
        """Raise `TomevalError`, in one line, if it cannot give what was asked of it."""

    def start(self, number: int, setting: Setting) -> Replica:
        """Start a replica, or another in the place of a lost one; it need not be up on return."""

    def wait(self, replicas: Sequence[Replica], seconds: float) -> list[Replica]:
        """Return those that have answered, or are lost; after so many seconds perhaps none."""

    def close(self) -> None:
        """End all replicas."""
