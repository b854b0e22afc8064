"""Where episodes were played: by which replica, on which host and device, with which libraries.

Rows do not depend on it, but for rounding: it is kept so that a difference can be traced.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.models import is_served

if TYPE_CHECKING:
    from tomeval.models.base import LocalModel, Model

DECIDING = ("tomeval", "numpy", "scipy", "nashpy", "torch", "transformers")
"""The libraries that can decide a number."""

CPU, SERVER = "cpu", "server"


class Origin(NamedTuple):
    """A place where episodes were played; all of it empty: not recorded.

    Attributes
    ----------
    replica : str
        Empty in a run of one process.
    host : str
    device : str
        What the models ran on, such as ``cuda (NVIDIA H200)``; `SERVER` for served models.
    versions : mapping of str to str
        Of the libraries in `DECIDING` that are installed, and of Python.
    """

    replica: str = ""
    host: str = ""
    device: str = ""
    versions: Mapping[str, str] = {}

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The columns of the table ``origins``, equal for equal origins."""
        return self.replica, self.host, self.device, json.dumps(dict(self.versions), sort_keys=True)

    @classmethod
    def of(cls, row: Iterable[Any]) -> Origin:
        """Return an origin from its `row`; `ValueError` if it is none."""
        replica, host, device, versions = row
        found = json.loads(versions)
        if not isinstance(found, dict):
            raise ValueError(f"versions are {versions!r}")
        return cls(replica, host, device, found)


def here(opened: Mapping[str, Model | LocalModel] | None = None, replica: str = "") -> Origin:
    """Return the origin of what this process plays.

    Parameters
    ----------
    opened : mapping, optional
        The models that play, by spec as JSON, see `tomeval.runs.engine.spec_key`. Default: none.
    replica : str
    """
    devices = dict.fromkeys(
        SERVER if is_served(json.loads(key)) else _device(model)
        for key, model in (opened or {}).items()
    )
    return Origin(replica, platform.node(), " + ".join(devices) or CPU, versions())


def _device(model: Model | LocalModel) -> str:
    """Return what a model of this process runs on."""
    device = getattr(getattr(model, "model", None), "device", None)
    kind = str(getattr(device, "type", CPU))
    if kind != "cuda":
        return kind
    import torch

    return f"cuda ({torch.cuda.get_device_name(device)})"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries in `DECIDING`."""
    return {"python": platform.python_version(), **dict(installed(DECIDING))}


def installed(packages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield packages with their versions; those without which a run can do may be missing."""
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)
