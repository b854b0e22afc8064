"""One self-contained HTML file of a run: numbers, figures, comparisons, and a few games."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tomeval.report.page import ReportOptions, write_report

__all__ = ["ReportOptions", "write_report"]


def __getattr__(name: str) -> Any:
    """Load the page, with its template engine, when it is asked for: tables do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tomeval.report import page

    return getattr(page, name)
