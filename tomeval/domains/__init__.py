"""One folder per kind of game. Each may import every room above it, and no other domain."""
