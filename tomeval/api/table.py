"""The table of a run: a DataFrame that shows itself as ``tomeval table`` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas

from tomeval.api.showing import notes_html, shown_html, table_text
from tomeval.report.tables import Grid


class Table(pandas.DataFrame):
    """Every column at full precision, and what is shown of them.

    ``str`` and ``repr`` are the text of ``tomeval table`` with its notes; what is made of it, by
    choosing columns or rows, is a plain DataFrame, and so it looks once it was changed.
    """

    _metadata = ["_shown"]  # noqa: RUF012 (as pandas asks for it)
    _shown: tuple[list[Grid], list[str], pandas.DataFrame] | None = None

    @classmethod
    def of(cls, frame: pandas.DataFrame, grids: Sequence[Grid], notes: Sequence[str]) -> Table:
        """Return a DataFrame that shows itself as grids and notes."""
        made = cls(frame)
        made._shown = (list(grids), list(notes), frame)
        return made

    @property
    def _constructor(self) -> Any:
        return pandas.DataFrame

    def _as_made(self) -> tuple[list[Grid], list[str]] | None:
        """Return grids and notes, unless the frame was changed."""
        if self._shown is None or not self.equals(self._shown[-1]):
            return None
        return self._shown[:2]

    def __repr__(self) -> str:
        """Return the tables as text, fitted to a terminal, and the notes."""
        shown = self._as_made()
        if shown is None:
            return super().__repr__()
        grids, notes = shown
        return table_text([], grids, notes)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        shown = self._as_made()
        if shown is None:
            html: str = super()._repr_html_()  # type: ignore[misc]
            return html
        grids, notes = shown
        return "".join(map(shown_html, grids)) + notes_html(notes)
