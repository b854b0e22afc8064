"""Games as environments to train in: what a model reads, what it writes, and an exact reward."""
