"""inspect_ai: its providers as models, tasks for it, and its logs of these tasks as runs."""

from tomeval.core.extensions import Extension
from tomeval.models import Backend

EXTENSION = Extension(
    "inspect",
    "inspect_ai: its providers' models, tasks for it, their logs as runs",
    models={
        "inspect": Backend(
            "tomeval.extensions.inspect.model:open_inspect",
            "inspect:PROVIDER/MODEL",
            served=True,
            about="any provider of inspect_ai: Anthropic, Google, Bedrock, ...",
        )
    },
    commands={"import inspect": "tomeval.extensions.inspect.importing:IMPORT"},
    docs="docs/interchange.md",
)
