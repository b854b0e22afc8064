"""Runs on many machines: Ray starts replicas, which play episodes; one process commits."""
