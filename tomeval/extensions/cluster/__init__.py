"""Runs on many machines: Ray starts replicas, which play episodes; one process commits."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="cluster",
    about="runs on many machines: replicas that Ray starts (run --engine ray)",
    engines={"ray": "tomeval.extensions.cluster.engine:make_engine"},
)
