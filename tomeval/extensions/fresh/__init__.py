"""Fresh games, disguised twins of famous ones, and what a player loses in disguise."""
