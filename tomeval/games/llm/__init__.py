"""A language model in a seat: options, what it is told, how its answers are read."""
