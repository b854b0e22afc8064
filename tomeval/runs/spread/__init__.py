"""One run on many machines: leases that replicas play, and shards whose folders are merged.

The driver is the process that a user starts. It alone opens the store, hands out leases and commits
what comes back, so a replica that is lost takes nothing with it but time. What a replica and the
driver say to each other is in `messages`, what carries it in `contract`.
"""
