"""One experiment in parts that know nothing of each other: shards, their status and their union."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="shards",
    about="experiments in parts (run --shard K/N), their status, and one run of them all",
    commands={"import shards": "tomeval.extensions.shards.command:IMPORT"},
    portions={
        "shard": "tomeval.extensions.shards.sharding:parse_shard",
        "status": "tomeval.extensions.shards.command:show_parts",
    },
)
"""What ``import`` does with run folders, and the status of several of one experiment."""
