"""The Hugging Face Hub: a run as a dataset, and results as entries of model pages."""

from tomeval.core.extensions import Exporter, Extension

EXTENSION = Extension(
    "hub",
    "a run as a dataset on the Hugging Face Hub, results on pages of models",
    commands={"push": "tomeval.extensions.hub.command:push"},
    exporters={
        "hub": Exporter(
            "tomeval.extensions.hub.entries:export_hub", "model pages on the Hub", ("repo",)
        )
    },
)
