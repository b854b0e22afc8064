"""Other frameworks for evaluation: inspect_ai's models, tasks and logs, lm-eval's keys, records."""

from tomeval.core.extensions import Exporter, Extension
from tomeval.models import Backend

EXTENSION = Extension(
    "inspect",
    "inspect_ai: its providers' models, tasks for it, logs in and out; lm-eval's keys",
    models={
        "inspect": Backend(
            "tomeval.extensions.inspect.model:open_inspect",
            "inspect:PROVIDER/MODEL",
            served=True,
            about="any provider of inspect_ai: Anthropic, Google, Bedrock, ...",
        )
    },
    commands={"import inspect": "tomeval.extensions.inspect.importing:IMPORT"},
    exporters={
        "inspect": Exporter("tomeval.extensions.inspect.log:export_inspect", "inspect_ai's viewer"),
        "lm-eval": Exporter("tomeval.extensions.inspect.lm_eval:export_lm_eval", "lm-eval's keys"),
        "every-eval-ever": Exporter(
            "tomeval.extensions.inspect.every_eval:export_every_eval",
            "records of Every Eval Ever",
            ("organization", "relationship", "developer", "repo"),
        ),
    },
    docs="docs/interchange.md",
)
