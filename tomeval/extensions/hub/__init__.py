"""The Hugging Face Hub: the tables of a run as a dataset."""

from tomeval.core.extensions import Exporter, Extension

EXTENSION = Extension(
    "hub",
    "the tables of a run as a dataset on the Hugging Face Hub",
    exporters={
        "hub": Exporter(
            "tomeval.extensions.hub.upload:export_hub",
            "a dataset for the Hugging Face Hub",
            ("repo", "upload"),
        )
    },
)
