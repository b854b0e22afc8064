"""One experiment in parts that know nothing of each other: shards, their status and their merge."""

from tomeval.core.extensions import Extension

EXTENSION = Extension(
    name="shards",
    about="experiments in parts (run --shard K/N), their status and their merge",
    commands={"merge": "tomeval.extensions.shards.command:merge"},
    portions={
        "shard": "tomeval.extensions.shards.sharding:parse_shard",
        "status": "tomeval.extensions.shards.command:show_parts",
        "merge": "tomeval.extensions.shards.merging:merge",
    },
)
