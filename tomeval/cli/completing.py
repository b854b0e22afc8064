"""What a shell completes: names of experiments, models, strategies and lists."""

from __future__ import annotations

from pathlib import Path


def experiments(incomplete: str) -> list[str]:
    """Return shipped experiments, and TOML files beside the beginning of a path."""
    from tomeval.core.resources import shipped_experiments

    start = Path(incomplete)
    folder = start if incomplete.endswith("/") else start.parent
    files = (path for path in folder.glob("*") if path.suffix == ".toml" or path.is_dir())
    own = [f"{path}/" if path.is_dir() else str(path) for path in files]
    return [name for name in (*shipped_experiments(), *sorted(own)) if name.startswith(incomplete)]


def models(incomplete: str) -> list[str]:
    """Return what names of models begin with."""
    from tomeval.models import all_backends

    names = (f"{kind}:" if ":" in found.form else kind for kind, found in all_backends().items())
    return [name for name in names if name.startswith(incomplete)]


def strategies(incomplete: str) -> list[str]:
    """Return the named strategies."""
    from tomeval.strategies import NAMED

    begun = incomplete.lower()
    return [strategy.name for strategy in NAMED if strategy.name.lower().startswith(begun)]


def lists(incomplete: str) -> list[str]:
    """Return the lists of ``tomeval list``."""
    from tomeval.cli.listing import list_names

    return [name for name in list_names() if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """Return what ``tomeval init`` can write."""
    from tomeval.cli.examples import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def domains(incomplete: str) -> list[str]:
    """Return the kinds of game."""
    from tomeval.runs.domain import domain_names

    return [name for name in domain_names() if name.startswith(incomplete)]


def formats(incomplete: str) -> list[str]:
    """Return the formats of ``tomeval export``."""
    from tomeval.report.exporting import format_names

    return [name for name in format_names() if name.startswith(incomplete)]
