"""One self-contained HTML file of a run: numbers, figures, comparisons, and every game."""

from tomeval.report.page import ReportOptions, write_report

__all__ = ["ReportOptions", "write_report"]
