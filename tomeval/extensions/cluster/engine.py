"""The engine ``ray``: replicas of a cluster play all cells without a served model."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

from tomeval.core.credentials import confirmed_code, confirmed_hosts
from tomeval.core.errors import TomevalError
from tomeval.core.files import allowed
from tomeval.core.plugins import loaded_plugins
from tomeval.extensions.cluster.driver import Driver
from tomeval.extensions.cluster.player import Setting
from tomeval.play.engines import Engine
from tomeval.play.filling import Filler
from tomeval.play.stopping import IN_FLIGHT
from tomeval.runs.experiment import Experiment

if TYPE_CHECKING:
    from tomeval.extensions.cluster.ray_cluster import RayCluster


def make_engine(address: str, replicas: int = 1, gpus_per_replica: float = 0.0) -> Replicated:
    """Return the engine ``ray``; nothing is started.

    Parameters
    ----------
    address : str
        See `tomeval.extensions.cluster.ray_cluster.find`.
    replicas : int
        How many there are to be, at least 1.
    gpus_per_replica : float
        A whole number, or a share of one GPU, such as 0.5.
    """
    from tomeval.extensions.cluster.ray_cluster import RayCluster

    gpus = gpus_per_replica
    if not (math.isfinite(gpus) and gpus >= 0 and (gpus <= 1 or gpus == int(gpus))):
        raise TomevalError(
            "--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
            f"share of it between 0 and 1; is {gpus:g}"
        )
    return Replicated(RayCluster(address, replicas, gpus), replicas)


class Replicated(Engine):
    """An engine of so many replicas at a time."""

    def __init__(self, cluster: RayCluster, count: int) -> None:
        if count < 1:
            raise TomevalError(f"--replicas must be at least 1, is {count}")
        self._cluster, self._count = cluster, count
        self._setting: Setting | None = None

    def prepare(self, experiment: Experiment, concurrency: int) -> None:
        """Raise if the cluster cannot give what is asked, or cells cannot be sent to it."""
        self._cluster.check()
        try:
            cells = pickle.dumps(list(experiment.cells))
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # a plugin's lambda
            raise TomevalError(
                f"the cells of this experiment cannot be sent to replicas: {error}; define their "
                "classes and functions at the top level of a module"
            ) from None
        named = [plugin.module for plugin in loaded_plugins() if not plugin.package]
        self._setting = Setting(
            domain=experiment.domain,
            cells=cells,
            base="" if experiment.base is None else str(Path(experiment.base).resolve()),
            plugins=tuple(str(Path(n).resolve()) if n.endswith(".py") else n for n in named),
            hosts=tuple(confirmed_hosts()),
            code=confirmed_code(),
            megabytes=allowed(),
            concurrency=concurrency,
        )

    def play(self, filler: Filler) -> None:
        """Play all cells without a served model.

        Raises
        ------
        TomevalError
            A replica cannot play, replicas differ, or all are lost again and again.
        KeyboardInterrupt, SystemExit
            The run was asked to stop; the episodes under way are finished.
        """
        assert self._setting is not None, "prepared"
        driver = Driver(self._cluster, self._count, self._setting, filler)
        if not driver.done:
            try:
                driver.play()
            finally:
                filler.stopping.what = IN_FLIGHT
            filler.stopping.check()

    def close(self) -> None:
        """End all replicas."""
        self._cluster.close()
