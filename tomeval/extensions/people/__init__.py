"""People as players of matrix games, at a terminal."""
