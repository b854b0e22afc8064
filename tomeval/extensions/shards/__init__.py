"""One experiment in parts that know nothing of each other: shards, their status and their union."""
