"""What a model's activations hold of the partner when it acts, and whether that is used."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="internal",
    about="what activations hold of the partner when the model acts, and whether that is used",
    measures={"matrix": "tomeval.extensions.internal.tables:GROUPS"},
    tables={"matrix": "tomeval.extensions.internal.tables:TABLES"},
    figures={"matrix": {"internal": "tomeval.extensions.internal.tables:internal"}},
    keys={"matrix internal": "tomeval.extensions.internal.keys:Internal"},
    docs="docs/measures/internal.md",
)
