"""Adaptation to partners that change their policy: when it is noticed, and when acted on."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="adaptation",
    about="adaptation to partners that change their policy: when it is noticed and acted on",
    measures={"matrix": "tomeval.extensions.adaptation.measures:GROUPS"},
    tables={"matrix": "tomeval.extensions.adaptation.tables:TABLES"},
    figures={"matrix": {"adaptation": "tomeval.extensions.adaptation.tables:adaptation"}},
    partner_sets={"switch": "tomeval.extensions.adaptation.partners:SETS"},
    docs="docs/measures/adaptation.md",
)
