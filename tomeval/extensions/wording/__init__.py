"""Wording: how much of a measure other wordings of the same questions would have changed."""

from tomeval.core.extensions import Extension

_ROWS = "tomeval.extensions.wording.rows"

EXTENSION = Extension(
    name="wording",
    about="sensitivity to wording: variance by option, the share of the gap, ranks",
    measures={"matrix": "tomeval.extensions.wording.tables:GROUPS"},
    tables={"matrix": "tomeval.extensions.wording.tables:TABLES"},
    figures={"matrix": {"sensitivity": "tomeval.extensions.wording.figure:sensitivity"}},
    comparisons={
        "sensitivity": f"{_ROWS}:SENSITIVITY",
        "wording_gap": f"{_ROWS}:WORDING_GAP",
        "rank_stability": f"{_ROWS}:RANK_STABILITY",
    },
    docs="docs/measures.md",
)
